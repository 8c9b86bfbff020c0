"""nameservers.py PACK COMMAND...: runs a command where far.test is a server of PACK, of which the
first nameserver says nothing, and the second one knows. For a network namespace of its own, and a
mount namespace, too. `{}` in the command is the URL."""

import contextlib
import ctypes
import fcntl
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

import answers

SILENT, GOOD, MS_BIND, SIOCSIFFLAGS, IFF_UP = "127.0.0.2", "127.0.0.3", 4096, 0x8914, 1
OPTIONS = "options timeout:6"  # 5 by default


class Pack(answers.Handler):
    def do_GET(self):
        self.answer_range(self.given)


def answer_names(asked):
    """127.0.0.1 for each A, nothing for other kinds, until it is closed."""
    with contextlib.suppress(OSError):
        while True:
            query, client = asked.recvfrom(512)
            end = query.index(0, 12) + 5  # of the question
            is_a = query[end - 4:end - 2] == b"\0\1"
            head = query[:2] + struct.pack(">5H", 0x8180, 1, is_a, 0, 0)
            answer = b"\xc0\x0c" + struct.pack(">HHIH4s", 1, 1, 60, 4, bytes([127, 0, 0, 1]))
            asked.sendto(head + query[12:end] + answer * is_a, client)


def name_servers(folder):
    listening = []
    for address in SILENT, GOOD:
        listening.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        listening[-1].bind((address, 53))
    threading.Thread(target=answer_names, args=(listening[1],), daemon=True).start()
    for name, text in (("resolv.conf", f"nameserver {SILENT}\nnameserver {GOOD}\n{OPTIONS}\n"),
                       ("hosts", "127.0.0.1 localhost\n"),
                       ("nsswitch.conf", "hosts: files dns\n")):
        (folder / name).write_text(text)
        target = Path("/etc", name).resolve()
        if target.exists() and ctypes.CDLL(None).mount(
                bytes(folder / name), bytes(target), None, MS_BIND, None):
            raise OSError(f"{target}: cannot be replaced")
    return listening


def main(pack, *command):
    with contextlib.closing(socket.socket()) as loopback:
        fcntl.ioctl(loopback, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
    listening = name_servers(Path(pack).parent)
    with answers.serve(Pack, Path(pack).read_bytes()) as url:
        url = url.replace("127.0.0.1", "far.test") + "/x.lmdb"
        status = subprocess.run([word.replace("{}", url) for word in command]).returncode
    for server in listening:
        server.close()
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
