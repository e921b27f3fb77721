"""A simulated board: the two halves as processes, on a small file system, and what Linux says of them."""

import os
import re
import signal
import subprocess
import threading

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"


class Half:
    """One half of raspi-mcp."""

    def __init__(self, command, env, ready, log):
        self.child = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.port, lines = None, []
        for line in self.child.stderr:
            lines.append(line)
            found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", line)
            self.port = int(found.group(1)) if found else self.port
            if ready in line:
                break
        else:
            raise SystemExit("it did not start:\n" + "".join(lines))
        self.log = log
        threading.Thread(target=lambda: [log.write(line) for line in self.child.stderr], daemon=True).start()

    def kill(self):
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()

    def end(self):
        self.child.terminate()
        return self.child.wait(30)

    def figures(self):
        """Private memory in KiB, open files, threads."""
        base = f"/proc/{self.child.pid}"
        with open(f"{base}/smaps_rollup") as f:
            private = sum(int(size) for size in re.findall(r"^Private_\w+:\s+(\d+)", f.read(), re.M))
        return private, len(os.listdir(f"{base}/fd")), len(os.listdir(f"{base}/task"))


class Board:
    """Both halves; each can be killed and started again."""

    def __init__(self, binary, folder, tools):
        self.binary, self.folder, self.is_early = binary, folder, False
        at = lambda name: os.path.join(folder, name)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=0700", "none", folder], check=True)
        os.mkdir(at("files"))
        namespaces = sorted({name.split(".")[0] for name, _, _ in tools} - {"tools", "logs", "vector"})
        with open(at("site.toml"), "w") as f:
            f.write('board = "simulated"\nagent = "socket"\n[places]\n')
            for place, name in (("state_dir", "state"), ("runtime_dir", "run"), ("agent_state_dir", "agent"), ("agent_socket", "run/agent.sock")):
                f.write(f'{place} = "{at(name)}"\n')
            f.write(f'[socket]\npath = "{at("mcp.sock")}"\n')
            f.write(f"[tools]\nenable = {namespaces}\n[limits]\nreads_per_minute = 60000\nwrites_per_minute = 60000\n[policy]\n".replace("'", '"'))
            f.writelines(f'"{name}" = "allow"\n' for name, _, writes in tools if writes)
            # Room for what is kept of an hour's calls, which is more than the file system has.
            f.write("[audit]\nmax_bytes = 16777216\n[metrics]\nmax_bytes = 8388608\n")
            f.write(f'[[files.roots]]\nname = "soak"\npath = "{at("files")}"\nwritable = true\n')
            f.write('[[exec.commands]]\nname = "echo"\nprogram = "/bin/echo"\nmore_args = ".*"\n')
        self.env = dict(os.environ)
        os.mkdir(at("run"))
        self.log = open(at("../") + os.path.basename(folder) + ".log", "w")
        self.agent = self.start_agent()
        self.server = self.start_server()

    def _env(self):
        if not self.is_early:
            return self.env
        return self.env | {"LD_PRELOAD": FAKETIME, "FAKETIME": "-3650d", "DONT_FAKE_MONOTONIC": "1"}

    def start_agent(self):
        return Half([self.binary, "agent", "--config", f"{self.folder}/site.toml"], self._env(), "agent.sock", self.log)

    def start_server(self):
        command = [self.binary, "serve", "--http", "127.0.0.1:0", "--role", "admin", "--config", f"{self.folder}/site.toml"]
        return Half(command, self._env(), "mcp.sock", self.log)

    def run(self, *args):
        return subprocess.run([self.binary, *args, "--config", f"{self.folder}/site.toml"], env=self.env, capture_output=True, text=True)

    def fill(self):
        """Leaves no byte on its file system."""
        try:
            with open(f"{self.folder}/ballast", "wb", buffering=0) as f:
                while f.write(b"\0" * 65536):
                    pass
        except OSError:
            pass

    def empty(self):
        os.unlink(f"{self.folder}/ballast")
