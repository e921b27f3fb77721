"""The fleet's web space: plain files over HTTPS, with the bench's own CA. It supports ranges and entity tags, as any web server
does, and counts the bytes it sends."""

import hashlib
import http.server
import os
import re
import ssl
import subprocess
import threading

NAME = "updates.bench"
OPENSSL_DAYS = "3650"


def openssl(*arguments):
    done = subprocess.run(["openssl", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"openssl {' '.join(arguments)} failed: {done.stdout.strip()}")


def certificates(folder):
    """A CA and a certificate for NAME by it, made once: (the CA's, the server's with its key)."""
    ca, server = os.path.join(folder, "ca.pem"), os.path.join(folder, "server.pem")
    if not os.path.exists(server):
        os.makedirs(folder, exist_ok=True)
        key, own, request = (os.path.join(folder, name) for name in ("ca.key", "server.key", "server.csr"))
        new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        openssl(*new, "-x509", "-days", OPENSSL_DAYS, "-subj", "/CN=raspi-mcp bench CA", "-keyout", key, "-out", ca,
                "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
        openssl(*new, "-subj", f"/CN={NAME}", "-keyout", own, "-out", request)
        extensions = os.path.join(folder, "server.ext")
        with open(extensions, "w") as file:
            file.write(f"subjectAltName=DNS:{NAME}\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n")
        chain = os.path.join(folder, "server.crt")
        openssl("x509", "-req", "-in", request, "-CA", ca, "-CAkey", key, "-CAcreateserial", "-days", OPENSSL_DAYS,
                "-extfile", extensions, "-out", chain)
        with open(server + ".new", "w") as out:
            for name in (chain, own):
                with open(name) as part:
                    out.write(part.read())
        os.rename(server + ".new", server)
    return ca, server


class WebSpace:
    """Serves the files of a folder on a loopback port until it is closed."""

    def __init__(self, folder, certificate):
        self.folder, self.requests, self.changed = folder, [], threading.Condition()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        space = self

        class Handler(_Handler):
            web = space

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        # Each connection's own thread does the handshake, so a stalled one does not delay the others.
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def note(self, path, sent):
        with self.changed:
            self.requests.append((path, sent))
            self.changed.notify_all()

    def counted(self, ending=""):
        """Body bytes sent of files whose names have this ending."""
        with self.changed:
            return sum(sent for path, sent in self.requests if path.endswith(ending))

    def sent_more(self, than, ending, within):
        """Waits until more than this many bytes of such files were sent."""
        with self.changed:
            return self.changed.wait_for(
                lambda: sum(sent for path, sent in self.requests if path.endswith(ending)) > than, within)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    PIECE = 64 << 10

    def log_message(self, *_):
        pass

    def handle(self):
        # The guest may be switched off at any moment.
        try:
            super().handle()
        except (OSError, ssl.SSLError):
            pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        path = self.path.partition("?")[0]
        name = os.path.realpath(os.path.join(self.web.folder, path.lstrip("/")))
        if not name.startswith(os.path.realpath(self.web.folder) + os.sep) or not os.path.isfile(name):
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        with open(name, "rb") as file:
            stat = os.fstat(file.fileno())
            size = stat.st_size
            tag = '"' + hashlib.sha256(f"{name} {size} {stat.st_mtime_ns}".encode()).hexdigest()[:32] + '"'
            begin, end, status = 0, size, 200
            asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            if asked and self.headers.get("If-Range", tag) == tag:
                begin, end, status = int(asked[1]), min(int(asked[2] or size) + 1, size), 206
                if begin >= size:
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{size}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
            self.send_response(status)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(end - begin))
            self.send_header("ETag", tag)
            self.send_header("Accept-Ranges", "bytes")
            if status == 206:
                self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
            self.end_headers()
            file.seek(begin)
            while body and begin < end:
                piece = file.read(min(self.PIECE, end - begin))
                self.wfile.write(piece)
                begin += len(piece)
                self.web.note(path, len(piece))
