"""A fleet's owner at another computer: the folder of `raspi-mcp fleet init`, and Debian's nats-server with the configuration in it, on a
loopback port that the guests see at BROKER_ADDRESS."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess

from machine import BROKER_ADDRESS, BROKER_PORT
from owner import PATIENCE, ours, program
from wires import Console, Missed

NATS = "/usr/sbin/nats-server"
FLEET = "home"


class Broker:
    """A fleet with its broker. A context manager: the broker is always ended at its exit."""

    def __init__(self, folder):
        self.dir, self.log = os.path.join(folder, "fleet"), os.path.join(folder, "nats.log")
        shutil.rmtree(self.dir, ignore_errors=True)
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port = free.getsockname()[1]
        # What the guests are told; this computer reaches the broker by another address, which its certificate names as well.
        self.address, self.home = f"tls://{BROKER_ADDRESS}:{BROKER_PORT}", f"tls://127.0.0.1:{self.port}"
        ours("fleet", "init", self.dir, "--name", FLEET, "--server", self.address, "--host", "127.0.0.1")
        self.replace("nats-server.conf", f"0.0.0.0:{BROKER_PORT}", f"127.0.0.1:{self.port}")

    def __enter__(self):
        if not os.path.exists(NATS):
            raise Missed(f"there is no {NATS}: apt-get install nats-server")
        self.said = Console(self.log)
        self.process = subprocess.Popen(
            [NATS, "-c", os.path.join(self.dir, "nats-server.conf")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, cwd=self.dir,
        )
        self.said.attach(self.process.stdout)
        try:
            self.said.expect("Server is ready", within=60)
            self.replace("fleet.toml", self.address, self.home)
            self.command("doctor")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def replace(self, file, old, new):
        path = os.path.join(self.dir, file)
        with open(path) as reads:
            text = reads.read()
        with open(path, "w") as writes:
            writes.write(text.replace(old, new))

    def enrolls(self, name, owner, door):
        """An appliance becomes a member by two orders of its owner; it counts from the next start on."""
        request, answer = (os.path.join(self.dir, f"{name}.{what}") for what in ("request", "answer"))
        owner.orders(door, "fleet", "enroll", "--name", name, "--out", request)
        self.replace("fleet.toml", self.home, self.address)
        said = ours("fleet", "sign", self.dir, request, "--out", answer, "--device", owner.device)
        self.replace("fleet.toml", self.address, self.home)
        self.process.send_signal(signal.SIGHUP)
        self.said.expect("Reloaded server configuration", within=60)
        owner.orders(door, "fleet", "join", answer)
        return said.splitlines()[0]

    def row(self, name):
        """The device as `fleet status` shows it; it must have reported."""
        # By its exit code it says how the devices are.
        done = subprocess.run(
            [program(), "fleet", "status", "--dir", self.dir, "--json", name], capture_output=True, text=True, timeout=PATIENCE)
        if not done.stdout:
            raise Missed(f"fleet status ended with {done.returncode}: {done.stderr.strip()}")
        shown = json.loads(done.stdout)
        if shown["refused"]:
            raise Missed(f"statuses were refused: {shown['refused']}")
        [row] = shown["devices"]
        if row["sequence"] is None:
            raise Missed(f"{name} has never sent a status")
        return row

    def command(self, *words):
        """One of the console's commands; it must succeed."""
        return ours("fleet", *words, "--dir", self.dir)

    @contextlib.contextmanager
    def connected(self, name):
        """`fleet connect`: the local port that leads to the device."""
        with started("fleet", "connect", "--dir", self.dir, name) as first:
            yield int(re.search(r" is at https://127\.0\.0\.1:(\d+),", first).group(1))


@contextlib.contextmanager
def started(*words):
    """Runs our program meanwhile: its first line, without which it failed."""
    process = subprocess.Popen([program(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        first = process.stdout.readline()
        if not first:
            raise Missed(f"`raspi-mcp {' '.join(words[:3])}` failed: {process.stderr.read().strip()}")
        yield first
    finally:
        process.terminate()
        process.communicate()
