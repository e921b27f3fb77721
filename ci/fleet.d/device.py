"""A fleet as its owner makes it, and real devices in it: the commands of docs/fleet.md, with a simulated board.

Runs as root: a device runs as user 65534 below a folder of its own, so that nothing of this machine is touched."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time

NOBODY = 65534
TOKEN = "rmcp_" + "A" * 43
NATS = "/usr/sbin/nats-server"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def wait_for(log, pattern, child):
    """The match of a line in a log; `child` writes it."""
    for _ in range(600):
        found = re.search(pattern, log.read_text())
        if found:
            return found
        if child.poll() is not None:
            break
        time.sleep(0.05)
    sys.exit(f"{log} has no {pattern!r}:\n{log.read_text()}")


class Fleet:
    """The owner's folder and the broker. `inside`: what is put before the commands of the broker and of the console, such as
    `ip netns exec NAME`."""

    def __init__(self, program, folder, host="127.0.0.1", broker=(), console=()):
        self.program, self.console, self.port = program, list(console), free_port()
        self.dir = folder / "owner"
        self.server_inside = list(broker)
        run(program, "fleet", "init", self.dir, "--name", "home", "--server", f"tls://{host}:{self.port}")
        self.child = None

    def start(self):
        log = self.dir / "log"
        with open(log, "w") as file:
            command = [*self.server_inside, NATS, "-c", self.dir / "nats-server.conf"]
            self.child = subprocess.Popen(command, stdout=file, stderr=file, cwd=self.dir)
        wait_for(log, "Server is ready", self.child)
        run(*self.console, self.program, "fleet", "doctor", "--dir", self.dir)

    def sign(self, request, answer):
        run(self.program, "fleet", "sign", self.dir, request, "--out", answer)
        if self.child:
            self.child.send_signal(1)

    def statuses(self):
        done = subprocess.run(
            [*self.console, self.program, "fleet", "status", "--dir", self.dir, "--json"], capture_output=True, text=True
        )
        return json.loads(done.stdout)

    def stop(self):
        if self.child:
            self.child.kill()
            self.child.wait()


class Device:
    """A server and its agent, each a process. `inside`: as in `Fleet`."""

    def __init__(self, program, folder, name, listen="127.0.0.1", inside=(), more=""):
        self.folder, self.name, self.inside, self.port = folder / name, name, list(inside), free_port()
        self.folder.mkdir()
        # This user may not reach the program where it was built.
        self.program = self.folder / "raspi-mcp"
        shutil.copy(program, self.program)
        site = self.folder / ".config/raspi-mcp"
        site.mkdir(parents=True)
        tls = self.folder / "tls"
        (site / "50-device.toml").write_text(
            'board = "simulated"\nagent = "socket"\n'
            f'[http]\nenabled = true\nlisten = "{listen}:{self.port}"\n'
            f'[tls]\nenabled = true\ncertificate = "{tls}/certificate.pem"\nkey = "{tls}/key.pem"\n'
            f'[[access.tokens]]\nname = "bench"\nrole = "admin"\nsha256 = "{hashlib.sha256(TOKEN.encode()).hexdigest()}"\n{more}'
        )
        for path in [self.folder, *self.folder.rglob("*")]:
            os.chown(path, NOBODY, NOBODY)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        self.call("tls", "init", "--name", listen)
        self.agent = self.server = None

    def command(self, *args):
        who = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
        return [*self.inside, *who, self.program, *args]

    def call(self, *args):
        return run(*self.command(*args), env=self.environment, cwd=self.folder)

    def process(self, name, pattern, *args):
        log = self.folder / f"{name}.log"
        log.write_text("")
        with open(log, "a") as file:
            child = subprocess.Popen(
                self.command(*args), env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file
            )
        wait_for(log, pattern, child)
        return child

    def start(self):
        self.agent = self.process("agent", "listening", "agent")
        self.server = self.process("server", "listening on https", "serve")

    def joins(self, fleet):
        """Has to be started; is stopped afterwards."""
        request, answer = self.folder / "request", self.folder / "answer.json"
        self.call("fleet", "enroll", "--name", self.name, "--out", request)
        fleet.sign(request, answer)
        answer.chmod(0o644)
        self.call("fleet", "join", answer)
        self.stop()

    def stop(self):
        for child in (self.server, self.agent):
            if child:
                child.terminate()
                child.wait()
        self.server = self.agent = None


def pss(pid):
    """Proportional memory of a process in KiB, by what it is mapped from: the heap, other anonymous memory, and files (proc(5), smaps)."""
    kinds = {"heap": 0, "anonymous": 0, "file": 0}
    kind = None
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            name = words[5] if len(words) > 5 else ""
            kind = "heap" if name == "[heap]" else "file" if name.startswith("/") else "anonymous"
        elif words[0] == "Pss:":
            kinds[kind] += int(words[1])
    return kinds


def wakes(pid):
    """Voluntary context switches of all threads: each is one wait, and so one wake-up."""
    count = 0
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        found = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read_text(), re.M)
        count += int(found[1])
    return count


def unverified():
    """TLS that checks nothing: the other end is a child of this program."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
