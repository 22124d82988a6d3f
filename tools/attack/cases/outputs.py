# SPDX-License-Identifier: Apache-2.0
"""Outputs, the cache of compiled checkpoints, and what signals and limits do in the middle of them."""
import os
import resource
import shutil
import signal
import subprocess
import time

from lib import process
from lib.case import Skip, add, case, expect
from lib.process import answered, refused, settled
from lib.trial import checkpoint_of

IDS = ("--prompt-ids", "1 2 3", "--max-new", "4", "--ignore-eos", "--greedy")


def left(trial):
    """What lies in the folder of the case, but for what every command may make."""
    return [name for name in trial.names() if name not in ("cache", "home")]


def compile_to(trial, out, *flags, **more):
    return trial.run("compile", checkpoint_of("tiny"), "-o", out, *flags, **more)


def keeps(name, reason, prepare, outcome=refused, out="out", watched=".", flags=(), then=None):
    """What lay there before lies there afterwards, whatever compile says."""
    def body(trial):
        prepare(trial)
        before = trial.tree(watched)
        done = outcome(compile_to(trial, trial.path(out), *flags))
        after = trial.tree(watched)
        gone = [path for path, what in before.items() if path in after and after[path] != what or path not in after]
        expect(not gone, f"gone or changed: {gone[:5]} (exit code {done.code})")
        if done.code != 0:
            new = set(after) - set(before) - {"home"}
            expect(not new, f"left behind: {sorted(new)[:5]}")
        if then:
            then(trial)
    add(f"output/{name}", reason, body)


OURS = '{"format_version": 1, "producer": "anemone"}'
FOREIGN = "What is not in our own journal or manifest is the user's: it stays, and the error names it."
keeps("foreign-folder", FOREIGN, lambda trial: trial.write("out/letter.txt", "mine"))
keeps("foreign-manifest", FOREIGN, lambda trial: (trial.write("out/manifest.json", '{"name": "a web application"}'), trial.write("out/app.js", "mine")))
keeps("foreign-manifest-two-words", FOREIGN, lambda trial: (trial.write("out/manifest.json", OURS), trial.write("out/letter.txt", "mine")))
keeps("foreign-manifest-in-text", FOREIGN, lambda trial: (trial.write("out/manifest.json", 'see "format_version" and "producer"'), trial.write("out/letter.txt", "mine")))
keeps("foreign-partial-old", FOREIGN, lambda trial: trial.write("out.partial.old/letter.txt", "mine"), settled)
keeps("foreign-partial-old-empty", FOREIGN, lambda trial: os.mkdir(trial.path("out.partial.old")), settled)
keeps("foreign-partial-old-file", FOREIGN, lambda trial: trial.write("out.partial.old", "mine"), settled)
keeps("foreign-partial", FOREIGN, lambda trial: trial.write("out.partial/letter.txt", "mine"), settled)
keeps("foreign-partial-file", FOREIGN, lambda trial: trial.write("out.partial", "mine"), settled)
keeps("foreign-partial-journal", FOREIGN, lambda trial: (trial.write("out.partial/letter.txt", "mine"), trial.write("out.partial/journal.json", "{}"), trial.write("out.partial/journal", "x")), settled)
keeps("foreign-partial-artifact", FOREIGN, lambda trial: (trial.write("out.partial/letter.txt", "mine"), trial.write("out.partial/manifest.json", OURS)), settled)
keeps("foreign-old", FOREIGN, lambda trial: trial.write("out.old/letter.txt", "mine"), settled)
keeps("file-in-the-way", FOREIGN, lambda trial: trial.write("out", "mine"))
keeps("pipe-in-the-way", FOREIGN, lambda trial: os.mkfifo(trial.path("out")))
keeps("parent-is-a-file", FOREIGN, lambda trial: trial.write("folder", "mine"), out="folder/out")
for kind in ("empty", "artifact-like", "with-files"):
    def linked(trial, kind=kind):
        os.mkdir(trial.path("target"))
        if kind == "artifact-like":
            trial.write("target/manifest.json", OURS)
        if kind != "empty":
            trial.write("target/letter.txt", "mine")
        os.symlink("target", trial.path("out"))
    keeps(f"link-to-{kind}", "A link is not written or deleted through.", linked)
    def linked_partial(trial, kind=kind):
        linked(trial, kind)
        os.rename(trial.path("out"), trial.path("out.partial"))
    keeps(f"partial-link-to-{kind}", "A link is not written or deleted through.", linked_partial, settled)
    def linked_old(trial, kind=kind):
        linked(trial, kind)
        os.rename(trial.path("out"), trial.path("out.partial.old"))
    keeps(f"old-link-to-{kind}", "A link is not written or deleted through.", linked_old, settled)
keeps("link-to-nothing", "A link is not written or deleted through.", lambda trial: os.symlink("target", trial.path("out")))
keeps("link-to-itself", "A link is not written or deleted through.", lambda trial: os.symlink("out", trial.path("out")))


def artifact_with_letter(trial):
    answered(compile_to(trial, trial.path("out")))
    trial.write("out/letter.txt", "mine")


def letters(trial):
    expect(trial.read("out/letter.txt") == b"mine", "a file of the user is gone")


@case("output/file-of-the-user-in-artifact", FOREIGN)
def users_file(trial):
    artifact_with_letter(trial)
    done = settled(compile_to(trial, trial.path("out"), "--quant", "none"))
    expect(os.path.exists(trial.path("out", "letter.txt")), f"a file of the user is gone (exit code {done.code})")
    letters(trial)


@case("output/folder-of-the-user-in-artifact", FOREIGN)
def users_folder(trial):
    answered(compile_to(trial, trial.path("out")))
    trial.write("out/notes/letter.txt", "mine")
    settled(compile_to(trial, trial.path("out")))
    expect(os.path.exists(trial.path("out", "notes", "letter.txt")), "a folder of the user is gone")


@case("output/file-of-the-user-in-package", FOREIGN)
def users_file_in_package(trial):
    answered(compile_to(trial, trial.path("out")))
    trial.write("out/head_0.mlpackage/letter.txt", "mine")
    settled(compile_to(trial, trial.path("out")))
    expect(os.path.exists(trial.path("out", "head_0.mlpackage", "letter.txt")), "a file of the user is gone")


@case("output/link-in-artifact", "A link inside of an artifact is removed at most, what is behind it never.")
def link_in_artifact(trial):
    answered(compile_to(trial, trial.path("out")))
    trial.write("target/letter.txt", "mine")
    os.symlink(trial.path("target"), trial.path("out", "linked"))
    shutil.rmtree(trial.path("out", "head_0.mlpackage"))
    os.symlink(trial.path("target"), trial.path("out", "head_0.mlpackage"))
    settled(compile_to(trial, trial.path("out")))
    expect(trial.read("target/letter.txt") == b"mine", "a file behind a link is gone")


@case("output/again", "An artifact that is all ours is replaced.")
def again(trial):
    answered(compile_to(trial, trial.path("out")))
    answered(compile_to(trial, trial.path("out"), "--quant", "none"))
    expect(left(trial) == ["out"], f"left behind: {left(trial)}")


@case("output/two-at-once", "Two compiles to one place: one artifact, whole, and none left over.")
def two_at_once(trial):
    both = [trial.start("compile", checkpoint_of("tiny"), "-o", trial.path("out"), *flags, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for flags in ((), ("--quant", "none"))]
    codes = [each.wait(4 * trial.seconds) for each in both]
    expect(0 in codes and all(code in (0, 2, 5, 6) for code in codes), f"got {codes}")
    answered(trial.run("doctor", trial.path("out")))
    expect(left(trial) == ["out"], f"left behind: {left(trial)}")


for name, path in {"root": "/", "proc": "/proc/x", "dev-null": "/dev/null", "nul-like": "", "dot": ".", "dots": "..", "long": "o" * 300, "checkpoint": None}.items():
    def odd_place(trial, path=path):
        folder = trial.copy(checkpoint_of("tiny"), "model")
        before = trial.tree("model")
        refused(trial.run("compile", folder, "-o", folder if path is None else path))
        expect(trial.tree("model") == before, "the checkpoint is not what it was")
    add(f"output/to-{name}", "A place where no artifact can be is refused; nothing is lost.", odd_place)


@case("output/read-only", "A folder that cannot be written to is said so, once.")
def read_only(trial):
    if os.getuid() == 0:
        raise Skip("root may write everywhere")
    os.mkdir(trial.path("locked"), 0o500)
    refused(compile_to(trial, trial.path("locked", "out")), 5)


for size in (0, 1000, 20_000, 100_000):
    @case(f"output/file-size-limit-{size}", "A limit on file sizes is an error of one write: no signal, nothing left over.")
    def size_limit(trial, size=size):
        pocket = checkpoint_of("pocket")
        # The streams of the process are files, too, and stay below the limit.
        out = subprocess.run([trial.settings.anemone, "compile", pocket, "-o", trial.path("out")], env=process.environment(trial.folder), cwd=trial.folder, capture_output=True, check=False, timeout=4 * trial.seconds,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        done = process.Outcome([], out.returncode, out.stdout, out.stderr, 0, 0)
        refused(done, 5)
        expect(not os.path.exists(trial.path("out")), "half an artifact")
        expect(not any(name.startswith("out") for name in trial.names()), f"left behind: {trial.names()}")

    @case(f"output/predict-file-size-limit-{size}", "The same for every other file that is written.")
    def size_limit_logits(trial, size=size):
        tiny = trial.tiny()
        out = subprocess.run([trial.settings.anemone, "run", tiny, "--prompt-ids", " ".join(["1"] * 40), "--max-new", "1", "--ignore-eos", "--logits-out", trial.path("l.safetensors")], env=process.environment(trial.folder), cwd=trial.folder,
                             capture_output=True, check=False, timeout=4 * trial.seconds, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        process.Outcome([], out.returncode, out.stdout, out.stderr, 0, 0).check_alive()
        expect(out.returncode in (0, 5), f"got {out.returncode}")
        expect((out.returncode == 0) == os.path.exists(trial.path("l.safetensors")), "half a file")


@case("output/full-disk", "A disk that is full is an error, and nothing is left over.")
def full_disk(trial):
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full")
    with open("/dev/full", "wb") as full:
        started = trial.start("inspect", trial.tiny(), stdout=full, stderr=subprocess.PIPE)
        err = started.stderr.read()
        code = started.wait(trial.seconds)
        started.stderr.close()
    refused(process.Outcome([], code, b"", err, 0, 0), 5)


for words in (("inspect", "{tiny}"), ("run", "{tiny}", *IDS), ("--help",), ("tokenize", "--model", "{pocket}", "a b c"), ("compile", "{model}", "-o", "{out}", "--report")):
    @case(f"output/closed-stdout-{words[0].strip('-')}", "A reader that has gone is no crash and no trace.")
    def closed(trial, words=words):
        fill = {"tiny": trial.tiny(), "pocket": trial.pocket(), "model": checkpoint_of("tiny"), "out": trial.path("out")}
        read, write = os.pipe()
        os.close(read)
        started = trial.start(*(word.format(**fill) for word in words), stdout=write, stderr=subprocess.PIPE)
        os.close(write)
        err = started.stderr.read()
        code = started.wait(2 * trial.seconds)
        started.stderr.close()
        expect(code in (0, 5), f"got {code}: {err}")

    @case(f"output/no-stdout-{words[0].strip('-')}", "Without a stdout, what is written next must not go to another file.")
    def none(trial, words=words):
        fill = {"tiny": trial.tiny(), "pocket": trial.pocket(), "model": checkpoint_of("tiny"), "out": trial.path("out")}
        out = subprocess.run(["/bin/sh", "-c", 'exec "$@" >&- 2>&- <&-', "sh", trial.settings.anemone, *(word.format(**fill) for word in words)], env=process.environment(trial.folder), check=False, timeout=4 * trial.seconds)
        process.Outcome([], out.returncode, b"", b"", 0, 0).check_alive()
        if words[0] == "compile" and out.returncode == 0:
            answered(trial.run("doctor", trial.path("out")))


for moment in (0.0, 0.02, 0.05, 0.1, 0.2):
    @case(f"output/terminated-after-{int(1000 * moment)}ms", "SIGTERM in the middle of a compile: all of it or nothing.")
    def terminated(trial, moment=moment):
        started = trial.start("compile", checkpoint_of("pocket"), "-o", trial.path("out"), "--quant", "lut6", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moment)
        started.terminate()
        code = started.wait(trial.seconds)
        expect(code in (0, 1, -signal.SIGTERM), f"got {code}")
        if os.path.exists(trial.path("out")):
            answered(trial.run("doctor", trial.path("out")))
        answered(trial.run("compile", checkpoint_of("pocket"), "-o", trial.path("out"), "--resume"))
        answered(trial.run("doctor", trial.path("out")))
        expect(left(trial) == ["out"], f"left behind: {left(trial)}")


@case("mapped/cut-while-serving", "A model file that shrinks ends one request or none, not the server.")
def cut_while_serving(trial):
    folder = trial.copy(trial.pocket(), "pocket")
    from lib.server import Server
    settings = trial.settings
    original = settings.artifacts["pocket"]
    with settings.lock:
        settings.artifacts["pocket"] = folder
    try:
        server = Server(settings, ("--parallel", "2"))
    finally:
        with settings.lock:
            settings.artifacts["pocket"] = original
    trial.own.append(server)
    server.check_well()
    for path, _, files in os.walk(folder):
        for file in files:
            if file.endswith((".bin", ".json", ".mlmodel")):
                os.truncate(os.path.join(path, file), 10)
    for _ in range(3):
        answer = server.chat()
        expect(answer.status in (200, 500, 503), f"got {answer.status}")
        server.check_alive()
    server.health()
    server.stop()


for file in ("embedding.bin", "weight.bin", "model.mlmodel"):
    @case(f"mapped/cut-while-running-{file}", "A file that shrinks while it is read is an error, not a signal.")
    def cut_while_running(trial, file=file):
        folder = trial.copy(trial.pocket(), "pocket")
        started = trial.start("run", folder, "--raw", "What", "--max-new", "400", "--ignore-eos", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
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
    started = trial.start("compile", folder, "-o", trial.path("out"), "--quant", "lut4", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
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
    fresh = answered(trial.run("run", two, *IDS, "--logits-out", trial.path("fresh"), extra={"ANEMONE_CACHE": trial.path("fresh-cache")}))
    answered(trial.run("run", one, *IDS, "--logits-out", trial.path("one")))
    cached = answered(trial.run("run", two, *IDS, "--logits-out", trial.path("two")))
    expect(trial.read("fresh") != trial.read("one"), "the case itself: both models are alike")
    expect((fresh.out, trial.read("fresh")) == (cached.out, trial.read("two")), "the second model answered with the weights of the first")


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


def entries(trial):
    return [os.path.join(trial.path("cache"), name) for name in os.listdir(trial.path("cache")) if os.path.isdir(trial.path("cache", name))]


for file, change in (("embedding.bin", "byte"), ("embedding.bin", "cut"), ("weight.bin", "byte"), ("weight.bin", "cut"), ("model.mlmodel", "byte"), ("manifest.json", "cut"), ("manifest.json", "gone"), ("weight.bin", "gone")):
    @case(f"cache/damaged-{file}-{change}", "A damaged entry of the cache is made again, or refused: never an answer of other tokens.")
    def damaged(trial, file=file, change=change):
        folder = checkpoint_of("tiny")
        answered(trial.run("run", folder, *IDS, "--logits-out", trial.path("one")))
        for path, _, files in os.walk(entries(trial)[0]):
            if file not in files:
                continue
            place = os.path.join(path, file)
            if change == "gone":
                os.remove(place)
            elif change == "cut":
                os.truncate(place, os.path.getsize(place) // 2)
            else:
                with open(place, "r+b") as raw:
                    content = bytearray(raw.read())
                    for i in range(len(content) // 2, min(len(content), len(content) // 2 + 400)):
                        content[i] ^= 0x55
                    raw.seek(0)
                    raw.write(content)
        done = settled(trial.run("run", folder, *IDS, "--logits-out", trial.path("two")))
        expect(done.code != 0 or trial.read("one") == trial.read("two"), "other logits from a damaged entry")


@case("cache/first-runs-at-once", "Four first runs of one checkpoint at once give one answer and one entry.")
def first_runs(trial):
    running = [trial.start("run", checkpoint_of("tiny"), *IDS, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    ends = [each.communicate(timeout=8 * trial.seconds) for each in running]
    expect([each.returncode for each in running] == [0] * 4, f"got {[(each.returncode, end[1]) for each, end in zip(running, ends)]}")
    expect(len({end[0] for end in ends}) == 1, "different answers")
    expect(len(entries(trial)) == 1, f"expected one entry, got {os.listdir(trial.path('cache'))}")


@case("cache/killed-first-run", "A first run that was killed leaves nothing that counts.")
def killed_first_run(trial):
    wanted = answer_of(trial, checkpoint_of("pocket"), extra={"ANEMONE_CACHE": trial.path("other")})
    for moment in (0.02, 0.06, 0.12, 0.2):
        started = trial.start("run", checkpoint_of("pocket"), *IDS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
