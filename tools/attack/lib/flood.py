# SPDX-License-Identifier: Apache-2.0
"""A process of its own that opens connections as fast as it can, says one byte on each, and keeps the newest of them.

usage: flood.py HOST PORT SECONDS KEPT
"""

import contextlib
import socket
import sys
import time


def main():
    address = (sys.argv[1], int(sys.argv[2]))
    end = time.monotonic() + float(sys.argv[3])
    kept = [None] * int(sys.argv[4])
    made = 0
    while time.monotonic() < end:
        at = made % len(kept)
        if kept[at] is not None:
            kept[at].close()
        kept[at] = socket.socket()
        kept[at].settimeout(5)
        with contextlib.suppress(OSError):
            kept[at].connect(address)
            kept[at].sendall(b"G")
        made += 1
    print(made)


if __name__ == "__main__":
    main()
