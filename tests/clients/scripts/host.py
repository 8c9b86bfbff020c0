#!/usr/bin/python3
"""host.py FOLDER: does what a test asks for by its stdin, a socket (without_fuse.py). Each line of
JSON asks one thing, and has one for an answer."""

import json
import os
import socket
import subprocess
import sys


def main(folder):
    asked, begun = socket.socket(fileno=0), {}
    while True:
        data, fds, _, _ = socket.recv_fds(asked, 1 << 20, 2)
        if not data:
            return
        ask = json.loads(data)
        if "words" in ask:
            process = subprocess.Popen(ask["words"], stdin=fds[0], stdout=fds[1],
                                       env=ask["environ"], start_new_session=True)
            for fd in fds:
                os.close(fd)
            begun[process.pid] = process
            answer = process.pid
        elif "kill" in ask:
            answer = begun[ask["kill"]].kill()
        elif "wait" in ask:
            answer = begun[ask["wait"]].wait(ask["seconds"])
        else:
            answer = json.loads(os.getxattr(folder, ask["stats"]))
        asked.sendall(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
