# SPDX-License-Identifier: Apache-2.0
"""GGUF files, ONNX bundles and packages of other writers."""

import os
import shutil
import struct

from lib import formats, mil
from lib.case import add, expect
from lib.formats import tiny_gguf
from lib.process import answered, refused, settled
from lib.trial import ROOT

ONNX = os.path.join(ROOT, "tests", "checkpoint", "data", "onnx")


def gguf(name, reason, make, outcome=refused):
    def body(trial):
        file = trial.write("model.gguf", make() if callable(make) else make)
        done = trial.run("compile", file, "-o", trial.path("out"))
        outcome(done)
        shown = settled(trial.run("inspect", file))
        expect(
            not any((byte < 32 and byte != 10) or byte == 127 for byte in shown.out),
            "control characters on the terminal",
        )
        if done.code == 0:
            settled(trial.run("run", trial.path("out"), "--prompt-ids", "1 2", "--max-new", "2", "--ignore-eos"))
        else:
            expect(trial.names() == ["home", "model.gguf"], f"left behind: {trial.names()}")

    add(f"gguf/{name}", reason, body)


GOOD = tiny_gguf().bytes()
gguf("good", "A good file compiles, or the other cases show nothing.", GOOD, answered)
for size in (0, 3, 4, 8, 23, 24, 100, 500, 1000, 3000, len(GOOD) - 1):
    gguf(f"cut-{size}", "A file that ends early is refused, wherever it ends.", GOOD[:size])
COUNT = "Counts and lengths are compared with the file before anything is allocated."
for name, make in {
    "version": lambda: GOOD[:4] + struct.pack("<I", 99) + GOOD[8:],
    "version-big-endian": lambda: GOOD[:4] + struct.pack(">I", 3) + GOOD[8:],
    "tensors-most": lambda: tiny_gguf().bytes(tensor_count=2**64 - 1),
    "values-most": lambda: tiny_gguf().bytes(value_count=2**64 - 1),
    "tensors-2-60": lambda: tiny_gguf().bytes(tensor_count=2**60),
    "values-2-32": lambda: tiny_gguf().bytes(value_count=2**32),
    "key-length": lambda: b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + struct.pack("<Q", 2**63),
    "text-length": lambda: tiny_gguf(more=lambda g: g.raw("a", 8, struct.pack("<Q", 2**60))).bytes(),
    "array-length": lambda: tiny_gguf(more=lambda g: g.raw("a", 9, struct.pack("<IQ", 4, 2**62))).bytes(),
    "array-of-arrays": lambda: tiny_gguf(more=lambda g: g.raw("a", 9, struct.pack("<IQ", 9, 1) * 100_000)).bytes(),
    "array-of-texts": lambda: tiny_gguf(more=lambda g: g.raw("a", 9, struct.pack("<IQ", 8, 2**40))).bytes(),
    "array-of-nothing": lambda: tiny_gguf(more=lambda g: g.raw("a", 9, struct.pack("<IQ", 99, 4))).bytes(),
    "value-kind": lambda: tiny_gguf(more=lambda g: g.raw("a", 77, b"x")).bytes(),
    "dims-most": lambda: tiny_gguf(more=lambda g: g.tensor("x", [2**63, 2**63], 0, b"")).bytes(),
    "dims-wrap": lambda: tiny_gguf(more=lambda g: g.tensor("x", [2**32, 2**32], 0, b"")).bytes(),
    "dims-many": lambda: tiny_gguf(more=lambda g: g.tensor("x", [1] * 1000, 0, b"")).bytes(),
    "dims-zero": lambda: tiny_gguf(more=lambda g: g.tensor("x", [0, 2**62], 0, b"")).bytes(),
    "offset-most": lambda: tiny_gguf(more=lambda g: g.tensor("x", [4], 0, b"", offset=2**64 - 32)).bytes(),
    "offset-odd": lambda: tiny_gguf(more=lambda g: g.tensor("x", [4], 0, b"\0" * 16, offset=1)).bytes(),
    "kind-unknown": lambda: tiny_gguf(more=lambda g: g.tensor("x", [4], 999, b"\0" * 16)).bytes(),
    "kind-removed": lambda: tiny_gguf(more=lambda g: g.tensor("x", [32], 4, b"\0" * 18)).bytes(),
    "alignment-zero": lambda: tiny_gguf(more=lambda g: g.u32("general.alignment", 0)).bytes(),
    "alignment-huge": lambda: tiny_gguf(more=lambda g: g.u32("general.alignment", 2**31)).bytes(),
    "alignment-odd": lambda: tiny_gguf(more=lambda g: g.u32("general.alignment", 3)).bytes(),
}.items():
    gguf(f"count-{name}", COUNT, make)
for name, make in {
    "same-key": lambda: tiny_gguf(more=lambda g: g.u32("llama.block_count", 2)).bytes(),
    "same-tensor": lambda: tiny_gguf(more=lambda g: g.tensor("output_norm.weight", [32], 0, b"\0" * 128)).bytes(),
    "blocks-huge": lambda: tiny_gguf(
        skip=("llama.block_count",), more=lambda g: g.u32("llama.block_count", 2**32 - 1)
    ).bytes(),
    "heads-zero": lambda: tiny_gguf(
        skip=("llama.attention.head_count",), more=lambda g: g.u32("llama.attention.head_count", 0)
    ).bytes(),
    "heads-huge": lambda: tiny_gguf(
        skip=("llama.attention.head_count",), more=lambda g: g.u32("llama.attention.head_count", 2**31)
    ).bytes(),
    "embedding-zero": lambda: tiny_gguf(
        skip=("llama.embedding_length",), more=lambda g: g.u32("llama.embedding_length", 0)
    ).bytes(),
    "rope-nan": lambda: tiny_gguf(
        skip=("llama.rope.freq_base",), more=lambda g: g.f32("llama.rope.freq_base", float("nan"))
    ).bytes(),
    "eps-nan": lambda: tiny_gguf(
        skip=("llama.attention.layer_norm_rms_epsilon",),
        more=lambda g: g.f32("llama.attention.layer_norm_rms_epsilon", float("nan")),
    ).bytes(),
    "no-tensor": lambda: tiny_gguf(skip=("blk.0.attn_q.weight",)).bytes(),
    "other-shape": lambda: tiny_gguf(
        skip=("blk.0.attn_q.weight",), more=lambda g: g.tensor("blk.0.attn_q.weight", [16, 64], 0, b"\0" * 4096)
    ).bytes(),
    "token-types": lambda: tiny_gguf(
        skip=("tokenizer.ggml.token_type",), more=lambda g: g.i32s("tokenizer.ggml.token_type", [1])
    ).bytes(),
    "tokens-million": lambda: tiny_gguf(
        skip=("tokenizer.ggml.tokens",),
        more=lambda g: g.texts("tokenizer.ggml.tokens", ["t%d" % i for i in range(1_000_000)]),
    ).bytes(),
    "tokens-bad-utf8": lambda: tiny_gguf(
        skip=("tokenizer.ggml.tokens",),
        more=lambda g: g.texts("tokenizer.ggml.tokens", [b"\xff", b"a", b"b", b"\x1b[2J"]),
    ).bytes(),
    "tokens-same": lambda: tiny_gguf(
        skip=("tokenizer.ggml.tokens",), more=lambda g: g.texts("tokenizer.ggml.tokens", ["a"] * 4)
    ).bytes(),
    "merges-odd": lambda: tiny_gguf(
        skip=("tokenizer.ggml.merges",), more=lambda g: g.texts("tokenizer.ggml.merges", ["", "a", "a b c", "zz y"])
    ).bytes(),
    "eos-past": lambda: tiny_gguf(
        skip=("tokenizer.ggml.eos_token_id",), more=lambda g: g.u32("tokenizer.ggml.eos_token_id", 2**31)
    ).bytes(),
    "template": lambda: tiny_gguf(
        skip=("tokenizer.chat_template",), more=lambda g: g.text("tokenizer.chat_template", "{{" * 100_000)
    ).bytes(),
    "name-controls": lambda: tiny_gguf(more=lambda g: g.text("general.name", "\x1b[2J\x07\x9b")).bytes(),
    "key-controls": lambda: tiny_gguf(more=lambda g: g.u32("\x1b]0;x\x07", 1)).bytes(),
    "keys-100k": lambda: tiny_gguf(more=lambda g: [g.u32("k%d" % i, i) for i in range(100_000)]).bytes(),
    "tensors-50k": lambda: tiny_gguf(more=lambda g: [g.tensor("t%d" % i, [0], 0, b"") for i in range(50_000)]).bytes(),
    "text-50mb": lambda: tiny_gguf(more=lambda g: g.text("a", "a" * 50_000_000)).bytes(),
}.items():
    gguf(name, "What contradicts itself is refused, or runs within its tensors.", make, settled)
for kind in ("pipe", "zero", "loop", "folder"):

    def gguf_odd(trial, kind=kind):
        from lib.damage import odd

        os.mkdir(trial.path("in"))
        odd("model.gguf", kind)(trial, trial.path("in"))
        refused(trial.run("compile", trial.path("in", "model.gguf"), "-o", trial.path("out")))
        refused(trial.run("inspect", trial.path("in", "model.gguf")))

    add(f"gguf/is-{kind}", "In the place of a file there may be anything.", gguf_odd)


def onnx(name, reason, damage, outcome=settled):
    def body(trial):
        os.mkdir(trial.path("model"))
        for file in ("model.onnx", "model.onnx.data", "genai_config.json"):
            shutil.copy(os.path.join(ONNX, file), trial.path("model", file))
        damage(trial, trial.path("model"))
        done = trial.run("compile", trial.path("model"), "-o", trial.path("out"))
        outcome(done)
        expect(done.code == 0 or trial.names() == ["home", "model"], f"left behind: {trial.names()}")

    add(f"onnx/{name}", reason, body)


def onnx_bytes(file, change):
    def damage(trial, folder):
        with open(os.path.join(folder, file), "rb") as source:
            raw = source.read()
        trial.write(os.path.join(folder, file), change(raw))

    return damage


onnx("good", "A good bundle compiles, or the other cases show nothing.", lambda trial, folder: None, answered)
for size in (0, 1, 100, 5000, -1):
    onnx(
        f"graph-cut-{size}",
        "A graph that ends early is refused.",
        onnx_bytes("model.onnx", lambda raw, size=size: raw[:size]),
        refused,
    )
    onnx(
        f"data-cut-{size}",
        "Weights that end early are refused.",
        onnx_bytes("model.onnx.data", lambda raw, size=size: raw[:size]),
        refused,
    )
for name, old, new in (
    ("above", b"model.onnx.data", b"../../x.onnx.da"),
    ("absolute", b"model.onnx.data", b"/etc/passwd/../"),
    ("nul", b"model.onnx.data", b"model.onnx\0data"),
    ("folder", b"model.onnx.data", b"././././././././"[:15]),
):
    onnx(
        f"external-{name}",
        "Weights lie in the bundle, and nowhere else.",
        onnx_bytes("model.onnx", lambda raw, old=old, new=new: raw.replace(old, new)),
        refused,
    )
for name, raw in {
    "deep": b"\x3a\xff\xff\xff\x7f" * 100_000,
    "zeros": b"\0" * 100_000,
    "high": b"\xff" * 100_000,
    "groups": b"\x0b" * 1_000_000,
}.items():
    onnx(
        f"graph-{name}",
        "Bytes that are no graph are refused, however deep they seem to go.",
        onnx_bytes("model.onnx", lambda _, raw=raw: raw),
        refused,
    )
for seed in range(10):

    def onnx_flip(raw, seed=seed):
        import random

        generator = random.Random(seed)
        out = bytearray(raw)
        for _ in range(10):
            out[generator.randrange(len(out))] = generator.randrange(256)
        return bytes(out)

    onnx(f"graph-flipped-{seed}", "Ten bytes of a graph are others.", onnx_bytes("model.onnx", onnx_flip))
for kind in ("pipe", "zero", "loop", "folder", "passwd"):
    for file in ("model.onnx", "model.onnx.data", "genai_config.json"):

        def onnx_odd(trial, folder, kind=kind, file=file):
            from lib.damage import odd

            odd(file, kind)(trial, folder)

        onnx(f"{file}-is-{kind}", "In the place of a file there may be anything.", onnx_odd, refused)


def package(name, reason, make, outcome=refused):
    """`make` gives the bytes of the model, or writes the folder itself."""

    def body(trial):
        folder = trial.path("p.mlpackage")
        made = make(folder)
        if made is not None:
            mil.write_package(folder, made)
        inputs = trial.write("in.safetensors", formats.safetensors({"x": ("F32", [2, 4], b"\0" * 32)}))
        done = outcome(trial.run("predict", folder, "--inputs", inputs, "--outputs", trial.path("out.safetensors")))
        expect(done.code == 0 or not os.path.exists(trial.path("out.safetensors")), "an output of a run that failed")
        checked = trial.run("check", folder)
        if checked.code != 1:  # a rule of the chip is broken, and the report says which
            settled(checked)
        for shown in (checked, settled(trial.run("inspect", "--mil", folder))):
            expect(
                not any((byte < 32 and byte not in (9, 10)) or byte == 127 for byte in shown.out),
                "control characters on the terminal",
            )

    add(f"package/{name}", reason, body)


def relu(name="y", kind="relu", shape=(2, 4)):
    program = mil.Program()
    program.input("x", "fp32", [2, 4])
    program.op(kind, {"x": "x"}, (name, "fp32", list(shape)))
    program.output(name, "fp32", list(shape))
    return program


RIGHT = relu().model()
package("good", "A good package runs, or the other cases show nothing.", lambda _: RIGHT, answered)
for size in (0, 1, 10, 100, -1):
    package(f"cut-{size}", "A program that ends early is refused.", lambda _, size=size: RIGHT[:size])
package(
    "deep-message",
    "Messages in messages must not use up the stack.",
    lambda _: mil.number(1, 8) + mil.part(502, _nested(100_000)),
)
package(
    "deep-types",
    "Types in types must not use up the stack.",
    lambda _: mil.number(1, 8)
    + mil.part(502, mil.number(1, 1) + mil.entry(2, "main", mil.part(1, mil.part(1, "x") + mil.part(2, _lists(5000))))),
)
package(
    "name-controls", "A name is data, in errors and on the terminal.", lambda _: relu("\x1b[2J\x07").model(), settled
)
package("name-quotes", "A name that would end its quotes.", lambda _: relu('y"; }\n').model(), settled)
package("name-long", "A name of a megabyte comes back short.", lambda _: relu("y" * 1_000_000).model(), settled)
package("operation-unknown", "An operation that nobody has.", lambda _: relu(kind="rm -rf").model())
package("operation-controls", "The kind of an operation is data, too.", lambda _: relu(kind="\x1b]0;x\x07").model())
package("output-shape-wrong", "An output that is not what the operation gives.", lambda _: relu(shape=(3, 4)).model())
package("output-shape-huge", "An output that no machine holds.", lambda _: relu(shape=(2**48, 2**48)).model())


def _nested(depth):
    content = b""
    for _ in range(min(depth, 2000)):
        content = mil.part(3, content)
    return content


def _lists(depth):
    content = mil.type_of("fp32", [1])
    for _ in range(depth):
        content = mil.part(2, mil.part(1, content))
    return content


def constants(_, count, size):
    program = mil.Program()
    program.input("x", "fp32", [2, 4])
    for i in range(count):
        program.const(f"c{i}", "fp32", [size], [0.0] * size)
    program.op("relu", {"x": "x"}, ("y", "fp32", [2, 4]))
    program.output("y", "fp32", [2, 4])
    return program.model()


package("constants-50k", "Fifty thousand constants cost their number.", lambda _: constants(_, 50_000, 1), settled)
package(
    "operations-chain-20k", "Twenty thousand operations in a row cost their number.", lambda _: chain(20_000), settled
)
package(
    "operations-doubling", "Operations that double their result stop at the memory.", lambda _: doubling(40), settled
)


def chain(count):
    program = mil.Program()
    program.input("x", "fp32", [2, 4])
    last = "x"
    for i in range(count):
        last = program.op("relu", {"x": last}, (f"v{i}", "fp32", [2, 4]))
    program.output(last, "fp32", [2, 4])
    return program.model()


def doubling(count):
    program = mil.Program()
    program.input("x", "fp32", [2, 4])
    program.const("axis", "int32", [], [0])
    program.const("interleave", "bool", [], [False])
    last, rows = "x", 2
    for i in range(count):
        rows *= 2
        last = program.op(
            "concat", {"values": [last, last], "axis": "axis", "interleave": "interleave"}, (f"v{i}", "fp32", [rows, 4])
        )
    program.output(last, "fp32", [rows, 4])
    return program.model()


for name, text in {
    "empty": "",
    "list": "[]",
    "deep": "[" * 500_000,
    "above": '{"fileFormatVersion":"1.0.0","itemInfoEntries":{"a":{"author":"a","description":"","name":"n","path":"../../../../etc/passwd"}},"rootModelIdentifier":"a"}',
    "absolute": '{"fileFormatVersion":"1.0.0","itemInfoEntries":{"a":{"author":"a","description":"","name":"n","path":"/etc/passwd"}},"rootModelIdentifier":"a"}',
    "version": '{"fileFormatVersion":"99.0.0","itemInfoEntries":{},"rootModelIdentifier":"a"}',
    "no-root": '{"fileFormatVersion":"1.0.0","itemInfoEntries":{},"rootModelIdentifier":"a"}',
}.items():
    package(
        f"manifest-{name}",
        "A manifest of a package names files of its folder, and nothing else.",
        lambda folder, text=text: mil.write_package(folder, RIGHT, text or " "),
    )
for seed in range(10):

    def package_flip(_, seed=seed):
        import random

        generator = random.Random(seed)
        out = bytearray(RIGHT)
        for _i in range(4):
            out[generator.randrange(len(out))] = generator.randrange(256)
        return bytes(out)

    package(f"flipped-{seed}", "Four bytes of a program are others.", package_flip, settled)
