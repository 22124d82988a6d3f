# SPDX-License-Identifier: Apache-2.0
"""A process of its own that asks a server for /health all the time and prints how long each answer took.

Beside each poll it measures a round trip to a child process that does nothing but echo: how long the machine alone
lets two processes wait for each other. usage: monitor.py HOST PORT
"""

import os
import socket
import sys
import time

PAUSE = 0.025


def echo_pair():
    here, there = socket.socketpair()
    if os.fork() == 0:
        here.close()
        try:
            while data := there.recv(1):
                there.sendall(data)
        finally:
            os._exit(0)
    there.close()
    return here


def round_trip(echo):
    begin = time.monotonic()
    echo.sendall(b"x")
    echo.recv(1)
    return time.monotonic() - begin


def poll(connection, address):
    """The connection to go on with, and whether there was an answer."""
    for _ in range(2):  # a kept connection may have been closed between two requests
        try:
            if connection is None:
                connection = socket.create_connection(address, timeout=30)
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            text = b""
            while b"}" not in text:
                piece = connection.recv(65536)
                if not piece:
                    raise OSError
                text += piece
            return connection, text.startswith(b"HTTP/1.1 200")
        except OSError:
            if connection is not None:
                connection.close()
            connection = None
    return None, False


def main():
    address = (sys.argv[1], int(sys.argv[2]))
    echo = echo_pair()
    connection = None
    parent = os.getppid()
    while os.getppid() == parent:
        before = round_trip(echo)
        begin = time.monotonic()
        connection, is_well = poll(connection, address)
        end = time.monotonic()
        after = round_trip(echo)
        try:
            print(f"{begin:.6f} {end - begin:.6f} {max(before, after):.6f} {int(is_well)}", flush=True)
        except OSError:
            return
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
