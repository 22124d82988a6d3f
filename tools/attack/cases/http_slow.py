# SPDX-License-Identifier: Apache-2.0
"""Clients that are slow, many, silent, or gone."""

import contextlib
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor

from lib import http, process
from lib.case import Slow, case, expect

STREAM = {
    "messages": [{"role": "user", "content": "What is 17 + 25?"}],
    "stream": True,
    "ignore_eos": True,
    "temperature": 0,
}
HEAD = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HEALTH = http.request("GET", "/health")


@contextlib.contextmanager
def connections(server, count, data=b""):
    made = []
    try:
        for _ in range(count):
            try:
                connection = http.connect(server.address)
                made.append(connection)
                connection.sendall(data)
            except OSError:
                pass
        yield made
    finally:
        for connection in made:
            connection.close()


def reset(connection):
    """Ends without a goodbye."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def served_soon(trial, server):
    """A client that behaves gets through, whoever else holds connections."""
    begin = time.monotonic()
    status = 0
    while time.monotonic() - begin < trial.seconds:
        with contextlib.suppress(OSError, Slow):
            status = server.ask(HEALTH).status
            if status == 200:
                return
        time.sleep(0.1)
    expect(False, f"expected an answer within {trial.seconds:.0f} s, the last one was {status}")


for count, data, label in (
    (256, b"G", "one-byte"),
    (256, b"", "no-byte"),
    (256, HEAD, "half-header"),
    (256, HEAD + b"Content-Length: 100\r\n\r\n{", "half-body"),
    (600, b"G", "600-one-byte"),
    (300, HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n", "half-chunk"),
    (256, HEALTH, "kept-after-answer"),
):

    @case(f"http/slow/flood-{label}", "Connections that say little do not keep the others out.", on_server=True)
    def flood(trial, count=count, data=data):
        server = trial.server()
        with connections(server, count, data):
            time.sleep(0.2)
            served_soon(trial, server)


@case("http/slow/flood-and-ask", "While 256 connections wait, an answer still comes from the model.", on_server=True)
def flood_and_ask(trial):
    server = trial.server()
    with connections(server, 256, b"P"):
        served_soon(trial, server)
        begin = time.monotonic()
        status = 0
        while status != 200 and time.monotonic() - begin < trial.seconds:
            with contextlib.suppress(OSError, Slow):
                status = server.chat().status
        expect(status == 200, f"got {status}")


@case("http/slow/drip", "A header at ten bytes per second holds one connection and nothing else.", on_server=True)
def drip(trial):
    server = trial.server()
    with connections(server, 20) as made:
        for byte in HEAD[:20]:
            for connection in made:
                with contextlib.suppress(OSError):
                    connection.sendall(bytes([byte]))
            time.sleep(0.1)
        served_soon(trial, server)


@case(
    "http/slow/large-half-bodies",
    "Bodies in flight share a bound: 64 times 15 MB are not kept.",
    on_server=True,
    bytes=1_000_000_000,
)
def large_half_bodies(trial):
    # One of its own: others leave memory behind that the allocator keeps.
    server = trial.own_server()
    block = b" " * 1_000_000

    def feed(connection):
        with contextlib.suppress(OSError):
            connection.settimeout(2)
            connection.sendall(HEAD + b"Content-Length: 15500000\r\n\r\n")
            for _ in range(15):
                connection.sendall(block)

    with connections(server, 64) as made:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(feed, made))
        served_soon(trial, server)
        peak = process.peak_bytes(server.pid)
        expect(peak < trial.bytes, f"took {peak / 1e6:.0f} MB")


@case("http/slow/churn", "A thousand connections that come and go leave nothing behind.", on_server=True)
def churn(trial):
    server = trial.server()
    for i in range(1000):
        with contextlib.suppress(OSError):
            connection = http.connect(server.address)
            if i % 3:
                connection.sendall(HEALTH[: i % 30])
            (reset if i % 2 else socket.socket.close)(connection)
    served_soon(trial, server)


@case("http/slow/reset-in-body", "A client that resets in its body ends its request alone.", on_server=True)
def reset_in_body(trial):
    server = trial.server()
    for size in (0, 1, 100, 10_000, 1_000_000):
        connection = http.connect(server.address)
        connection.sendall(HEAD + b"Content-Length: 2000000\r\n\r\n" + b" " * size)
        reset(connection)
    server.wait_until_idle()


@case(
    "http/slow/half-close",
    "A client that ends its side gets a whole answer or a whole error, and nothing runs on.",
    on_server=True,
)
def half_close(trial):
    server = trial.server()
    for tokens in (1, 4, 200):
        answers = server.talk(
            http.post("/v1/chat/completions", {**STREAM, "stream": False, "max_tokens": tokens}), end_writing=True
        )
        expect(not answers or answers[0].status in (200, 503), f"got {[answer.status for answer in answers]}")
    server.wait_until_idle()


@case("http/slow/body-byte-by-byte", "A body in pieces of one byte is a body.", on_server=True)
def byte_by_byte(trial):
    server = trial.server()
    with http.connect(server.address) as connection:
        for byte in http.post("/v1/completions", {"prompt": "x", "max_tokens": 1}):
            connection.sendall(bytes([byte]))
        expect(b" 200 " in connection.recv(65536), "expected an answer")


@case(
    "http/slow/leave-the-stream",
    "Forty clients leave in the middle of a stream: nothing goes on for them.",
    on_server=True,
)
def leave_the_stream(trial):
    server = trial.server()
    for i in range(40):
        connection = http.connect(server.address)
        connection.sendall(http.post("/v1/chat/completions", STREAM))
        if i % 2:
            connection.recv(200)
        (reset if i % 3 else socket.socket.close)(connection)
    server.wait_until_idle()


@case("http/slow/leave-the-queue", "Clients that leave while they wait are not answered to nobody.", on_server=True)
def leave_the_queue(trial):
    server = trial.server()
    with connections(server, 10, http.post("/v1/chat/completions", STREAM)):
        time.sleep(0.1)
    server.wait_until_idle()


@case(
    "http/slow/full-queue",
    "More requests than the queue holds: 429 at once, and the others are answered.",
    on_server=True,
)
def full_queue(trial):
    server = trial.server()
    with ThreadPoolExecutor(30) as pool:
        answers = list(
            pool.map(
                lambda _: server.post(
                    "/v1/chat/completions",
                    {**STREAM, "stream": False, "max_tokens": 200},
                    seconds=30 * trial.settings.patience,
                ),
                range(30),
            )
        )
    statuses = sorted(answer.status for answer in answers)
    expect(set(statuses) <= {200, 429} and 200 in statuses and 429 in statuses, f"got {statuses}")
    refused = next(answer for answer in answers if answer.status == 429)
    expect(refused.header("Retry-After"), "expected Retry-After")


@case("http/slow/stalled-readers", "Readers that take nothing do not hold up those that do.", on_server=True)
def stalled_readers(trial):
    server = trial.server()
    made = []
    try:
        for _ in range(4):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.connect(server.address)
            connection.sendall(http.post("/v1/chat/completions", {**STREAM, "logprobs": True, "top_logprobs": 20}))
            made.append(connection)
        begin = time.monotonic()
        status = 0
        while status != 200 and time.monotonic() - begin < 2 * trial.seconds:
            status = server.chat().status
            time.sleep(0.05)
        expect(status == 200, f"got {status}")
    finally:
        for connection in made:
            connection.close()
    server.wait_until_idle()


@case(
    "http/slow/answers-unread",
    "A client that asks ten thousand times and reads nothing is not kept in memory.",
    on_server=True,
)
def answers_unread(trial):
    server = trial.server()
    with http.connect(server.address) as connection:
        connection.settimeout(2)
        with contextlib.suppress(OSError):
            for _ in range(100):
                connection.sendall(http.request("GET", "/v1/models") * 1000)
        served_soon(trial, server)


@case("http/slow/sixteen-answers", "n = 16 in a stream, left after the first piece.", on_server=True)
def sixteen_answers(trial):
    server = trial.server()
    connection = http.connect(server.address)
    connection.sendall(http.post("/v1/chat/completions", {**STREAM, "n": 16}))
    connection.recv(100)
    reset(connection)
    server.wait_until_idle()


@case("http/slow/mixed-up", "Sixty answers at once are those of a quiet server, each its own.", on_server=True)
def mixed_up(trial):
    server = trial.server()
    asked = [f"What is {i} + {i + 3}?" for i in range(12)]
    body = [
        {"messages": [{"role": "user", "content": text}], "max_tokens": 16, "temperature": 0, "seed": 1}
        for text in asked
    ]

    def ask(i):
        while True:
            answer = server.post("/v1/chat/completions", body[i], seconds=30 * trial.settings.patience)
            if answer.status not in (429, 503):
                return answer.json()["choices"][0]["message"]["content"]
            time.sleep(0.02)

    quiet = [ask(i) for i in range(12)]
    with ThreadPoolExecutor(6) as pool:
        loud = list(pool.map(ask, [i % 12 for i in range(60)]))
    wrong = [asked[i % 12] for i, text in enumerate(loud) if text != quiet[i % 12]]
    expect(not wrong, f"other answers than alone: {wrong[:3]}")
