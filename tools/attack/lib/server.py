# SPDX-License-Identifier: Apache-2.0
"""`anemone serve` under attack, with a monitor beside it that asks for /health all the time."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from . import http, process
from .case import Failure, Slow, expect

HEALTH_SECONDS = 0.1
STOP_SECONDS = 10.0
ASKED = {"messages": [{"role": "user", "content": "What is 17 + 25?"}], "max_tokens": 12, "temperature": 0}


class Monitor:
    """The polls of a server: (begin, seconds, the time of an echo between two idle processes, which the machine alone
    causes, whether it was well)."""

    def __init__(self, address):
        self.polls = []
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "monitor.py")
        self.process = subprocess.Popen(
            [sys.executable, "-B", script, address[0], str(address[1])], stdout=subprocess.PIPE, text=True
        )
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            begin, seconds, machine, is_well = line.split()
            self.polls.append((float(begin), float(seconds), float(machine), is_well == "1"))

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.thread.join()
        self.process.stdout.close()

    def check(self, since, limit):
        """One slow poll can be the machine's; two in a row, or one of ten times the limit, are the server's."""
        polls = [poll for poll in list(self.polls) if poll[0] + poll[1] >= since]
        slow_before = False
        for _, seconds, machine, is_well in polls:
            own = seconds - machine
            expect(is_well or own < limit, f"/health gave no answer after {seconds:.2f} s")
            is_slow = own > limit
            if is_slow and (slow_before or own > 10 * limit):
                raise Slow(f"/health answered after {1000 * seconds:.0f} ms")
            slow_before = is_slow
        return max((seconds for _, seconds, _, _ in polls), default=0.0)


class Server:
    """One server and its folder. For one case at a time."""

    def __init__(self, settings, flags=(), key=None, extra=None, host="127.0.0.1", is_watched=True, model=None):
        self.settings = settings
        self.folder = tempfile.mkdtemp(prefix="server-", dir=settings.folder)
        self.ready = os.path.join(self.folder, "ready")
        self.err_path = os.path.join(self.folder, "err")
        words = [
            settings.anemone,
            "serve",
            model or settings.pocket(),
            "--port",
            "0",
            "--host",
            host,
            "--ready-file",
            self.ready,
            *flags,
        ]
        with open(self.err_path, "wb") as err:
            self.process = process.start(words, self.folder, stderr=err, stdout=err, extra=extra)
        self.key = key
        self.monitor = None
        self.address = self.wait_until_ready()
        self.quiet = None
        if is_watched:
            self.monitor = Monitor(self.address)
        self.worst_health = 0.0

    def wait_until_ready(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                with open(self.ready, encoding="ascii") as file:
                    text = file.read()
                if text.endswith("\n"):
                    return ("127.0.0.1", int(text.rsplit(":", 1)[1]))
            except OSError:
                pass
            if self.process.poll() is not None:
                raise Failure(f"the server did not start: {process.shown(self.err())}")
            time.sleep(0.01)
        self.process.kill()
        raise Slow("the server was not ready after a minute")

    def err(self):
        with open(self.err_path, "rb") as file:
            return file.read(1_000_000)

    @property
    def pid(self):
        return self.process.pid

    def is_running(self):
        return self.process.poll() is None

    def headers(self):
        return [("Authorization", f"Bearer {self.key}")] if self.key else []

    def talk(self, raw, seconds=None, **more):
        """http.talk() in time: Slow beyond `seconds`, not counting the longest time that a thread of the server waited for
        a processor."""
        limit = seconds or self.settings.seconds
        before = process.machine_waits(self.pid)
        begin = time.monotonic()
        answers = http.talk(self.address, raw, limit, **more)
        took = time.monotonic() - begin - process.machine_wait(before, process.machine_waits(self.pid))
        if took > limit:
            raise Slow(f"expected an answer within {limit:.0f} s, took {took:.1f} s")
        return answers

    def ask(self, raw, seconds=None):
        """The answer to one request; one of status 0 when the connection ended without any."""
        answers = self.talk(raw, seconds)
        return answers[0] if answers else http.Answer(0, [], b"")

    def post(self, path, body, headers=(), seconds=None):
        return self.ask(http.post(path, body, [*self.headers(), *headers]), seconds)

    def chat(self, seconds=None, **fields):
        return self.post("/v1/chat/completions", {**ASKED, **fields}, seconds=seconds)

    def health(self):
        answer = self.ask(http.request("GET", "/health"))
        expect(answer.status == 200, f"expected /health to be well, got {answer}")
        return answer.json()

    def check_well(self):
        """It runs, and gives the answer of the first check: a case with a server of its own calls this before its
        attack, so that it is the answer of a quiet server."""
        self.check_alive()
        begin = time.monotonic()
        while True:
            answer = self.chat()
            if answer.status not in (429, 503) or time.monotonic() > begin + self.settings.seconds:
                break
            time.sleep(0.05)  # what the case left is still ending
        expect(answer.status == 200, f"the server no longer answers: {answer.status} {process.shown(answer.body)}")
        text = answer.json()["choices"][0]["message"]["content"]
        self.quiet = self.quiet or text
        expect(text == self.quiet, f"expected the answer of a quiet server {self.quiet!r}, got {text!r}")

    def check_alive(self):
        if self.process.poll() is None:
            return
        process.Outcome([], self.process.returncode, b"", self.err(), 0, 0).check_alive()
        raise Failure(f"the server ended with {self.process.returncode}: {process.shown(self.err())}")

    def wait_until_idle(self, seconds=5.0):
        end = time.monotonic() + seconds * self.settings.patience
        while time.monotonic() < end:
            health = self.health()
            if all(not value for key, value in health.items() if key in ("running", "waiting")):
                return
            time.sleep(0.02)
        raise Failure(f"expected no request to run or wait any more, got {json.dumps(health)}")

    def check_health(self, since):
        if self.monitor is None:
            return
        time.sleep(0.05)
        self.worst_health = max(self.worst_health, self.monitor.check(since, HEALTH_SECONDS * self.settings.patience))

    def stop(self, number=signal.SIGTERM, codes=(0, 1)):
        """Ends it in order; Failure when that takes more than its ten seconds. Returns how long it took. Code 1 is for
        requests that were cut off, and a line says so."""
        if self.monitor is not None:
            self.monitor.stop()
            self.monitor = None
        self.process.send_signal(number)
        code, took, _ = process.watch(self.process, 3 * STOP_SECONDS * self.settings.patience, 1 << 40)
        process.Outcome([], code, b"", self.err(), took, 0).check_alive()
        expect(code in codes, f"expected the exit code {codes} after a signal, got {code}: {process.shown(self.err())}")
        was_cut = b"anemone: cut off " in self.err()
        expect(was_cut == (code == 1), f"expected code 1 and its line, or neither, got {code}: {self.err()[-200:]}")
        # Half a second for what comes after the grace of ten.
        expect(
            took < (STOP_SECONDS + 0.5) * self.settings.patience, f"ended {took:.1f} s after a signal, not within 10"
        )
        return took

    def discard(self):
        if self.monitor is not None:
            self.monitor.stop()
            self.monitor = None
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
