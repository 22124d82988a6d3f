# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that are damaged, huge, odd, or lead somewhere else."""

import json
import os
import shutil
import struct

from lib import formats
from lib.case import add, case, expect
from lib.damage import CONFIG, CUT, IDS, edit_bytes, edit_json, header, odd, put
from lib.process import answered, refused, settled
from lib.trial import checkpoint_of


def checkpoint(name, reason, damage, outcome=refused, flags=()):
    """Adds a case that compiles a damaged copy of the tiny checkpoint.

    If compile fails, it leaves no files. If `outcome` allows success and compile succeeds, the artifact runs.
    """

    def body(trial):
        folder = trial.copy(checkpoint_of("tiny"), "model")
        damage(trial, folder)
        done = trial.run("compile", folder, "-o", trial.path("out"), *flags)
        outcome(done)
        if done.code == 0:
            settled(trial.run("run", trial.path("out"), *IDS))
        else:
            expect(trial.names() == ["home", "model"], f"left behind: {trial.names()}")

    add(f"checkpoint/{name}", reason, body)


def first_tensor(key, value):
    def change(head):
        name = next(name for name in head if name != "__metadata__")
        head[name][key] = value

    return header(change)


def renamed(to):
    def change(head):
        name = next(name for name in head if name != "__metadata__")
        head[to] = head.pop(name)

    return header(change)


add(
    "checkpoint/good",
    "A good checkpoint compiles and runs, or the other cases show nothing.",
    lambda trial: (
        answered(trial.run("compile", checkpoint_of("tiny"), "-o", trial.path("out"))),
        answered(trial.run("run", trial.path("out"), *IDS)),
    ),
)
for size in (0, 1, 7, 8, 9, 100, 1000, -1, -100):
    checkpoint(f"safetensors-cut-{size}", CUT, edit_bytes("model.safetensors", lambda raw, size=size: raw[:size]))
for file in (
    "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
    "chat_template.jinja", "model.safetensors",
):  # fmt: skip

    @case(f"checkpoint/run-terabyte-{file}", "Sizes and headers are looked at before anything is hashed.")
    def terabyte(trial, file=file):
        folder = trial.copy(checkpoint_of("pocket"), "model")
        with open(os.path.join(folder, file), "ab") as sparse:
            sparse.truncate(1 << 40)
        refused(trial.run("run", folder, *IDS), 3)


@case("checkpoint/run-terabyte-tensor", "Sizes and headers are looked at before anything is hashed.")
def terabyte_tensor(trial):
    folder = trial.copy(checkpoint_of("pocket"), "model")
    head = {"model.embed_tokens.weight": {"dtype": "F32", "shape": [1 << 38], "data_offsets": [0, 1 << 40]}}
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(formats.with_header(json.dumps(head)))
        file.truncate(file.tell() + (1 << 40))
    refused(trial.run("run", folder, *IDS), 3)


HEAD = "A header that lies about the file is refused before anything is taken from it."
for name, raw in {
    "length-most": struct.pack("<Q", 2**64 - 1) + b"{}",
    "length-past": struct.pack("<Q", 10**9) + b"{}",
    "length-zero": struct.pack("<Q", 0) + b"{}",
    "not-json": formats.with_header("nonsense"),
    "list": formats.with_header("[]"),
    "deep": formats.with_header("[" * 1_000_000),
    "deep-object": formats.with_header('{"a":' * 300_000),
    "blank-90mb": formats.with_header(" " * 90_000_000 + "{}"),
    "empty": formats.with_header("{}"),
    "bad-utf8": formats.with_header(b'{"\xff":{}}'),
}.items():
    checkpoint(f"safetensors-header-{name}", HEAD, put("model.safetensors", raw))
checkpoint(
    "safetensors-many-tensors",
    "A header of 300,000 tensors takes time and memory in proportion to its length.",
    put(
        "model.safetensors",
        lambda: formats.with_header(
            "{" + ",".join(f'"t{i}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}' for i in range(300_000)) + "}"
        ),
    ),
)
checkpoint(
    "safetensors-same-name",
    "Two tensors of one name are refused: nothing says which one counts.",
    put(
        "model.safetensors",
        formats.with_header(
            '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
            b"x",
        ),
    ),
)
checkpoint(
    "safetensors-metadata",
    "A value of __metadata__ that is no string is refused.",
    header(lambda head: head.update({"__metadata__": {"a": [5]}})),
)
for name, shape in {
    "negative": [-1, 4],
    "huge": [2**62, 2**62],
    "wraps": [2**32, 2**32],
    "float": [1.5],
    "text": ["4"],
    "many-dims": [1] * 100_000,
    "number": 5,
    "null": None,
    "zero": [0, 2**60],
}.items():
    checkpoint(f"safetensors-shape-{name}", HEAD, first_tensor("shape", shape))
for name, offsets in {
    "past": [0, 10**18],
    "negative": [-1, 5],
    "reversed": [50, 10],
    "one": [0],
    "three": [0, 1, 2],
    "float": [0.0, 10.5],
    "wraps": [2**64 - 8, 2**64],
    "text": ["0", "1"],
}.items():
    checkpoint(f"safetensors-offsets-{name}", HEAD, first_tensor("data_offsets", offsets))
for name, dtype in {"unknown": "F99", "number": 5, "controls": "\x1b[2J\r\n", "long": "F" * 1_000_000}.items():
    checkpoint(f"safetensors-dtype-{name}", HEAD, first_tensor("dtype", dtype))
checkpoint(
    "safetensors-overlap",
    "Tensors that share bytes are not what a writer wrote.",
    header(
        lambda head: [
            entry.update(data_offsets=[0, entry["data_offsets"][1] - entry["data_offsets"][0]])
            for key, entry in head.items()
            if key != "__metadata__"
        ]
    ),
)
for name, to in {
    "controls": "\x1b]0;x\x07\x1b[31m\r\n",
    "empty": "",
    "long": "n" * 3_000_000,
    "slashes": "../../../etc/passwd",
    "right-to-left": "\u202egnp",
}.items():
    checkpoint(f"safetensors-name-{name}", "A name is data, in errors and on the terminal.", renamed(to))


@case("checkpoint/inspect-escapes", "What inspect prints of a stranger's file holds no control characters.")
def inspect_escapes(trial):
    file = trial.write(
        "x.safetensors",
        formats.safetensors({"\x1b[2J\x07\x9b\u202e": ("U8", [1], b"x")}, {"a\x1b[31m": "b\x1b]0;t\x07\x7f"}),
    )
    done = answered(trial.run("inspect", file))
    expect(
        not any((byte < 32 and byte != 10) or byte == 127 for byte in done.out), "control characters on the terminal"
    )
    expect("\x9b".encode() not in done.out, "a C1 control character on the terminal")


for name, raw in {
    "not-finite": b"\xff\xff\xff\x7f",
    "infinite": b"\x00\x00\x80\x7f",
    "largest": b"\xff\xff\x7f\x7f",
}.items():

    def bad_weights(raw_file, raw=raw):
        head, data = formats.split_safetensors(raw_file)
        size = {"F32": 4, "F16": 2, "BF16": 2}[next(v for k, v in head.items() if k != "__metadata__")["dtype"]]
        return formats.with_header(json.dumps(head), (raw[-size:] if size == 2 else raw) * (len(data) // size))

    def body(trial, change=bad_weights):
        folder = trial.copy(checkpoint_of("tiny"), "model")
        edit_bytes("model.safetensors", change)(trial, folder)
        done = settled(trial.run("compile", folder, "-o", trial.path("out")))
        if done.code == 0:
            refused(trial.run("run", trial.path("out"), *IDS), 3)
            refused(trial.run("run", trial.path("out"), *IDS, "--temperature", "1"), 3)

    add(f"checkpoint/weights-{name}", "Weights that give no number are a clear data error, not a token.", body)
INDEX = "An index names files of its folder, and nothing else."
for name, text in {
    "above": '{"weight_map": {"a": "../x.safetensors"}}',
    "absolute": '{"weight_map": {"a": "/etc/passwd"}}',
    "device": '{"weight_map": {"a": "/dev/zero"}}',
    "missing": '{"weight_map": {"a": "b.safetensors"}}',
    "number": '{"weight_map": {"a": 5}}',
    "list": '{"weight_map": []}',
    "empty": "{}",
    "itself": '{"weight_map": {"a": "model.safetensors.index.json"}}',
    "nul": '{"weight_map": {"a": "b\\u0000c"}}',
    "long": json.dumps({"weight_map": {"a": "b" * 100_000}}),
    "folder": '{"weight_map": {"a": "."}}',
    "controls": '{"weight_map": {"a": "\\u001b[2J"}}',
}.items():
    checkpoint(
        f"index-{name}",
        INDEX,
        lambda trial, folder, text=text: (
            os.remove(os.path.join(folder, "model.safetensors")),
            put("model.safetensors.index.json", text)(trial, folder),
        ),
    )
checkpoint(
    "index-many-files",
    INDEX,
    lambda trial, folder: (
        os.remove(os.path.join(folder, "model.safetensors")),
        put(
            "model.safetensors.index.json",
            json.dumps({"weight_map": {f"t{i}": f"f{i}.safetensors" for i in range(100_000)}}),
        )(trial, folder),
    ),
)
for name, raw in {
    "empty": "",
    "list": "[]",
    "null": "null",
    "deep": "[" * 1_000_000,
    "bom": b"\xef\xbb\xbf{}",
    "utf16": "{}".encode("utf-16"),
    "nan": '{"a": NaN}',
    "two": "{} {}",
    "bad-utf8": b'{"a":"\xff"}',
    "duplicate": '{"model_type":"qwen2","model_type":"llama"}',
    "binary": bytes(range(256)) * 100,
}.items():
    checkpoint(f"config-{name}", CONFIG, put("config.json", raw))
for name, make in {
    "blank": lambda: " " * 90_000_000,
    "list": lambda: '"x": [' + "1," * 45_000_000 + "1],",
    "lists": lambda: '"x": [' + "[]," * 30_000_000 + "[]],",
    "text": lambda: '"x": "' + "a" * 90_000_000 + '",',
    "keys": lambda: "".join(f'"k{i}":1,' for i in range(8_000_000)),
    "objects": lambda: '"x": [' + "{}," * 30_000_000 + "{}],",
}.items():
    checkpoint(
        f"config-90mb-{name}",
        "A configuration of 90 MB is refused by its size, not by the memory that it takes.",
        edit_bytes("config.json", lambda raw, make=make: b"{" + make().encode() + raw.strip()[1:]),
    )
for key in (
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
):
    for value in (0, -1, 2**31, 2**62, 1.5, "4", None, [], 3):
        if (key, value) == ("num_hidden_layers", 3):
            continue  # what the checkpoint has
        label = str(value).replace("[]", "list")
        checkpoint(
            f"config-{key}={label}",
            CONFIG,
            edit_json("config.json", lambda config, key=key, value=value: config.update({key: value})),
            settled,
        )
for key, values in {
    "rms_norm_eps": (0, -1, 1e308, "x"),
    "rope_theta": (0, -1, 1e308, 1e-320, "x"),
    "model_type": (5, "nothing", "\x1b[2J", "q" * 1_000_000, None),
    "hidden_act": ("nothing", 5),
    "rope_scaling": ("x", {"rope_type": "yarn", "factor": -1}, {"rope_type": "linear", "factor": 1e-320}, {"type": 5}),
    "head_dim": (0, -1, 2**31 - 2, 3),
    "sliding_window": (-1, 2**62),
    "layer_types": ([5], ["x"] * 100_000, "x"),
    "eos_token_id": (-1, 2**40, "x", list(range(1_000_000))),
    "quantization_config": ("x", {"quant_method": "nothing"}, {"quant_method": "fp8", "weight_block_size": [0, 0]}),
}.items():
    for i, value in enumerate(values):
        checkpoint(
            f"config-{key}-{i}",
            CONFIG,
            edit_json("config.json", lambda config, key=key, value=value: config.update({key: value})),
            settled,
        )
for name, text in {
    "not-json": "x",
    "eos-million": json.dumps({"eos_token_id": list(range(1_000_000))}),
    "eos-negative": '{"eos_token_id": -5}',
    "temperature": '{"temperature": -1, "do_sample": true}',
    "temperature-nan": '{"temperature": NaN}',
    "top-k": '{"top_k": -9223372036854775808, "do_sample": true}',
    "top-p": '{"top_p": "x"}',
    "penalty": '{"repetition_penalty": 0}',
    "deep": "[" * 500_000,
}.items():
    checkpoint(
        f"generation-{name}",
        "Settings of generation from a stranger are checked like the user's.",
        put("generation_config.json", text),
        settled,
    )
for file in (
    "config.json",
    "model.safetensors",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
):
    for kind in ("folder", "pipe", "zero", "random", "loop", "passwd", "memory", "pagemap", "removed"):
        if file in ("config.json", "model.safetensors") or kind != "removed":

            def no_secrets(trial, file=file, kind=kind):
                # The tiny checkpoint has no tokenizer.
                folder = trial.copy(checkpoint_of("pocket" if "token" in file else "tiny"), "model")
                odd(file, kind)(trial, folder)
                plan = trial.run("compile", folder, "-o", trial.path("out"), "--dry-run").check_alive()
                done = trial.run("compile", folder, "-o", trial.path("out"))
                # A link to itself leads nowhere, so a file that may be absent counts as absent. A link out of the
                # folder is always refused.
                (settled if kind == "loop" else refused)(done)
                expect(
                    b"root:" not in plan.out + plan.err + done.err,
                    "the content of a file outside of the checkpoint shows",
                )
                expect(done.code == 0 or trial.names() == ["home", "model"], f"left behind: {trial.names()}")

            add(
                f"checkpoint/{file.split('.')[0]}-is-{kind}",
                "In the place of a file there may be anything; nothing is waited for, nothing outside is read.",
                no_secrets,
            )


@case(
    "checkpoint/links-of-the-hub",
    "Links into the blobs of the hub's cache are how checkpoints lie there, and are followed.",
)
def hub_links(trial):
    base = trial.path("hub", "models--a--b")
    os.makedirs(os.path.join(base, "blobs"))
    snapshot = os.path.join(base, "snapshots", "0" * 40)
    os.makedirs(snapshot)
    for file in os.listdir(checkpoint_of("tiny")):
        shutil.copy(os.path.join(checkpoint_of("tiny"), file), os.path.join(base, "blobs", file + "-blob"))
        os.symlink(f"../../blobs/{file}-blob", os.path.join(snapshot, file))
    answered(trial.run("compile", snapshot, "-o", trial.path("out")))
