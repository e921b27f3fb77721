"""An owner at another computer: an approver's key, and the commands of our own program that sign with it."""

import os
import pty
import re
import select
import subprocess

from wires import Missed

# An emulated machine on a busy computer answers late.
PATIENCE = 200


class Owner:
    """An approver's key in a new file of that folder. `device`: the ID of the device that is meant, once it is known."""

    def __init__(self, folder, name, device=None):
        self.name, self.device, self.file = name, device, os.path.join(folder, f"{name}.key")
        if os.path.exists(self.file):
            os.remove(self.file)
        ours("approver", "key", "--out", self.file)

    def options(self, door):
        """`door`: the port of this computer and the fingerprint of the certificate there."""
        port, pin = door
        return ["--url", f"https://127.0.0.1:{port}", "--pin", pin, "--key", self.file, "--device", self.device]

    def orders(self, door, *words):
        """An order: what the device says."""
        return ours(*words, *self.options(door))

    def claims(self, door, code):
        """Claims the device with the code that it shows, and is its approver from then on: the owner's token."""
        port, fingerprint = door
        return ours(
            "claim", f"https://127.0.0.1:{port}", "--fingerprint", fingerprint, "--code", code, "--device", self.device,
            "--approver", self.file, "--approver-name", self.name,
        ).strip()

    def waiting(self, door):
        """The IDs of the asks that wait, and the text that shows them."""
        said = ours("approve", "--list", *self.options(door))
        return re.findall(r"^ask (\S+)$", said, re.M), said

    def approves(self, door, ask):
        """Says yes to one ask, on a terminal."""
        return typed([program(), "approve", ask, *self.options(door)], r"decide later\] ", "y")

    def enrolls(self, door, token, read_code):
        """By a code on the screen: `read_code` returns it once the machine has been asked to show one. Returns what the command says."""
        token_file = os.path.join(os.path.dirname(self.file), "owner.token")
        with open(token_file, "w") as file:
            file.write(token)
        port, pin = door
        command = [
            program(), "approver", "enroll", "--url", f"https://127.0.0.1:{port}", "--pin", pin, "--token-file", token_file, "--key", self.file,
            "--name", self.name, "--device", self.device,
        ]
        return typed(command, "The code it shows: ", read_code)


def shown(console):
    """Code, fingerprint and device ID on an appliance's console."""
    return [console.expect(rf"^ *{what} +(\S+)", within=400).group(1) for what in ("code", "fingerprint", "device")]


def program():
    return os.environ["RASPI_MCP_HOST"]


def ours(*words):
    """Runs our program; it must succeed."""
    done = subprocess.run([program(), *words], capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        raise Missed(f"`raspi-mcp {' '.join(words[:3])}` failed with {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def typed(command, question, answer):
    """Runs it on a terminal of its own and answers its question as a person does, once it is there; returns what was on the screen. `answer`:
    the line, or what returns it."""
    ours_end, its_end = pty.openpty()
    process = subprocess.Popen(command, stdin=its_end, stdout=its_end, stderr=its_end, start_new_session=True)
    os.close(its_end)
    seen, line = b"", None
    try:
        while True:
            # Our program forgets what was typed before it had shown its question: a person who sees nothing happen types it again.
            if line and not select.select([ours_end], [], [], 2)[0]:
                os.write(ours_end, line)
            try:
                piece = os.read(ours_end, 4096)
            except OSError:
                # Nobody has the other end open any more.
                break
            seen += piece
            if not line and re.search(question, seen.decode(errors="replace")):
                line = (answer() if callable(answer) else answer).encode() + b"\n"
                os.write(ours_end, line)
        status = process.wait(PATIENCE)
    finally:
        process.kill()
        os.close(ours_end)
    text = seen.decode(errors="replace").replace("\r", "")
    if status or not line:
        raise Missed(f"`{' '.join(command[1:3])}` ended with {status}: {text.strip()}")
    return text
