# SPDX-License-Identifier: Apache-2.0
"""Signals at any point: the server ends in order, within ten seconds, whatever it does."""

import contextlib
import os
import signal
import socket
import subprocess
import time

from lib import http, process
from lib.case import case, expect

from .http_slow import HEAD, STREAM

CHAT = "/v1/chat/completions"
LIMITS = {"seconds": 11, "why": "ten seconds are the grace that running requests get"}


def ended(trial, server, **more):
    took = server.stop(**more)
    trial.settings.worst_stop = max(trial.settings.worst_stop, took)
    return took


def opened(server, raw, count=1, pause=0.3):
    """Connections that have said `raw`."""
    made = []
    for _ in range(count):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(2)
        connection.connect(server.address)
        with contextlib.suppress(OSError):
            connection.sendall(raw)
        made.append(connection)
    time.sleep(pause)
    return made


def keys(count):
    return "{" + ",".join(f'"k{i}":1' for i in range(count)) + "}"


BOMB = http.post(CHAT, '{"messages":[{"role":"user","content":"hi"}],"chat_template_kwargs":' + keys(300_000) + "}")
LONG = http.post(CHAT, {"messages": [{"role": "user", "content": "a b " * 3_500_000}]})
PREFILL = http.post("/v1/completions", {"prompt": [[5] * 500] * 32, "max_tokens": 8})
STALLED = http.post(CHAT, {**STREAM, "logprobs": True, "top_logprobs": 20, "n": 16})
for name, raw, count, reason in (
    ("idle", b"", 0, "Nothing runs."),
    ("in-template", BOMB, 2, "Requests are in the template or its variables, on every thread there is."),
    ("in-tokenizer", LONG, 2, "Requests are being tokenized."),
    ("in-parser", http.post(CHAT, '{"messages":[' + "{}," * 3_000_000), 2, "Requests are being parsed."),
    ("in-prefill", PREFILL, 2, "Prompts are being read."),
    ("in-stream", http.post(CHAT, STREAM), 4, "Answers are being written."),
    ("stalled-reader", STALLED, 3, "Readers take nothing."),
    ("half-bodies", HEAD + b"Content-Length: 10000000\r\n\r\n" + b" " * 100_000, 20, "Bodies never come to their end."),
    ("half-headers", b"POST /v1/compl", 50, "Headers never come to their end."),
    ("full-connections", b"G", 256, "There are as many connections as there may be."),
    ("full-queue", http.post(CHAT, {**STREAM, "stream": False}), 20, "The queue is full."),
    ("kept-connections", http.request("GET", "/health"), 20, "Connections are kept for a next request."),
):

    @case(f"stop/{name}", f"SIGTERM ends the server within ten seconds. {reason}", **LIMITS)
    def stop_while(trial, raw=raw, count=count):
        server = trial.own_server(("--parallel", "1", "--queue", "8"))
        made = opened(server, raw, count)
        try:
            ended(trial, server)
        finally:
            for connection in made:
                connection.close()


@case("stop/stalled-terminal", "Nobody reads what the server prints, and a request runs for longer.", **LIMITS)
def stalled_terminal(trial):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    os.set_blocking(writer, True)
    words = [trial.settings.anemone, "serve", trial.pocket(), "--stdin"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=writer) as server:
        server.stdout.readline()
        # Their answers fill the pipe, and nobody reads them.
        server.stdin.write(b'{"prompt": "a", "max_new": 2}\n' * 1500)
        server.stdin.flush()
        time.sleep(1)
        server.terminate()
        try:
            code = server.wait(10.5 * trial.settings.patience)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            server.kill()
            os.close(reader)
            os.close(writer)
    # Answers that could not be written were cut off.
    expect(code == 1, f"expected the server to end with 1 within ten seconds, got {code}")


@case("stop/second-signal", "A second SIGTERM ends it at once.", **LIMITS)
def second_signal(trial):
    server = trial.own_server(("--parallel", "1"))
    made = opened(server, STALLED, 2)
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    if server.is_running():
        server.process.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.process.wait(3 * trial.settings.patience)
        took = time.monotonic() - begin
        expect(not server.is_running(), f"still runs {took:.1f} s after the second signal")
    for connection in made:
        connection.close()


@case("stop/cut-off", "Requests that are longer than the grace are cut off, and the exit code says so.", **LIMITS)
def cut_off(trial):
    server = trial.own_server(("--parallel", "16", "--queue", "16"))
    body = {"prompt": ["x"] * 8, "n": 16, "max_tokens": 500, "ignore_eos": True}
    made = opened(server, http.post("/v1/completions", body), 16, pause=1)
    ended(trial, server, codes=(1,))
    answers = []
    for connection in made:
        with contextlib.suppress(OSError), connection:
            answers += http.parse(connection.recv(65536))
    expect(answers and all(answer.status == 503 for answer in answers), f"got {answers}")


@case("stop/interrupt", "SIGINT does what SIGTERM does.", **LIMITS)
def interrupt(trial):
    server = trial.own_server(("--parallel", "1"))
    made = opened(server, http.post(CHAT, STREAM), 1)
    ended(trial, server, number=signal.SIGINT)
    made[0].close()


@case("stop/broken-pipe-signal", "SIGPIPE from somewhere is nothing to end for.")
def broken_pipe_signal(trial):
    server = trial.own_server(is_watched=False)
    server.check_well()
    server.process.send_signal(signal.SIGPIPE)
    time.sleep(0.1)
    server.check_well()


@case("stop/last-answer-whole", "An answer that is on its way when the signal comes is whole, or none.", **LIMITS)
def last_answer_whole(trial):
    server = trial.own_server(("--parallel", "1"), is_watched=False)
    with http.connect(server.address) as connection:
        connection.sendall(http.post(CHAT, {**STREAM, "stream": False, "max_tokens": 100}))
        time.sleep(0.05)
        server.process.send_signal(signal.SIGTERM)
        connection.settimeout(11 * trial.settings.patience)
        raw = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(65536):
                raw += piece
    answers = http.parse(raw)
    expect(len(answers) == 1 and answers[0].status in (200, 503), f"got {process.shown(raw)}")
    answers[0].json()
    server.process.wait(11)


@case("stop/ready-file-gone", "The file that says where the server is goes with it.")
def ready_file_gone(trial):
    server = trial.own_server(is_watched=False)
    ended(trial, server)
    expect(not os.path.exists(server.ready), "the ready file is still there")


for moment in (0.0, 0.01, 0.03, 0.1, 0.3):

    @case(f"stop/while-starting-{int(1000 * moment)}ms", "A signal while the model is loaded ends it, too.")
    def while_starting(trial, moment=moment):
        ready = trial.path("ready")
        started = trial.start("serve", trial.pocket(), "--port", "0", "--ready-file", ready, stderr=subprocess.DEVNULL)
        time.sleep(moment)
        started.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        code = started.wait(11 * trial.settings.patience)
        expect(code in (0, 1, -signal.SIGTERM), f"expected an end in order, got {code}")
        expect(time.monotonic() - begin < trial.seconds, "too slow")


@case(
    "stop/new-requests-while-ending",
    "Who comes while it ends gets 503 or no connection, never half an answer.",
    **LIMITS,
)
def while_ending(trial):
    server = trial.own_server(("--parallel", "1"), is_watched=False)
    made = opened(server, http.post(CHAT, {**STREAM, "stream": False}), 1) + opened(server, b"", 3)
    server.process.send_signal(signal.SIGTERM)
    for connection in made[1:]:
        with contextlib.suppress(OSError):
            connection.sendall(http.request("GET", "/v1/models"))
            raw = connection.recv(65536)
            if raw:
                expect(http.parse(raw)[0].status in (200, 503), f"got {process.shown(raw)}")
    for connection in made:
        connection.close()
    server.process.wait(11 * trial.settings.patience)


@case("stop/stdin-idle", "The server on stdin ends while it waits for a line.")
def stdin_idle(trial):
    started = trial.start(
        "serve", trial.pocket(), "--stdin", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    started.stdout.readline()
    started.send_signal(signal.SIGTERM)
    code = started.wait(trial.seconds)
    started.stdin.close()
    started.stdout.close()
    expect(code in (0, 1), f"got {code}")


@case("stop/stdin-stalled", "It ends while nobody reads its answers.")
def stdin_stalled(trial):
    started = trial.start(
        "serve", trial.pocket(), "--stdin", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    os.write(started.stdin.fileno(), b"[]\n")
    # Before its first answer a signal would end it as it ends any program.
    expect(started.stdout.readline() != b"", "expected an answer, got none")
    os.set_blocking(started.stdin.fileno(), False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(started.stdin.fileno(), b"[]\n" * 10_000)
    time.sleep(0.5)
    started.send_signal(signal.SIGTERM)
    code = started.wait(11 * trial.settings.patience)
    started.stdin.close()
    started.stdout.close()
    expect(code in (0, 1), f"got {code}")
