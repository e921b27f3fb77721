"""Several clients at once while a camera, a bus and the pins are unplugged, the disk is full, the clock falls back, and each half is killed.

Neither half may grow, an answered write must be there, and the audit must be whole (`RASPI_MCP_SOAK_SECONDS` for each trouble)."""

import os
import random
import threading

import everyday
from wires import Missed

CLIENTS = 3
SECONDS = float(os.environ.get("RASPI_MCP_SOAK_SECONDS", "20"))
# Resident memory of either half, between the first trouble and the end.
GROWTH_BYTES = 3 << 20
# In this order; what it explains beside what any trouble does.
TROUBLES = {
    "camera": {"capability_missing", "not_found", "unavailable", "failed_precondition"},
    "bus": {"capability_missing", "not_found", "unavailable"},
    "pins": {"capability_missing", "not_found", "unavailable", "failed_precondition"},
    "disk": {"resource_exhausted", "unavailable", "timeout", "internal"},
    "clock": set(),
    "agent": {"unavailable", "timeout"},
    "server": {"unavailable", "timeout"},
}
# Of one device for all clients: another one may be using it.
SHARED = {"conflict", "resource_exhausted", "cancelled"}
CHIP = everyday.CHIP
CALLS = [
    ("system.get_health_snapshot", {}), ("system.get_clock", {}), ("system.list_devices", {}), ("metrics.get_realtime_metrics", {}),
    ("network.get_status", {}), ("process.list_processes", {}), ("service.get_status", everyday.LAMP), ("service.list_services", {}),
    ("files.list", {}), ("exec.run", {"command": "date", "args": ["-u"]}), ("logs.query_journal", {"limit": 20}), ("sensors.read", {}),
    ("gpio.list_pins", {}), ("gpio.write_pin", {"pin": 17, "value": 1}), ("gpio.release_pin", {"pin": 17}), ("i2c.scan_bus", {"bus": 0}),
    ("i2c.read", CHIP | {"register": 1, "length": 1}), ("camera.list_cameras", {}), ("camera.capture", {"width": 320, "height": 180}),
    ("tools.search", {"query": "restart"}), ("manage.get_server_status", {}),
]


def story(bench):
    card = bench.owned()
    with bench.power_on(card) as pi:
        director = bench.healthy("A")
        director.patience = 300
        soak = Soak(bench)
        soak.live("undisturbed")
        before = halves(director)
        for trouble in TROUBLES:
            soak.now = trouble
            switched(bench, "service.start", trouble)
            soak.live(trouble)
            switched(bench, "service.stop", trouble)
            soak.now = f"after {trouble}"
            soak.live(soak.now)
        soak.end()
        director = bench.answers()
        director.patience = 300
        after = halves(director)
        for half in before:
            bench.says(f"the {half}: {before[half] >> 10} KiB before the troubles, {after[half] >> 10} after them")
        bench.check("halves that grew", [half for half in before if after[half] > before[half] + GROWTH_BYTES], [])
        soak.kept(director)
        director.call("service.start", service_name="bench-audit.service")
        bench.says("the audit is whole")
        pi.cut_power()


def halves(client):
    """Bytes of resident memory, of the process that has lived longest under each account."""
    found = client.call("process.list_processes", filter={"name_pattern": "raspi-mcp*"}, limit=100)["processes"]
    of = lambda user: [row["memory_rss"] for row in found if (row["username"] == "root") == user]
    return {"agent": max(of(True)), "server": max(of(False))}


def switched(bench, tool, trouble):
    """By a client of its own: the server may just have been killed."""
    def done():
        client = bench.answers(within=60)
        client.patience = 300
        answer = client.request("tools/call", {"name": tool, "arguments": {"service_name": f"bench-trouble@{trouble}.service"}})
        # Whoever kills the server gets no answer; the second time there is nothing left to do.
        return not answer.get("isError") or trouble == "server"
    bench.awaits(done, 600, f"{tool} of the trouble {trouble}")


class Soak:
    def __init__(self, bench):
        self.bench, self.now, self.faults, self.answers, self.refused = bench, "undisturbed", [], 0, {}
        self.lock, self.over = threading.Lock(), threading.Event()
        self.wrote = [0] * CLIENTS
        self.threads = [threading.Thread(target=self.client, args=(number,), daemon=True) for number in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def client(self, number):
        chance, client = random.Random(number), None
        while not self.over.is_set():
            try:
                if client is None:
                    client = self.bench.answers(within=60)
                    client.patience = 300
                for tool, arguments in chance.sample(CALLS, len(CALLS)):
                    if self.over.is_set():
                        return
                    self.one(client, tool, arguments)
                self.write(client, number)
            except (Missed, OSError):
                # The server was killed: the next session is with the new one.
                client = None

    def one(self, client, tool, arguments):
        now = self.now
        answer = client.request("tools/call", {"name": tool, "arguments": arguments})
        code = answer["_meta"]["io.raspi-mcp/error"]["error_code"] if answer.get("isError") else None
        with self.lock:
            self.answers += 1
            if code is None:
                return True
            self.refused[now] = self.refused.get(now, 0) + 1
            # A call may have begun in one part and ended in the next.
            explained = SHARED.union(*(TROUBLES.get(part.removeprefix("after "), set()) for part in (now, self.now)))
            if code not in explained and len(self.faults) < 10:
                self.faults.append(f"{now}: {tool} answered {code}: {answer['content'][0]['text'][:200]}")
        return False

    def write(self, client, number):
        """Its own file: what was answered must be there in the end."""
        content = f"{self.wrote[number] + 1}\n" + "x" * 2000
        if self.one(client, "files.write", {"path": f"soak-{number}.txt", "content": content, "overwrite": True}):
            self.wrote[number] += 1

    def live(self, part):
        before = self.answers
        self.over.wait(SECONDS)
        with self.lock:
            self.bench.says(f"{part}: {self.answers - before} answers, {self.refused.get(part, 0)} refusals")
        if self.answers == before:
            raise Missed(f"nobody was answered: {part}")

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join(600)
        self.bench.check("errors that no trouble explains", self.faults, [])

    def kept(self, client):
        for number, wrote in enumerate(self.wrote):
            found = int(client.call("files.read", path=f"soak-{number}.txt")["content"].split("\n", 1)[0])
            # One that was done, and whose answer was lost with the server.
            if not wrote <= found <= wrote + 1:
                raise Missed(f"client {number} was told of write {wrote}, and the file has {found}")
        self.bench.says(f"{sum(self.wrote)} files were written and answered, and are there")
