# SPDX-License-Identifier: Apache-2.0
"""What lies where an output goes, and what signals and limits do in the middle of them."""

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
keeps(
    "foreign-manifest",
    FOREIGN,
    lambda trial: (
        trial.write("out/manifest.json", '{"name": "a web application"}'),
        trial.write("out/app.js", "mine"),
    ),
)
keeps(
    "foreign-manifest-two-words",
    FOREIGN,
    lambda trial: (trial.write("out/manifest.json", OURS), trial.write("out/letter.txt", "mine")),
)
keeps(
    "foreign-manifest-in-text",
    FOREIGN,
    lambda trial: (
        trial.write("out/manifest.json", 'see "format_version" and "producer"'),
        trial.write("out/letter.txt", "mine"),
    ),
)
keeps("foreign-partial-old", FOREIGN, lambda trial: trial.write("out.partial.old/letter.txt", "mine"), settled)
keeps("foreign-partial-old-empty", FOREIGN, lambda trial: os.mkdir(trial.path("out.partial.old")), settled)
keeps("foreign-partial-old-file", FOREIGN, lambda trial: trial.write("out.partial.old", "mine"), settled)
keeps("foreign-partial", FOREIGN, lambda trial: trial.write("out.partial/letter.txt", "mine"), settled)
keeps("foreign-partial-replaced", FOREIGN, lambda trial: trial.write("out.partial/replaced/letter.txt", "mine"))
keeps(
    "foreign-almost-temporary",
    FOREIGN,
    lambda trial: (
        answered(compile_to(trial, trial.path("out"))),
        trial.write("out/manifest.json.tmp.letter", "mine"),
    ),
)
keeps(
    "foreign-in-unfinished-package",
    FOREIGN,
    lambda trial: (
        trial.write("out.partial/compile.json", '{"fingerprint": "x", "pieces": {"a.mlpackage": []}}'),
        trial.write("out.partial/artifact/a.mlpackage/Data/letter.txt", "mine"),
    ),
)
keeps("foreign-partial-file", FOREIGN, lambda trial: trial.write("out.partial", "mine"), settled)
keeps(
    "foreign-partial-journal",
    FOREIGN,
    lambda trial: (
        trial.write("out.partial/letter.txt", "mine"),
        trial.write("out.partial/journal.json", "{}"),
        trial.write("out.partial/journal", "x"),
    ),
    settled,
)
keeps(
    "foreign-partial-artifact",
    FOREIGN,
    lambda trial: (trial.write("out.partial/letter.txt", "mine"), trial.write("out.partial/manifest.json", OURS)),
    settled,
)
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
keeps(
    "link-to-nothing",
    "A link is not written or deleted through.",
    lambda trial: os.symlink("target", trial.path("out")),
)
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
    both = [
        trial.start(
            "compile",
            checkpoint_of("tiny"),
            "-o",
            trial.path("out"),
            *flags,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for flags in ((), ("--quant", "none"))
    ]
    codes = [each.wait(4 * trial.seconds) for each in both]
    expect(0 in codes and all(code in (0, 2, 5, 6) for code in codes), f"got {codes}")
    answered(trial.run("doctor", trial.path("out")))
    expect(left(trial) == ["out"], f"left behind: {left(trial)}")


for name, path in {
    "root": "/",
    "proc": "/proc/x",
    "dev-null": "/dev/null",
    "nul-like": "",
    "dot": ".",
    "dots": "..",
    "long": "o" * 300,
    "checkpoint": None,
}.items():

    def odd_place(trial, path=path):
        folder = trial.copy(checkpoint_of("tiny"), "model")
        before = trial.tree("model")
        refused(trial.run("compile", folder, "-o", folder if path is None else path))
        expect(trial.tree("model") == before, "the checkpoint is not what it was")

    add(f"output/to-{name}", "A place where no artifact can be is refused; nothing is lost.", odd_place)


@case("output/half-discarded", "What a killed compile had half deleted never comes back.")
def half_discarded(trial):
    answered(compile_to(trial, trial.path("old")))
    trial.write("out.partial/compile.json", '{"fingerprint": "x", "pieces": {}}')
    os.rename(trial.path("old"), trial.path("out.partial", "discarded"))
    shutil.rmtree(trial.path("out.partial", "discarded", "head_0.mlpackage"))
    refused(compile_to(trial, trial.path("out"), limits={resource.RLIMIT_FSIZE: 1000}), 5)
    expect(not os.path.exists(trial.path("out")), "half an artifact")
    answered(compile_to(trial, trial.path("out")))
    expect(left(trial) == ["out"], f"left behind: {left(trial)}")


@case("output/read-only", "A folder that cannot be written to is said so, once.")
def read_only(trial):
    if os.getuid() == 0:
        raise Skip("root may write everywhere")
    os.mkdir(trial.path("locked"), 0o500)
    refused(compile_to(trial, trial.path("locked", "out")), 5)


for size in (0, 1000, 20_000, 100_000):

    @case(
        f"output/file-size-limit-{size}",
        "A limit on file sizes is an error of one write: no signal, nothing left over.",
    )
    def size_limit(trial, size=size):
        pocket = checkpoint_of("pocket")
        # The streams of the process are files, too, and stay below the limit.
        out = subprocess.run(
            [trial.settings.anemone, "compile", pocket, "-o", trial.path("out")],
            env=process.environment(trial.folder),
            cwd=trial.folder,
            capture_output=True,
            check=False,
            timeout=4 * trial.seconds,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        )
        done = process.Outcome([], out.returncode, out.stdout, out.stderr, 0, 0)
        refused(done, 5)
        expect(not os.path.exists(trial.path("out")), "half an artifact")
        expect(not any(name.startswith("out") for name in trial.names()), f"left behind: {trial.names()}")

    @case(f"output/predict-file-size-limit-{size}", "The same for every other file that is written.")
    def size_limit_logits(trial, size=size):
        tiny = trial.tiny()
        out = subprocess.run(
            [
                trial.settings.anemone,
                "run",
                tiny,
                "--prompt-ids",
                " ".join(["1"] * 40),
                "--max-new",
                "1",
                "--ignore-eos",
                "--logits-out",
                trial.path("l.safetensors"),
            ],
            env=process.environment(trial.folder),
            cwd=trial.folder,
            capture_output=True,
            check=False,
            timeout=4 * trial.seconds,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        )
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


for words in (
    ("inspect", "{tiny}"),
    ("run", "{tiny}", *IDS),
    ("--help",),
    ("tokenize", "--model", "{pocket}", "a b c"),
    ("compile", "{model}", "-o", "{out}", "--report"),
):

    @case(f"output/closed-stdout-{words[0].strip('-')}", "A reader that has gone is no crash and no trace.")
    def closed(trial, words=words):
        fill = {
            "tiny": trial.tiny(),
            "pocket": trial.pocket(),
            "model": checkpoint_of("tiny"),
            "out": trial.path("out"),
        }
        read, write = os.pipe()
        os.close(read)
        started = trial.start(*(word.format(**fill) for word in words), stdout=write, stderr=subprocess.PIPE)
        os.close(write)
        err = started.stderr.read()
        code = started.wait(2 * trial.seconds)
        started.stderr.close()
        expect(code in (0, 5), f"got {code}: {err}")

    @case(
        f"output/no-stdout-{words[0].strip('-')}", "Without a stdout, what is written next must not go to another file."
    )
    def none(trial, words=words):
        fill = {
            "tiny": trial.tiny(),
            "pocket": trial.pocket(),
            "model": checkpoint_of("tiny"),
            "out": trial.path("out"),
        }
        out = subprocess.run(
            [
                "/bin/sh",
                "-c",
                'exec "$@" >&- 2>&- <&-',
                "sh",
                trial.settings.anemone,
                *(word.format(**fill) for word in words),
            ],
            env=process.environment(trial.folder),
            check=False,
            timeout=4 * trial.seconds,
        )
        process.Outcome([], out.returncode, b"", b"", 0, 0).check_alive()
        if words[0] == "compile" and out.returncode == 0:
            answered(trial.run("doctor", trial.path("out")))


for moment in (0.0, 0.02, 0.05, 0.1, 0.2):

    @case(
        f"output/terminated-after-{int(1000 * moment)}ms", "SIGTERM in the middle of a compile: all of it or nothing."
    )
    def terminated(trial, moment=moment):
        started = trial.start(
            "compile",
            checkpoint_of("pocket"),
            "-o",
            trial.path("out"),
            "--quant",
            "lut6",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(moment)
        started.terminate()
        code = started.wait(trial.seconds)
        expect(code in (0, 1, -signal.SIGTERM), f"got {code}")
        if os.path.exists(trial.path("out")):
            answered(trial.run("doctor", trial.path("out")))
        answered(trial.run("compile", checkpoint_of("pocket"), "-o", trial.path("out"), "--resume"))
        answered(trial.run("doctor", trial.path("out")))
        expect(left(trial) == ["out"], f"left behind: {left(trial)}")
