# SPDX-License-Identifier: Apache-2.0
"""Ways to damage a folder of a model: each gives a function of a trial and the folder."""

import json
import os
import shutil

from . import formats

IDS = ("--prompt-ids", "1 2 3", "--max-new", "2", "--ignore-eos")
CUT = "A file that ends early is refused, wherever it ends."
CONFIG = "A configuration is a small file of small numbers."


def edit_json(file, change):
    def damage(trial, folder):
        path = os.path.join(folder, file)
        with open(path, encoding="utf-8") as source:
            value = json.load(source)
        change(value)
        with open(path, "w", encoding="utf-8") as target:
            json.dump(value, target)

    return damage


def edit_bytes(file, change):
    def damage(trial, folder):
        path = os.path.join(folder, file)
        with open(path, "rb") as source:
            raw = source.read()
        with open(path, "wb") as target:
            target.write(change(raw))

    return damage


def put(file, content):
    return lambda trial, folder: trial.write(os.path.join(folder, file), content() if callable(content) else content)


def header(change):
    def make(raw):
        head, data = formats.split_safetensors(raw)
        change(head)
        return formats.with_header(json.dumps(head), data)

    return edit_bytes("model.safetensors", make)


def odd(file, kind):
    def damage(trial, folder):
        path = os.path.join(folder, file)
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.remove(path)
        if kind == "folder":
            os.mkdir(path)
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind != "removed":
            os.symlink(
                {
                    "loop": path,
                    "zero": "/dev/zero",
                    "random": "/dev/urandom",
                    "terminal": "/dev/tty",
                    "passwd": "/etc/passwd",
                    "nothing": "/nothing",
                    "memory": "/proc/self/mem",
                    "pagemap": "/proc/self/pagemap",
                    "itself": "/proc/self/fd/0",
                }[kind],
                path,
            )

    return damage
