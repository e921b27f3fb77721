"""Power on, a real MCP call from outside, power off; then on again: the same slot, the same data."""

HALVES = r"""for pid in $(pidof raspi-mcp); do echo "$(tr '\0' ' ' </proc/$pid/cmdline | cut -d' ' -f2) as $(stat -c %U /proc/$pid)"; done | sort"""


def story(bench):
    disk = bench.disk()
    with bench.power_on(disk) as pi:
        bench.healthy(slot="A")
        mcp = pi.mcp()
        info = mcp.call("system.get_basic_info")
        bench.check("over MCP it says it is", (info["hostname"], info["cpu_arch"]), ("raspi-mcp-guest", "aarch64"))
        bench.check("its two halves run", pi.hand.run(HALVES).splitlines(), ["agent as root", "serve as raspi-mcp"])
        modules = mcp.call("system.get_capabilities")["modules"]
        bench.check("one reaches the other", modules["agent"]["available"], True)
        pi.hand.run("echo kept >/var/lib/note")
        pi.power_off()
    bench.check("powered off; boots that slot A has left", disk.state().left_A, 3)
    with bench.power_on(disk) as pi:
        bench.healthy(slot="A")
        bench.check("what was written before the power-off", pi.hand.run("cat /var/lib/note").strip(), "kept")
        pi.power_off()
