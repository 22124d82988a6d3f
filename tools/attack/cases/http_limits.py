# SPDX-License-Identifier: Apache-2.0
"""Keys with limits, HTTPS and HTTP on a Unix socket: what only these can get wrong."""

import contextlib
import os
import socket
import ssl
import stat
import subprocess
import time

from lib import http
from lib.case import case, expect

KEY = "correct-horse-battery"
HEADERS = [("Authorization", f"Bearer {KEY}")]
ASK = {"prompt": "x", "max_tokens": 1}


def limited(trial, limits):
    return trial.own_server(("--api-key-file", trial.write("key", f"{KEY} {limits}\n")), is_watched=False)


def ask(server):
    return server.ask(http.post("/v1/completions", ASK, HEADERS))


@case("http/limits/given-up", "Requests that are given up, in any part of them, leave no place of their key taken.")
def given_up(trial):
    server = limited(trial, "concurrency=2")
    whole = http.post("/v1/completions", {**ASK, "max_tokens": 300, "stream": True}, HEADERS)
    for length in (len(whole), len(whole) - 1, len(whole) - 30, len(whole) // 2, 20):
        for _ in range(20):
            with http.connect(server.address) as connection:
                connection.sendall(whole[:length])
    end = time.monotonic() + trial.seconds
    while ask(server).status != 200:
        expect(time.monotonic() < end, "the places of the key stay taken")
        time.sleep(0.01)


@case("http/limits/half-bodies", "A request counts from its head on: half bodies get no more of a key than it may have.")
def half_bodies(trial):
    server = limited(trial, "concurrency=3")
    half = http.post("/v1/completions", ASK, HEADERS)[:-5]
    refused = 0
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            connection = stack.enter_context(http.connect(server.address))
            connection.sendall(half)
            connection.settimeout(0.3)
            with contextlib.suppress(TimeoutError):
                refused += b" 429 " in connection.recv(4096)
    expect(refused == 5, f"expected 3 of 8 to be read, {8 - refused} were")


@case("http/limits/rate", "What is beyond a rate is refused however it comes, and says when to come back.")
def rate(trial):
    server = limited(trial, "rate=5/h")
    raw = http.post("/v1/completions", {}, HEADERS) * 20  # wrong, in one write
    statuses = [answer.status for answer in server.talk(raw, count=6)]
    expect(statuses[:6] == [400] * 5 + [429], f"got {statuses}")
    wait = int(ask(server).header("Retry-After"))
    expect(0 < wait <= 720, f"got Retry-After: {wait}")


def secured(trial):
    certificate, key = trial.path("tls.crt"), trial.path("tls.key")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        + ["-subj", "/CN=localhost", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False
    return trial.own_server(("--tls-cert", certificate, "--tls-key", key), is_watched=False), context


def health(server, context):
    begin = time.monotonic()
    with context.wrap_socket(http.connect(server.address)) as connection:
        connection.sendall(http.request("GET", "/health"))
        status = connection.recv(65536)[:15]
    expect(b" 200 " in status, f"expected /health over TLS, got {status!r}")
    return time.monotonic() - begin


@case("http/tls/no-handshake", "What is no handshake is closed, and others go on.")
def no_handshake(trial):
    server, context = secured(trial)
    for raw in (http.request("GET", "/health"), bytes(range(256)) * 100, b"\x16\x03\x01\xff\xff" + b"\x01" * 70_000):
        with http.connect(server.address) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(raw)
                connection.shutdown(socket.SHUT_WR)
            data = b""
            with contextlib.suppress(ConnectionResetError):
                while piece := connection.recv(65536):
                    data += piece
        expect(b"HTTP/" not in data, f"got an answer without TLS: {data[:100]!r}")
        health(server, context)


@case("http/tls/half-handshakes", "Handshakes that do not go on take nothing from others.")
def half_handshakes(trial):
    server, context = secured(trial)
    with contextlib.ExitStack() as stack:
        for _ in range(400):
            stack.enter_context(http.connect(server.address)).sendall(b"\x16\x03\x01")
        for _ in range(5):
            took = health(server, context)
            expect(took < trial.seconds / 5, f"/health took {took:.1f} s beside them")


@case("http/socket/owner", "The file of a Unix socket lets in its owner alone, and goes with the server.")
def owner(trial):
    path, ready = trial.path("http.sock"), trial.path("ready")
    process = trial.start("serve", trial.pocket(), "--http-socket", path, "--ready-file", ready, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not os.path.exists(ready) or not os.path.getsize(ready):
        expect(time.monotonic() < end and process.poll() is None, "the server did not start")
        time.sleep(0.01)
    mode = os.stat(path).st_mode
    expect(stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600, f"got the mode {mode:o}")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(http.request("GET", "/health"))
        expect(b" 200 " in connection.recv(65536), "no answer on the socket")
    process.terminate()
    process.wait()
    expect(not os.path.exists(path), "the file is still there")
