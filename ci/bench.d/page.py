"""Memory and wake-ups of servers with and without an open page (see ci/bench-page)."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

# Seconds for which wake-ups are counted.
IDLE = int(os.environ.get("IDLE", "60"))
# Rounds in turn; the median counts.
ROUNDS = int(os.environ.get("ROUNDS", "3"))


def port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def pss(pid):
    """Proportional memory of a process, in KiB (proc(5), smaps_rollup)."""
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    raise SystemExit(f"/proc/{pid}/smaps_rollup has no Pss")


def wakes(pid):
    """Voluntary context switches of each thread: each is one wait, and so one wake-up."""
    threads = {}
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        for line in status.read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches:"):
                threads[status.parent.name] = int(line.split()[1])
    return threads


def request(base, method, path, body=None, headers=None):
    data = json.dumps(body).encode() if body is not None else None
    all_headers = {"Content-Type": "application/json", "Origin": base, "Sec-Fetch-Site": "same-origin", **(headers or {})}
    return urllib.request.urlopen(urllib.request.Request(base + path, data, all_headers, method=method), timeout=20)


class Server:
    def __init__(self, binary):
        self.folder = tempfile.TemporaryDirectory()
        home = pathlib.Path(self.folder.name)
        self.base = f"http://127.0.0.1:{port()}"
        environment = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_STATE_HOME": str(home), "XDG_RUNTIME_DIR": str(home)}
        self.process = subprocess.Popen(
            [binary, "serve", "--http", self.base[7:]], env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(home / "log", "wb"),
        )
        for _ in range(200):
            try:
                request(self.base, "GET", "/healthz").read()
                break
            except OSError:
                if self.process.poll() is not None:
                    raise SystemExit((home / "log").read_text()) from None
                time.sleep(0.05)
        else:
            raise SystemExit("the server did not answer within ten seconds\n" + (home / "log").read_text())

    def measure(self):
        """Memory and wake-ups a minute, after the work of the start is over."""
        time.sleep(5)
        before = wakes(self.process.pid)
        time.sleep(IDLE)
        after = wakes(self.process.pid)
        woken = sum(count - before.get(thread, 0) for thread, count in after.items())
        return pss(self.process.pid), woken * 60 / IDLE

    def open_page(self):
        """What a browser asks for on opening the page, and its event stream."""
        self.page = request(self.base, "GET", "/", headers={"Accept": "text/html"}).read()
        cookie = request(self.base, "POST", "/page/session").headers["Set-Cookie"].split(";")[0]
        self.events = request(self.base, "GET", "/page/events", headers={"Cookie": cookie})
        # Its first event: it follows now.
        self.events.readline()

    def close_page(self):
        self.events.close()

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        self.folder.cleanup()


def median(values):
    return sorted(values)[len(values) // 2]


def main():
    after, before = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    seen = {"before": [], "unused": [], "open": [], "closed": []}
    for _ in range(ROUNDS):
        if before:
            server = Server(before)
            seen["before"].append(server.measure())
            server.stop()
        server = Server(after)
        seen["unused"].append(server.measure())
        server.open_page()
        seen["open"].append(server.measure())
        server.close_page()
        seen["closed"].append(server.measure())
        server.stop()
    print("| | Pss, KiB | wake-ups a minute |\n| --- | --- | --- |")
    for name, values in seen.items():
        if values:
            print(f"| {name} | {median([value[0] for value in values])} | {median([value[1] for value in values]):.1f} |")
    if before:
        more = median([value[0] for value in seen["unused"]]) - median([value[0] for value in seen["before"]])
        print(f"\nunused: {more:+} KiB beside the other program (bound: +205 KiB)")


main()
