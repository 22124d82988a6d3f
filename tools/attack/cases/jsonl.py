# SPDX-License-Identifier: Apache-2.0
"""JSON lines on stdin and on a Unix socket."""

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import time

from lib import process
from lib.case import Slow, add, case, expect
from lib.process import answered, refused, shown

GOOD = {"prompt": "The capital of France", "max_new": 4, "temperature": 0}


def lines_of(outcome):
    answered(outcome)
    out = [json.loads(line) for line in outcome.out.splitlines()]
    expect(out and out[0].get("ready") is True, f"expected the ready line first, got {shown(outcome.out)}")
    return out[1:]


def refuse(name, reason, line, answers=1, ok=(False,)):
    """One bad line is answered, and the good one after it as if it had been alone."""

    def body(trial):
        raw = line() if callable(line) else line
        raw = raw if isinstance(raw, bytes) else raw.encode()
        good = json.dumps(GOOD).encode()
        done = trial.run("serve", trial.pocket(), "--stdin", stdin=raw + b"\n" + good + b"\n")
        out = lines_of(done)
        expect(
            not any((byte < 32 and byte != 10) or byte == 127 for byte in done.out),
            "control characters on the terminal",
        )
        expect(len(out) == answers + 1, f"expected {answers + 1} answers, got {len(out)}")
        for each in out[:answers]:
            expect(each.get("ok") in ok, f"expected ok: {ok}, got {shown(str(each))}")
            expect(len(str(each.get("error", ""))) < 2000, "a long error")
        expect(out[-1].get("ok") is True, f"the good line after it fails: {shown(str(out[-1]))}")
        expect(out[-1]["text"].startswith(" is Paris"), f"another answer than alone: {out[-1]['text']!r}")

    add(f"jsonl/line-{name}", reason, body)


BAD = "A line that is no request is answered, and the next one is read."
for name, line in {
    "not-json": "nonsense",
    "list": "[]",
    "null": "null",
    "number": "5",
    "deep": lambda: "[" * 1_000_000,
    "deep-object": lambda: '{"a":' * 500_000,
    "bad-utf8": b'{"prompt": "\xff"}',
    "nul": b"\0\0\0",
    "no-prompt": "{}",
    "two-prompts": '{"prompt": "a", "prompt_ids": [1]}',
    "prompt-number": '{"prompt": 5}',
    "prompt-empty": '{"prompt": ""}',
    "ids-empty": '{"prompt_ids": []}',
    "ids-negative": '{"prompt_ids": [-1]}',
    "ids-past": '{"prompt_ids": [1024]}',
    "ids-huge": '{"prompt_ids": [99999999999999999999]}',
    "ids-float": '{"prompt_ids": [1.5]}',
    "ids-text": '{"prompt_ids": ["a"]}',
    "ids-million": lambda: '{"prompt_ids": [' + "5," * 1_000_000 + "5]}",
    "ids-tokens-million": lambda: '{"tokens": [' + "5," * 1_000_000 + "5]}",
    "messages-number": '{"messages": 5}',
    "messages-empty": '{"messages": []}',
    "messages-400k": lambda: '{"messages": [' + ",".join('{"role":"user","content":""}' for _ in range(400_000)) + "]}",
    "max-new-negative": '{"prompt": "a", "max_new": -1}',
    "max-new-text": '{"prompt": "a", "max_new": "5"}',
    "max-new-float": '{"prompt": "a", "max_new": 1e300}',
    "temperature": '{"prompt": "a", "temperature": -1}',
    "temperature-nan": '{"prompt": "a", "temperature": NaN}',
    "top-p": '{"prompt": "a", "top_p": 2}',
    "rep-penalty": '{"prompt": "a", "rep_penalty": 0}',
    "seed": '{"prompt": "a", "seed": 1.5}',
    "stop": '{"prompt": "a", "stop": [5]}',
    "model": '{"prompt": "a", "model": "other"}',
    "prompt-long": lambda: '{"prompt": "' + "a b " * 3_000_000 + '"}',
    "prompt-one-word": lambda: '{"prompt": "' + "a" * 15_000_000 + '"}',
    "duplicate": '{"prompt": "a", "prompt": "b"}',
    "too-long": lambda: '{"prompt": "' + "a" * 17_000_000 + '"}',
    "too-long-blank": lambda: " " * 17_000_000 + "x",
    "control-names": '{"prompt": "a", "model": "\\u001b[2J\\u0007"}',
    "repeat-ngram": '{"prompt": "a", "stop_repeat_ngram": -1}',
    "reset-text": '{"prompt": "a", "reset": "no"}',
}.items():
    refuse(name, BAD, line, ok=(False, None) if "tokens" in name else (False,))
refuse("blank-million", "Lines of nothing cost nothing.", lambda: "\n" * 1_000_000, answers=0)
refuse("many-wrong", "Ten thousand wrong lines, ten thousand answers.", "{}\n" * 9_999 + "{}", answers=10_000)
refuse("stop-empty", "A stop string that is everywhere.", '{"prompt": "a", "stop": "", "max_new": 2}', ok=(True, False))
refuse(
    "reset-false-first",
    "Going on with a session that has nothing.",
    '{"prompt": "a", "reset": false, "max_new": 1}',
    ok=(True, False),
)
refuse(
    "max-new-huge",
    "More than the context holds ends at the context.",
    '{"prompt": "What is", "max_new": 9223372036854775807, "stop_repeat_ngram": 3}',
    ok=(True, False),
)


@case("jsonl/stdin-closed-stdout", "A reader that goes away ends the program, quietly.")
def closed_stdout(trial):
    started = trial.start(
        "serve", trial.pocket(), "--stdin", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    started.stdout.readline()
    started.stdout.close()
    with contextlib.suppress(OSError):
        for _ in range(5):
            started.stdin.write(json.dumps(GOOD).encode() + b"\n")
            started.stdin.flush()
            time.sleep(0.05)
    with contextlib.suppress(OSError):
        started.stdin.close()
    code = started.wait(trial.seconds)
    err = started.stderr.read()
    started.stderr.close()
    expect(code in (0, 5), f"expected a quiet end, got {code}: {shown(err)}")


@case("jsonl/stdin-no-last-line-end", "The last line need not have an end.")
def no_last_line_end(trial):
    out = lines_of(trial.run("serve", trial.pocket(), "--stdin", stdin=json.dumps(GOOD)))
    expect(len(out) == 1 and out[0]["ok"], f"got {out}")


class Socket:
    def __init__(self, trial, path=None):
        self.trial = trial
        self.path = path or trial.path("sock")
        self.process = trial.start(
            "serve", trial.pocket(), "--socket", self.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.first = self.process.stdout.readline()

    def connect(self):
        """Waits for a place in the queue of the socket, which is shorter than a case may be quick."""
        begin = time.monotonic()
        while True:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(2 * self.trial.seconds)
            try:
                connection.connect(self.path)
                return connection
            except BlockingIOError:
                connection.close()
                expect(time.monotonic() - begin < 2 * self.trial.seconds, "nobody accepts connections")
                time.sleep(0.01)

    def ask(self, connection, line=None):
        connection.sendall((line if line is not None else json.dumps(GOOD).encode()) + b"\n")
        raw = b""
        while not raw.endswith(b"\n"):
            piece = connection.recv(65536)
            if not piece:
                break
            raw += piece
        return json.loads(raw) if raw else None

    def check_well(self):
        expect(self.process.poll() is None, f"the server ended with {self.process.returncode}")
        with self.connect() as connection:
            answer = self.ask(connection)
            expect(answer and answer.get("ok") and answer["text"].startswith(" is Paris"), f"got {answer}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code, took, _ = process.watch(self.process, 30, 1 << 40)
        err = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        process.Outcome([], code, b"", err, took, 0).check_alive()
        expect(took < 10.5 * self.trial.settings.patience, f"ended {took:.1f} s after SIGTERM")
        return code


@case("socket/mode", "Only the owner may use the socket.")
def mode(trial):
    server = Socket(trial)
    expect(stat.S_IMODE(os.stat(server.path).st_mode) == 0o600, "expected mode 0600")
    server.check_well()
    server.stop()
    expect(not os.path.exists(server.path), "expected the socket to go with the server")


for kind in ("file", "folder", "link-to-file", "pipe", "link-to-nothing"):

    @case(f"socket/in-the-way-{kind}", "What lies at the path of the socket is the user's and stays.")
    def in_the_way(trial, kind=kind):
        path = trial.path("sock")
        if kind == "file":
            trial.write("sock", "mine")
        elif kind == "folder":
            os.mkdir(path)
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            if kind == "link-to-file":
                trial.write("target", "mine")
            os.symlink(trial.path("target"), path)
        before = os.lstat(path)
        refused(trial.run("serve", trial.pocket(), "--socket", path), 2, 5)
        after = os.lstat(path)
        expect((before.st_ino, before.st_mode) == (after.st_ino, after.st_mode), "what was there is no longer there")
        expect(kind != "link-to-nothing" or not os.path.exists(trial.path("target")), "a file appeared behind the link")


@case("socket/path-too-long", "A path that a socket cannot have is refused.")
def path_too_long(trial):
    refused(trial.run("serve", trial.pocket(), "--socket", trial.path("s" * 200)), 2, 5)


@case("socket/in-use", "A second server does not take the socket of one that runs.")
def in_use(trial):
    server = Socket(trial)
    refused(trial.run("serve", trial.pocket(), "--socket", server.path), 2, 5)
    server.check_well()
    server.stop()


@case("socket/left-over", "A socket that nobody answers on is replaced.")
def left_over(trial):
    old = socket.socket(socket.AF_UNIX)
    old.bind(trial.path("sock"))
    old.close()
    server = Socket(trial)
    server.check_well()
    server.stop()


@case("socket/two-at-once", "Two that start on a socket that was left over: one has it, the other says so.")
def two_at_once(trial):
    old = socket.socket(socket.AF_UNIX)
    old.bind(trial.path("sock"))
    old.close()
    both = [
        trial.start(
            "serve", trial.pocket(), "--socket", trial.path("sock"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        for _ in range(2)
    ]
    ready = [bool(each.stdout.readline()) for each in both]
    expect(any(ready), "neither has it")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(trial.seconds)
        connection.connect(trial.path("sock"))
        connection.sendall(json.dumps(GOOD).encode() + b"\n")
        expect(b"Paris" in connection.recv(65536), "no answer")
    expect(ready != [True, True], "both believe to have the socket")
    for each in both:
        each.stdout.close()


@case("socket/replaced-by-another", "At its end the server removes its own socket, not the file that took its place.")
def replaced(trial):
    server = Socket(trial)
    os.remove(server.path)
    trial.write("sock", "mine")
    server.stop()
    expect(trial.read("sock") == b"mine", "the file of somebody else is gone")


@case("socket/idle-connections", "Connections that say nothing do not keep the others out.")
def idle_connections(trial):
    server = Socket(trial)
    made = [server.connect() for _ in range(80)]
    begin = time.monotonic()
    is_well = False
    while not is_well and time.monotonic() - begin < trial.seconds:
        with contextlib.suppress(OSError, ValueError):
            with server.connect() as connection:
                connection.settimeout(1)
                is_well = bool((server.ask(connection) or {}).get("ok"))
    expect(is_well, f"80 idle connections kept a good one out for {trial.seconds:.0f} s")
    for connection in made:
        connection.close()
    server.stop()


@case("socket/half-lines", "Lines that never end do not keep the others out.")
def half_lines(trial):
    server = Socket(trial)
    made = [server.connect() for _ in range(30)]
    for connection in made:
        connection.sendall(b'{"prompt": "' + b"a" * 10_000)
    server.check_well()
    for connection in made:
        connection.close()
    server.check_well()
    server.stop()


@case("socket/large-half-lines", "Lines in flight share a bound: 40 times 15 MB are not kept.")
def large_half_lines(trial):
    server = Socket(trial)
    made = [server.connect() for _ in range(40)]
    for connection in made:
        connection.settimeout(0.5)
        with contextlib.suppress(OSError):
            for _ in range(15):
                connection.sendall(b"a" * 1_000_000)
    peak = process.peak_bytes(server.process.pid)
    expect(peak < 1_000_000_000 * trial.settings.memory, f"took {peak / 1e6:.0f} MB")
    for connection in made:
        connection.close()
    server.check_well()
    server.stop()


@case(
    "socket/stalled-reader",
    "A client that reads nothing does not hold up the end.",
    seconds=11,
    why="ten seconds are the grace of running requests",
)
def stalled_reader(trial):
    server = Socket(trial)
    connection = server.connect()
    connection.settimeout(0.5)
    with contextlib.suppress(OSError):
        while True:
            connection.sendall(b"[]\n" * 10_000)
    server.stop()
    connection.close()


@case("socket/leave-in-the-middle", "A client that leaves ends its request; the next one is answered as alone.")
def leave(trial):
    server = Socket(trial)
    for _ in range(20):
        connection = server.connect()
        connection.sendall(json.dumps({**GOOD, "max_new": 400, "ignore_eos": True}).encode() + b"\n")
        connection.close()
    begin = time.monotonic()
    server.check_well()
    if time.monotonic() - begin > trial.seconds:
        raise Slow(f"answered after {time.monotonic() - begin:.1f} s")
    server.stop()


@case("socket/sessions-apart", "What one connection said is not in the session of another.")
def sessions_apart(trial):
    server = Socket(trial)
    with server.connect() as one, server.connect() as two:
        server.ask(one)
        answer = server.ask(two, json.dumps({"prompt_ids": [5], "max_new": 1, "reset": False}).encode())
        expect(not answer.get("ok") or answer["cache_seq_len"] <= 2, f"went on with the tokens of another: {answer}")
    server.stop()
