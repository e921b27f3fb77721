"""One connection of the guest to the bench's web space or broker: relays data between QEMU and a port of this computer.
QEMU starts it, with the guest's end as standard input and output."""

import os
import socket
import sys
import threading


def copy(read, write, end):
    while chunk := read(1 << 16):
        while chunk:
            chunk = chunk[write(chunk):]
    end()


port = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
back = threading.Thread(
    target=copy, args=(port.recv, lambda chunk: os.write(1, chunk), lambda: os._exit(0)), daemon=True)
back.start()
copy(lambda size: os.read(0, size), port.send, lambda: port.shutdown(socket.SHUT_WR))
back.join()
