"""Measures pins, SPI and serial ports of the simulated board for docs/benchmarks.md: see ./ci/bench."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from peers import our_environment
from wire import Broken, Http, Stdio, free_port, request_bytes

OURS, EDGES, FOLDER, OUTPUT = sys.argv[1:5]
QUICK = "--quick" in sys.argv[5:]
CALLS = 2_000 if QUICK else 20_000
SECONDS = 5 if QUICK else 60
# The audit is on, as always: each write is recorded before it is answered.
LIMITS = {
    "RASPI_MCP__TOOLS__ENABLE": "gpio,spi,serial", "RASPI_MCP__LIMITS__WRITES_PER_MINUTE": "1000000",
    "RASPI_MCP__ACCESS__LOOPBACK_ROLE": "admin", "RASPI_MCP__ACCESS__STDIO_ROLE": "admin",
}


def must(answer):
    if "error" in answer or answer["result"].get("isError"):
        raise Broken(json.dumps(answer)[:400])


def call(tool, **arguments):
    return ("tools/call", {"name": tool, "arguments": arguments})


def p50(server, *question):
    """The median time of one call, in milliseconds, measured by the client."""
    payloads = [(request_bytes(*question, 1_000_000 + n), 1_000_000 + n) for n in range(CALLS)]
    took = []
    for payload, number in payloads:
        at = time.perf_counter()
        server.ask(payload, number)
        took.append(time.perf_counter() - at)
    must(server.request(*question))
    return statistics.median(took) * 1e3


def over_stdio():
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        server = Stdio([OURS, "serve", "--stdio"], our_environment(folder, **LIMITS), folder)
        try:
            server.start()
            must(server.request(*call("gpio.write_pin", pin=17, value=1)))
            # Nobody reads the port: its buffer is full soon, and stays so.
            must(server.request(*call("serial.open", port="ttyAMA0")))
            return (
                p50(server, *call("gpio.write_pin", pin=17, value="high")), p50(server, *call("gpio.read_pin", pin=17)),
                p50(server, *call("spi.transfer", bus=0, chip_select=0, data=[1, 128, 0])),
                p50(server, *call("serial.write", port="ttyAMA0", text="AT\r")),
            )
        finally:
            server.close()


def sustained():
    """Writes per second over one connection at full speed, and memory after the first and the last part of them."""
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        port = free_port()
        server = Http([OURS, "serve", "--http", f"127.0.0.1:{port}"], port, our_environment(folder, **LIMITS), folder)
        try:
            server.start()
            payloads = [request_bytes(*call("gpio.write_pin", pin=17, value=n % 2), n) for n in range(1_000)]
            memory, slowest, done, began = [], 1e9, 0, time.monotonic()
            while time.monotonic() - began < SECONDS:
                at = time.monotonic()
                for n, payload in enumerate(payloads):
                    must(server.ask(payload, n))
                slowest = min(slowest, 1_000 / (time.monotonic() - at))
                done += 1_000
                memory.append(server.process.rss_kib() / 1024)
            rate = done / (time.monotonic() - began)
            return rate, slowest, memory[len(memory) // 3], memory[-1]
        finally:
            server.close()


def main():
    os.makedirs(FOLDER, exist_ok=True)
    write, read, exchanged, sent = over_stdio()
    rate, slowest, before, after = sustained()
    edges = json.loads(subprocess.run([EDGES, FOLDER], check=True, capture_output=True, text=True, timeout=600).stdout)
    waited, told = edges["wait_for_edge"], edges["subscription"]
    goals = [
        ("gpio.write_pin over stdio, p50, ms", write, "< 0.15", write < 0.15, 3),
        ("gpio.read_pin over stdio, p50, ms", read, "< 0.15", read < 0.15, 3),
        ("spi.transfer of three bytes over stdio, p50, ms", exchanged, "< 0.15", exchanged < 0.15, 3),
        ("serial.write of three bytes over stdio, p50, ms", sent, "< 0.15", sent < 0.15, 3),
        ("edge to the response of gpio.wait_for_edge, p99, ms", waited["p99_us"] / 1e3, "< 2", waited["p99_us"] < 2_000, 3),
        ("edge to the notification of a subscription, p99, ms", told["p99_us"] / 1e3, "< 2", told["p99_us"] < 2_000, 3),
        (f"writes per second over one HTTP connection for {SECONDS} s, audited", rate, "> 1000", rate > 1_000, 0),
        ("memory growth from a third of these writes to the end, MiB", after - before, "none (< 0.3)", after - before < 0.3, 2),
    ]
    rows = [f"| {words} | {value:.{digits}f} | {wanted} | {'met' if met else 'MISSED'} |" for words, value, wanted, met, digits in goals]
    text = "\n".join([
        "## Pins, SPI and serial ports of the simulated board", "",
        "| goal | measured | required | |", "| --- | --- | --- | --- |", *rows, "",
        f"The slowest thousand writes ran at {slowest:.0f} per second; memory was {after:.1f} MiB at the end. Half of "
        f"{edges['edges']} edges were reported within {waited['p50_us']} µs by wait_for_edge and within {told['p50_us']} µs by subscription "
        "(`examples/edges.rs`). The default limit is 60 writes per minute; it was raised for this measurement.", "",
    ])
    with open(OUTPUT, "a") as f:
        f.write("\n" + text)
    print(text)
    return 0 if all(met for _, _, _, met, _ in goals) else 1


if __name__ == "__main__":
    sys.exit(main())
