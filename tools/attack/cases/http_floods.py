# SPDX-License-Identifier: Apache-2.0
"""Floods of new connections, and what requests that are large leave in memory."""

import contextlib
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from lib import http, process
from lib.case import Slow, case, expect

FLOOD = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib", "flood.py")
HEALTH = http.request("GET", "/health")
CHAT = "/v1/chat/completions"


@contextlib.contextmanager
def flooded(server, kept, patience, seconds=2.0):
    with subprocess.Popen(
        [sys.executable, "-B", FLOOD, server.address[0], str(server.address[1]), str(seconds), str(kept)],
        stdout=subprocess.PIPE,
    ) as flood:
        time.sleep(0.3)
        try:
            yield
        finally:
            made = int(flood.stdout.read())
            # A program with sanitizers accepts them more slowly.
            expect(made > 2 * kept / patience, f"the flood made {made} connections only")


def outcome(ask):
    """The status of an answer, or what happened instead of one."""
    try:
        return ask()
    except (OSError, Slow) as error:
        return str(error)


for kept in (1, 256, 600):

    @case(
        f"http/slow/flood-of-new-{kept}",
        "Connections that are opened again and again, and are never old, keep nobody out.",
        on_server=True,
    )
    def flood_of_new(trial, kept=kept):
        server = trial.server()
        with flooded(server, kept, trial.settings.patience):
            # Each on a connection of its own; the monitor asks beside it, and looks at the time.
            told = [outcome(lambda: server.ask(HEALTH).status) for _ in range(30)]
            asked = [outcome(lambda: server.chat(max_tokens=1).status) for _ in range(10)]
        # A machine that stops one of the clients for too long takes its place from it.
        bad = [status for status in told + asked if status != 200]
        expect(len(bad) <= 2, f"expected answers, got {bad[:5]} and {len(bad)} like that")


@case(
    "http/body/answers-share-a-bound",
    "Answers with all the log-probabilities of all choices do not fill the memory.",
    on_server=True,
    bytes=400_000_000,
)
def answers_share_a_bound(trial):
    server = trial.own_server(("--parallel", "4", "--queue", "8", "--cache-memory", "50"))
    server.check_well()
    body = {
        "prompt": ["a b c d e f g h " * 25] * 64,
        "max_tokens": 60,
        "ignore_eos": True,
        "n": 2,
        "logprobs": 20,
        "echo": True,
    }
    with ThreadPoolExecutor(4) as pool:
        asked = [
            pool.submit(server.post, "/v1/completions", body, (), 12 * trial.settings.seconds) for _ in range(4)
        ]
        statuses = sorted(each.result().status for each in asked)
    expect(set(statuses) <= {200, 503}, f"expected 200 or 503, got {statuses}")
    peak = process.peak_bytes(server.pid)
    expect(peak < trial.bytes, f"took {peak / 1e6:.0f} MB")
    server.check_well()


@case(
    "http/body/memory-goes-back",
    "What large bodies took is not kept by the process.",
    on_server=True,
)
def memory_goes_back(trial):
    server = trial.own_server()
    server.check_well()
    before = process.heap_bytes(server.pid)
    message = {"role": "user", "content": "hi"}
    bodies = [
        json.dumps({"max_tokens": 2, "messages": [message] * 300_000}),
        '{"messages":[],"x":[' + "{}," * 4_000_000 + "{}]}",
    ]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda body: server.post(CHAT, body, seconds=6 * trial.settings.seconds), bodies * 2))
    end = time.monotonic() + trial.seconds
    kept = before
    while time.monotonic() < end:
        kept = process.heap_bytes(server.pid) - before
        if kept < 64_000_000 * trial.settings.memory:
            return
        time.sleep(0.1)
    expect(False, f"keeps {kept / 1e6:.0f} MB after {trial.seconds:.0f} s")
