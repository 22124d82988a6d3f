# SPDX-License-Identifier: Apache-2.0
"""The cache of compiled checkpoints, and files that change while they are in use."""

import os
import random
import subprocess
import time

from lib import http, process
from lib.case import Skip, case, expect
from lib.process import answered, refused, settled
from lib.trial import checkpoint_of

IDS = ("--prompt-ids", "1 2 3", "--max-new", "4", "--ignore-eos", "--greedy")


@case("mapped/cut-while-serving", "A model file that shrinks ends one request or none, not the server.")
def cut_while_serving(trial):
    folder = trial.copy(trial.pocket(), "pocket")
    server = trial.own_server(("--parallel", "2"), model=folder)
    server.check_well()
    for path, _, files in os.walk(folder):
        for file in files:
            if file.endswith((".bin", ".json", ".mlmodel")):
                os.truncate(os.path.join(path, file), 10)
    for _ in range(3):
        answer = server.chat()
        expect(answer.status in (200, 500, 503), f"got {answer.status}")
        server.check_alive()
    health = server.ask(http.request("GET", "/health"))
    expect(health.status == 503 and b"cut short" in health.body, f"/health says {health.status}: {health.body}")
    server.stop()


for file in ("weight.bin", "model.mlmodel"):

    @case(f"mapped/cut-while-running-{file}", "A file that shrinks while it is read is an error, not a signal.")
    def cut_while_running(trial, file=file):
        folder = trial.copy(trial.pocket(), "pocket")
        started = trial.start(
            "run",
            folder,
            "--raw",
            "What",
            "--max-new",
            "400",
            "--ignore-eos",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.stdout.read(3)
        for path, _, files in os.walk(folder):
            if file in files:
                os.truncate(os.path.join(path, file), 10)
        _, err = started.communicate(timeout=4 * trial.seconds)
        process.Outcome([], started.returncode, b"", err, 0, 0).check_alive()
        expect(started.returncode in (0, 3, 5), f"got {started.returncode}")


@case("mapped/cut-while-compiling", "A checkpoint that shrinks while it is compiled is an error, not a signal.")
def cut_while_compiling(trial):
    folder = trial.copy(checkpoint_of("pocket"), "model")
    started = trial.start(
        "compile", folder, "-o", trial.path("out"), "--quant", "lut4", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    time.sleep(0.05)
    os.truncate(os.path.join(folder, "model.safetensors"), 30_000)
    _, err = started.communicate(timeout=4 * trial.seconds)
    process.Outcome([], started.returncode, b"", err, 0, 0).check_alive()
    expect(started.returncode in (0, 3, 5), f"got {started.returncode}")


def swap_rows(path):
    """Other weights of the same size: the last two thousand bytes change places."""
    with open(path, "r+b") as file:
        file.seek(-2000, os.SEEK_END)
        tail = file.read()
        file.seek(-2000, os.SEEK_END)
        file.write(tail[1000:] + tail[:1000])


def answer_of(trial, folder, **more):
    return answered(trial.run("run", folder, *IDS, **more)).out


@case("cache/equal-times", "Two checkpoints with the same names, sizes and times are two models.")
def equal_times(trial):
    one = trial.copy(checkpoint_of("tiny"), "a/model")
    two = trial.copy(checkpoint_of("tiny"), "b/model")
    swap_rows(os.path.join(two, "model.safetensors"))
    for folder in (one, two):
        for file in os.listdir(folder):
            os.utime(os.path.join(folder, file), (1_000_000_000, 1_000_000_000))
    fresh = answered(
        trial.run(
            "run", two, *IDS, "--logits-out", trial.path("fresh"), extra={"ANEMONE_CACHE": trial.path("fresh-cache")}
        )
    )
    answered(trial.run("run", one, *IDS, "--logits-out", trial.path("one")))
    cached = answered(trial.run("run", two, *IDS, "--logits-out", trial.path("two")))
    expect(trial.read("fresh") != trial.read("one"), "the case itself: both models are alike")
    expect(
        (fresh.out, trial.read("fresh")) == (cached.out, trial.read("two")),
        "the second model answered with the weights of the first",
    )


@case("cache/changed-in-place", "A checkpoint that changes under its old time is another model.")
def changed_in_place(trial):
    folder = trial.copy(checkpoint_of("tiny"), "model")
    path = os.path.join(folder, "model.safetensors")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    answered(trial.run("run", folder, *IDS, "--logits-out", trial.path("one")))
    swap_rows(path)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    answered(trial.run("run", folder, *IDS, "--logits-out", trial.path("two")))
    expect(trial.read("one") != trial.read("two"), "answered with the old weights")


def flip_middle(path):
    with open(path, "r+b") as file:
        content = bytearray(file.read())
        for i in range(len(content) // 2, min(len(content), len(content) // 2 + 400)):
            content[i] ^= 0x55
        file.seek(0)
        file.write(content)


def cached(trial, name):
    """All files of this name in the cache."""
    return [os.path.join(folder, name) for folder, _, files in os.walk(trial.path("cache")) if name in files]


for file, change in (
    ("weight.bin", "byte"),
    ("weight.bin", "cut"),
    ("model.mlmodel", "byte"),
    ("manifest.json", "cut"),
    ("manifest.json", "gone"),
    ("weight.bin", "gone"),
):

    @case(
        f"cache/damaged-{file}-{change}",
        "A damaged entry of the cache is made again, or refused: never an answer of other tokens.",
    )
    def damaged(trial, file=file, change=change):
        folder = checkpoint_of("pocket")
        answered(trial.run("run", folder, *IDS, "--logits-out", trial.path("one")))
        places = cached(trial, file)
        expect(places, f"the case itself: no {file} in the cache")
        for place in places:
            if change == "gone":
                os.remove(place)
            elif change == "cut":
                os.truncate(place, os.path.getsize(place) // 2)
            else:
                flip_middle(place)
        done = settled(trial.run("run", folder, *IDS, "--logits-out", trial.path("two")))
        expect(done.code != 0 or trial.read("one") == trial.read("two"), "other logits from a damaged entry")


@case("cache/damaged-manifest.json-number", "A manifest with another number in it gives no other tokens.")
def damaged_number(trial):
    folder = checkpoint_of("pocket")
    answered(trial.run("run", folder, *IDS, "--logits-out", trial.path("one")))
    (place,) = cached(trial, "manifest.json")
    with open(place, "r+b") as file:
        text = file.read()
        expect(b"0.56234133" in text, "the case itself: no such number")
        file.seek(text.index(b"0.56234133") + 2)
        file.write(b"1")
    done = settled(trial.run("run", folder, *IDS, "--logits-out", trial.path("two")))
    expect(done.code != 0 or trial.read("one") == trial.read("two"), "other logits from a damaged entry")


@case(
    "cache/folders-exchanged",
    "Two checkpoints that change places while they are read do not answer for each other.",
    seconds=60,
    why="twelve first runs of three models each",
)
def folders_exchanged(trial):
    one = trial.copy(checkpoint_of("tiny"), "a/model")
    two = trial.copy(checkpoint_of("tiny"), "b/model")
    swap_rows(os.path.join(two, "model.safetensors"))
    paths = [trial.path("a"), trial.path("b")]

    def logits(folder, cache):
        done = settled(
            trial.run(
                "run", folder, *IDS, "--logits-out", trial.path("logits"), extra={"ANEMONE_CACHE": trial.path(cache)}
            )
        )
        return trial.read("logits") if done.code == 0 else None

    wanted = [logits(one, "fresh-a"), logits(two, "fresh-b")]
    expect(None not in wanted and wanted[0] != wanted[1], "the case itself: both models are alike")
    draw = random.Random(1)
    for round in range(12):
        started = trial.start(
            "run",
            one,
            *IDS,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            extra={"ANEMONE_CACHE": trial.path(f"cache{round}")},
        )
        swaps = 0
        while started.poll() is None:
            exchange(*paths, trial.path("aside"))
            swaps += 1
            time.sleep(draw.random() * 0.01)
        if swaps % 2:
            exchange(*paths, trial.path("aside"))
        got = [logits(one, f"cache{round}"), logits(two, f"cache{round}")]
        expect(got == wanted, "answered with the other's weights")


def exchange(a, b, aside):
    os.rename(a, aside)
    os.rename(b, a)
    os.rename(aside, b)


@case("cache/first-runs-at-once", "Four first runs of one checkpoint at once give one answer and one entry.")
def first_runs(trial):
    running = [
        trial.start("run", checkpoint_of("tiny"), *IDS, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    ends = [each.communicate(timeout=8 * trial.seconds) for each in running]
    expect(
        [each.returncode for each in running] == [0] * 4,
        f"got {[(each.returncode, end[1]) for each, end in zip(running, ends)]}",
    )
    expect(len({end[0] for end in ends}) == 1, "different answers")
    expect(len(cached(trial, "manifest.json")) == 1, f"expected one entry, got {cached(trial, 'manifest.json')}")


@case("cache/killed-first-run", "A first run that was killed leaves nothing that counts.")
def killed_first_run(trial):
    wanted = answer_of(trial, checkpoint_of("pocket"), extra={"ANEMONE_CACHE": trial.path("other")})
    for moment in (0.02, 0.06, 0.12, 0.2):
        started = trial.start(
            "run", checkpoint_of("pocket"), *IDS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(moment)
        started.kill()
        started.wait()
    expect(answer_of(trial, checkpoint_of("pocket")) == wanted, "another answer than from a new cache")


for kind in ("file", "link", "read-only", "pipe"):

    @case(f"cache/folder-is-{kind}", "A cache that is no folder of ours is said so.")
    def cache_is(trial, kind=kind):
        if kind == "read-only" and os.getuid() == 0:
            raise Skip("root may write everywhere")
        place = trial.path("cache")
        if kind == "file":
            trial.write("cache", "mine")
        elif kind == "pipe":
            os.mkfifo(place)
        elif kind == "link":
            os.symlink("/dev/null", place)
        else:
            os.mkdir(place, 0o500)
        refused(trial.run("run", checkpoint_of("tiny"), *IDS))
        expect(kind != "file" or trial.read("cache") == b"mine", "a file of the user is gone")
