# SPDX-License-Identifier: Apache-2.0
"""Compiled models that are damaged, huge, odd, or lead somewhere else."""

import json
import os

from lib.case import add, expect
from lib.damage import CONFIG, CUT, IDS, edit_bytes, edit_json, odd, put
from lib.process import answered, refused, settled


def artifact(name, reason, damage, outcome=refused, words=("run", "{}", *IDS)):
    def body(trial):
        folder = trial.copy(trial.tiny(), "model")
        damage(trial, folder)
        outcome(trial.run(*(word.format(folder) for word in words)))

    add(f"artifact/{name}", reason, body)


artifact("good", "A good artifact runs, or the other cases show nothing.", lambda trial, folder: None, answered)
PACKAGE = "{}/head_0.mlpackage"
for file in (
    "manifest.json",
    "head_0.mlpackage",
    "head_0.mlpackage/Manifest.json",
    "head_0.mlpackage/Data/com.apple.CoreML/model.mlmodel",
    "head_0.mlpackage/Data/com.apple.CoreML/weights/weight.bin",
):
    label = file.replace("head_0.mlpackage/Data/com.apple.CoreML/", "").replace("/", "-")
    for kind in ("pipe", "zero", "folder", "removed", "nothing"):
        if not (file == "head_0.mlpackage" and kind == "folder"):
            artifact(f"{label}-is-{kind}", "In the place of a file there may be anything.", odd(file, kind))
    if file != "head_0.mlpackage":
        for size in ("half", "empty", "one-less", "longer"):
            change = {
                "half": lambda raw: raw[: len(raw) // 2],
                "empty": lambda raw: b"",
                "one-less": lambda raw: raw[:-1],
                "longer": lambda raw: raw + b"\0" * 64,
            }[size]
            artifact(
                f"{label}-{size}",
                CUT,
                edit_bytes(file, change),
                settled if size == "longer" or (file, size) == ("manifest.json", "one-less") else refused,
            )
for name, change in {
    "version-huge": {"format_version": 10**9},
    "version-text": {"format_version": "1"},
    "vocab-huge": {"vocab_size": 2**40},
    "hidden-zero": {"hidden_size": 0},
    "shards-none": {"shards": []},
    "shards-number": {"shards": 5},
    "name-controls": {"name": "\x1b[2J"},
    "context-huge": {"context": 2**60},
    "context_length-huge": {"context_length": 2**60},
    "heads-none": {"heads": []},
}.items():
    artifact(
        f"manifest-{name}",
        "A manifest that asks for more than there is, is refused before anything is allocated.",
        edit_json("manifest.json", lambda manifest, change=change: manifest.update(change)),
        settled,
    )
for name, text in {
    "empty": "",
    "list": "[]",
    "deep": "[" * 1_000_000,
    "bad-utf8": b'{"\xff": 1}',
    "90mb": lambda: "{" + '"x": [' + "1," * 45_000_000 + "1]}",
}.items():
    artifact(f"manifest-is-{name}", CONFIG, put("manifest.json", text))
for name, path in {"above": "../../x.mlpackage", "absolute": "/etc", "nul": "a\0b", "empty": "", "dot": "."}.items():

    def elsewhere(trial, folder, path=path):
        def change(value):
            if isinstance(value, dict):
                return {
                    key: path if key in ("package", "path", "file") and isinstance(item, str) else change(item)
                    for key, item in value.items()
                }
            return [change(item) for item in value] if isinstance(value, list) else value

        file = os.path.join(folder, "manifest.json")
        with open(file, encoding="utf-8") as source:
            value = change(json.load(source))
        with open(file, "w", encoding="utf-8") as target:
            json.dump(value, target)

    artifact(f"manifest-path-{name}", "A manifest names files of its folder, and nothing else.", elsewhere)
for seed in range(12):

    def flip(raw, seed=seed):
        import random

        generator = random.Random(seed)
        out = bytearray(raw)
        for _ in range(20):
            out[generator.randrange(len(out))] = generator.randrange(256)
        return bytes(out)

    artifact(
        f"model-flipped-{seed}",
        "Twenty bytes of a program are others: it is refused, or runs within its tensors.",
        edit_bytes("head_0.mlpackage/Data/com.apple.CoreML/model.mlmodel", flip),
        settled,
    )
    artifact(
        f"weights-flipped-{seed}",
        "Twenty bytes of the weights are others: it is refused, or runs within its tensors.",
        edit_bytes("head_0.mlpackage/Data/com.apple.CoreML/weights/weight.bin", flip),
        settled,
    )
    artifact(
        f"manifest-flipped-{seed}", "Twenty bytes of a manifest are others.", edit_bytes("manifest.json", flip), settled
    )
artifact(
    "doctor-damaged-weights",
    "What has other bytes than its manifest says is found.",
    edit_bytes("head_0.mlpackage/Data/com.apple.CoreML/weights/weight.bin", lambda raw: raw[:-1] + bytes([raw[-1] ^ 1])),
    lambda done: expect(done.check_alive().code != 0, "doctor is content with a damaged file"),
    ("doctor", "{}"),
)
artifact(
    "package-as-command",
    "A package from a stranger is shown, without control characters.",
    lambda trial, folder: None,
    answered,
    ("inspect", "--mil", PACKAGE),
)
