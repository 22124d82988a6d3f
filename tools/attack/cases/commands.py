# SPDX-License-Identifier: Apache-2.0
"""The commands that read lines, show files, or take odd words on the command line."""

import json
import os
import signal
import subprocess
import time

from lib import formats, process
from lib.case import add, case, expect
from lib.mil import Program
from lib.process import answered, refused, settled, shown
from lib.tensors import X, numbers
from lib.trial import checkpoint_of

ASK = {"messages": [{"role": "user", "content": "hi"}]}


def lines(command, name, reason, line, good, flags):
    """A bad line is answered, and the good one after it as if it had been alone."""

    def body(trial):
        raw = line() if callable(line) else line
        raw = raw if isinstance(raw, bytes) else raw.encode()
        done = answered(trial.run(command, *flags(trial), stdin=raw + b"\n" + json.dumps(good).encode() + b"\n"))
        answers = [json.loads(each) for each in done.out.splitlines()]
        expect(len(answers) == raw.strip().count(b"\n") + (2 if raw.strip() else 1), f"got {len(answers)} answers")
        expect("error" not in answers[-1], f"the good line after it fails: {shown(str(answers[-1]))}")
        expect(not any((b < 32 and b != 10) or b == 127 for b in done.out), "control characters on the terminal")

    add(f"command/{command}-{name}", reason, body)


BAD = "A line that is no request is answered, and the next one is read."
ODD_LINES = {
    "not-json": "nonsense",
    "list": "[]",
    "null": "null",
    "deep": lambda: "[" * 1_000_000,
    "bad-utf8": b'{"text": "\xff"}',
    "nul": b"\0",
    "duplicate": '{"text": "a", "text": "b"}',
    "wrong-type": '{"text": 5, "messages": 5}',
    "empty-object": "{}",
    "controls": '{"text": 5, "\\u001b[2J": "\\u0007"}',
    "many-keys": lambda: "{" + ",".join(f'"k{i}":1' for i in range(200_000)) + "}",
}
for name, line in ODD_LINES.items():
    lines(
        "tokenize",
        name,
        BAD,
        line,
        {"text": "hello"},
        lambda trial: ("--model", checkpoint_of("pocket"), "--stdin-jsonl"),
    )
    lines("chat-template", name, BAD, line, ASK, lambda trial: ("--model", checkpoint_of("pocket"), "--stdin-jsonl"))


@case("command/chat-template-endless-line", "A line without an end is refused before it fills the memory.")
def endless_line(trial):
    done = answered(trial.run("chat-template", "--stdin-jsonl", stdin=b"a" * 70_000_000))
    lines = done.out.splitlines()
    expect(len(lines) == 1 and b"at most" in lines[0], f"expected one answer with the limit, got {shown(done.out)}")


@case("command/tokenize-blank-lines", "Blank lines without end cost their number.")
def blank_lines(trial):
    settled(trial.run("tokenize", "--model", checkpoint_of("pocket"), "--stdin-jsonl", stdin=b"\n" * 250_000))


@case("command/predict-serve", "Bad requests of `predict --serve` are answered, and the next one is read.")
def predict_serve(trial):
    program = Program()
    program.input("x", *X[:2])
    program.op("relu", {"x": "x"}, ("y", *X[:2]))
    program.output("y", *X[:2])
    package = program.write(trial.path("p.mlpackage"))
    inputs = trial.write("in", formats.safetensors({"x": ("F32", [2, 4], formats.floats(numbers(8, "fp32")))}))
    good = {"package": package, "inputs": inputs, "outputs": trial.path("out")}
    bad = [
        "nonsense", "[]", "{}", "[" * 500_000, '{"package": 5}', json.dumps({**good, "other": 1}),
        json.dumps({**good, "inputs": "/dev/zero"}), json.dumps({**good, "package": "/etc/passwd"}),
        json.dumps({**good, "outputs": "/nowhere/x"}), json.dumps({**good, "function": "\x1b[2J"}),
        json.dumps({**good, "state_in": "/dev/zero"}), json.dumps({**good, "package": "p\0q"}),
    ]  # fmt: skip
    text = "\n".join([*bad, json.dumps(good)]) + "\n"
    done = answered(trial.run("predict", "--serve", stdin=text))
    answers = [json.loads(each) for each in done.out.splitlines()]
    expect(len(answers) == len(bad) + 1, f"got {len(answers)} answers")
    expect([each["ok"] for each in answers] == [False] * len(bad) + [True], f"got {[each['ok'] for each in answers]}")


@case("command/predict-changed-package", "A package that is replaced between two requests is read again.")
def changed_package(trial):
    inputs = trial.write("in", formats.safetensors({"x": ("F32", [2, 4], formats.floats([-1.0] * 8))}))
    seen = []
    for kind in ("relu", "abs"):
        program = Program()
        program.input("x", *X[:2])
        program.op(kind, {"x": "x"}, ("y", *X[:2]))
        program.output("y", *X[:2])
        program.write(trial.path("p.mlpackage"))
        answered(trial.run("predict", trial.path("p.mlpackage"), "--inputs", inputs, "--outputs", trial.path("out")))
        seen.append(formats.split_safetensors(trial.read("out"))[1])
    expect(seen == [formats.floats([0.0] * 8), formats.floats([1.0] * 8)], f"got {seen}")


def show(name, reason, write, outcome=settled, words=("inspect", "{}")):
    def body(trial):
        file = write(trial)
        done = outcome(trial.run(*(word.format(file) for word in words)))
        expect(
            not any((b < 32 and b not in (9, 10)) or b == 127 for b in done.out), "control characters on the terminal"
        )

    add(f"command/{name}", reason, body)


def many_tensors(count):
    def write(trial):
        entries = (f'"t{i}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}' for i in range(count))
        return trial.write("x.safetensors", formats.with_header("{" + ",".join(entries) + "}"))

    return write


def many_metadata(trial):
    return trial.write("x.safetensors", formats.safetensors({}, {f"k{i}": "v" for i in range(200_000)}))


MANY = "What is many must cost its length, not its square."
show("inspect-tensors-200k", MANY, many_tensors(200_000))
show("inspect-tensors-200k-json", MANY, many_tensors(200_000), words=("inspect", "--json", "{}"))
show("inspect-metadata-200k", MANY, many_metadata, words=("inspect", "--json", "{}"))
show(
    "inspect-gguf-keys-100k-json",
    MANY,
    lambda trial: trial.write(
        "x.gguf", formats.tiny_gguf(more=lambda g: [g.u32(f"k{i}", i) for i in range(100_000)]).bytes()
    ),
    words=("inspect", "--json", "{}"),
)
show("inspect-folder-of-files", "A folder with many files is no model.", lambda trial: many_files(trial))
for kind in ("/dev/zero", "/dev/tty", "/etc/passwd", "/nothing", "/"):
    for command in (
        ("inspect", "{}"),
        ("run", "{}", "x"),
        ("doctor", "{}"),
        ("compile", "{}", "-o", "out"),
        ("verify", "{}"),
        ("serve", "{}", "--port", "0"),
        ("tokenize", "--model", "{}", "x"),
        ("chat-template", "--template", "{}"),
        ("export", "{}", "-o", "out"),
    ):
        label = kind.strip("/").replace("/", "-") or "root"

        def odd_model(trial, kind=kind, command=command):
            done = trial.run(*(word.format(kind) for word in command), stdin=b"[]").check_alive()
            expect(done.code != 0 or kind == "/etc/passwd", f"content with {kind}")
            expect(b"root:" not in done.err, "the content of another file shows")
            expect(not os.path.exists(trial.path("out")), "an output of a command that failed")

        add(f"command/{command[0]}-of-{label}", "In the place of a model there may be anything.", odd_model)


def many_files(trial):
    for i in range(5000):
        trial.write(f"many/f{i}.safetensors", b"x")
    return trial.path("many")


for name, words in {
    "ids-million": ("run", "{tiny}", "--prompt-ids", "@{ids}", "--max-new", "1"),
    "context-huge": ("compile", "{model}", "-o", "out", "--context", "16777216", "--dry-run"),
    "threads-huge": ("--threads", "1024", "run", "{tiny}", "--prompt-ids", "1", "--max-new", "1"),
    "stop-long": ("run", "{tiny}", "--prompt-ids", "1", "--max-new", "2", "--stop", "s" * 100_000),
    "bias-nan": ("run", "{tiny}", "--prompt-ids", "1", "--max-new", "2", "--logit-bias", "1=nan"),
    "temperature-nan": ("run", "{tiny}", "--prompt-ids", "1", "--max-new", "2", "--temperature", "nan"),
    "temperature-infinite": ("run", "{tiny}", "--prompt-ids", "1", "--max-new", "2", "--temperature", "inf"),
    "penalty-nan": ("run", "{tiny}", "--prompt-ids", "1", "--max-new", "2", "--repetition-penalty", "nan"),
    "controls": ("run", "\x1b[2J\r\n\x07"),
    "long": ("run", "m" * 100_000),
    "not-utf8": ("run", b"\xff\xfe".decode("utf-8", "surrogateescape")),
}.items():

    def odd_words(trial, words=words):
        ids = trial.write("ids", "1 " * 1_000_000)
        fill = {"tiny": trial.tiny(), "model": checkpoint_of("tiny"), "ids": ids}
        settled(trial.run(*(word.format(**fill) if "{" in word else word for word in words)))

    add(f"command/words-{name}", "Words at the end of their ranges are an answer, or one line.", odd_words)


@case("command/chat-endless-line", "A turn of a chat without an end is bounded.")
def endless_line(trial):
    settled(trial.run("run", trial.pocket(), stdin=b"a" * 20_000_000))


@case("command/chat-binary", "A chat of bytes is a chat, or one line.")
def binary_chat(trial):
    done = trial.run("run", trial.pocket(), "--max-new", "4", stdin=bytes(range(256)) * 10).check_alive()
    expect(b"\x1b" not in done.err, "control characters in an error")


@case("command/interrupt-answer", "SIGINT in the middle of an answer ends it in order.")
def interrupt_answer(trial):
    started = trial.start(
        "run", trial.pocket(), "--raw", "a", "--max-new", "400", "--ignore-eos", stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    started.stdout.read(1)
    started.send_signal(signal.SIGINT)
    begin = time.monotonic()
    _, err = started.communicate(timeout=2 * trial.seconds)
    expect(started.returncode in (0, 1, 130, -signal.SIGINT), f"got {started.returncode}: {err}")
    expect(time.monotonic() - begin < trial.seconds, "too slow")


def shell(trial, script, *words):
    """The program as $0 of a script, with its words as "$@"."""
    done = subprocess.run(
        ["/bin/sh", "-c", script, trial.settings.anemone, *words],
        env=process.environment(trial.folder),
        cwd=trial.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=trial.seconds,
    )
    return process.Outcome([], done.returncode, done.stdout, done.stderr, 0, 0)


for name, words in {
    "inspect": ("inspect", "x"),
    "check": ("check", "x"),
    "export": ("export", "{model}", "-o", "x"),
    "compile": ("compile", "{model}", "-o", "x"),
    "logits": ("run", "{tiny}", "--prompt-ids", "1", "--max-new", "1", "--logits-out", "l"),
    "plot": ("bench", "{tiny}", "--plot", "p.svg"),
    "verify": ("verify", "{tiny}", "--against", "x"),
    "ready-file": ("serve", "{pocket}", "--port", "0", "--ready-file", "r"),
}.items():

    @case(f"command/removed-working-folder-{name}", "A working folder that is gone is one error.")
    def removed_working_folder(trial, words=words):
        os.mkdir(trial.path("gone"))
        fill = {"tiny": trial.tiny(), "pocket": trial.pocket(), "model": checkpoint_of("tiny")}
        script = 'cd gone && rmdir "$PWD" && exec "$0" "$@"'
        refused(shell(trial, script, *(word.format(**fill) for word in words)))


for name, words in {
    "key-file": ("serve", "{pocket}", "--port", "0", "--api-key-file", ""),
    "key": ("serve", "{pocket}", "--port", "0", "--api-key", ""),
    "socket": ("serve", "{pocket}", "--socket", ""),
    "host": ("serve", "{pocket}", "--port", "0", "--host", ""),
    "port": ("serve", "{pocket}", "--port", ""),
    "ready-file": ("serve", "{pocket}", "--port", "0", "--ready-file", ""),
    "cors": ("serve", "{pocket}", "--port", "0", "--cors", ""),
    "template-file": ("serve", "{pocket}", "--port", "0", "--chat-template-file", ""),
    "logits-out": ("run", "{tiny}", "--prompt-ids", "1", "--max-new", "1", "--logits-out", ""),
    "plot": ("bench", "{tiny}", "--plot", ""),
    "isa": ("run", "{tiny}", "--prompt-ids", "1", "--max-new", "1", "--isa", ""),
    "function": ("predict", "x", "--inputs", "x", "--outputs", "x", "--function", ""),
    "state-in": ("predict", "x", "--inputs", "x", "--outputs", "x", "--state-in", ""),
    "state-out": ("predict", "x", "--inputs", "x", "--outputs", "x", "--state-out", ""),
    "export": ("export", "{model}", "-o", ""),
    "against": ("verify", "{tiny}", "--against", ""),
}.items():

    @case(f"command/empty-{name}", "A flag whose variable was empty does not count as one that was not there.")
    def empty_flag(trial, words=words):
        fill = {"tiny": trial.tiny(), "pocket": trial.pocket(), "model": checkpoint_of("tiny")}
        done = refused(trial.run(*(word.format(**fill) for word in words)), 2)
        expect(b"got an empty one" in done.err or b"--" in done.err, f"got {shown(done.err)}")


for name, words in {
    "tokenize": ("tokenize", "--model", "{pocket}", "-"),
    "run": ("run", "{pocket}", "-", "--max-new", "1"),
    "chat": ("run", "{pocket}", "--max-new", "1"),
    "chat-template": ("chat-template", "--model", "{pocket}"),
    "lines": ("tokenize", "--model", "{pocket}", "--stdin-jsonl"),
    "predict": ("predict", "--serve"),
    "serve": ("serve", "{pocket}", "--stdin"),
}.items():

    @case(f"command/stdin-is-a-folder-{name}", "What cannot be read is not empty.")
    def folder_as_stdin(trial, words=words):
        script = 'exec "$0" "$@" < /'
        done = shell(trial, script, *(word.format(pocket=trial.pocket()) for word in words))
        expect(done.code == 5, f"got {done.code}: {shown(done.err)}")


for variable in ("ANEMONE_CACHE", "HF_HOME", "HOME", "HF_ENDPOINT", "HF_TOKEN", "ANEMONE_HUB_PAUSE_MS", "https_proxy"):
    for label, value in {"empty": "", "long": "v" * 50_000, "controls": "\x1b[2J\n", "relative": "../x"}.items():

        def odd_variable(trial, variable=variable, value=value):
            extra = {variable: value, "HF_HUB_OFFLINE": "1"}
            done = trial.run("run", "Owner/Model", "hi", extra=extra).check_alive()
            refused(done)
            if variable == "ANEMONE_CACHE":
                settled(trial.run("run", checkpoint_of("tiny"), "--prompt-ids", "1", "--max-new", "1", extra=extra))

        add(f"command/variable-{variable}-{label}", "A variable that nobody means is one line at most.", odd_variable)
