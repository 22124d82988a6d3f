#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/text/data: a small part of the goldens of tokenizers and chat templates, for checkouts without the large ones.

usage: make_goldens.py [SHARED]     the folder that holds data/tokenizers and data/chat-templates; ../shared by default

The tokenizers were trained for these tests. The templates are those of models under the Apache licence. Every case with
special tokens is kept, and of the others each one of a kind (`tag`) and then every tenth.
"""
import json
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests/text/data"
TOKENIZERS = ["synth_flags", "synth_split3", "synth_unigram"]
TEMPLATES = ["HuggingFaceTB-SmolLM3-3B.jinja", "Qwen-Qwen2.5-7B-Instruct.jinja", "Qwen-Qwen3-0.6B.jinja",
             "ibm-granite-granite-3.3-2B-Instruct.jinja"]


def read_lines(path):
    # splitlines() does not serve: texts hold separators that it takes for line ends.
    return [line + "\n" for line in path.read_text("utf-8").split("\n") if line]


def some(lines, always=lambda case: False, longest=2000):
    seen = set()
    for number, line in enumerate(lines):
        case = json.loads(line)
        is_new = case["tag"] not in seen
        if len(line) > longest or not (always(case) or is_new or number % 10 == 0):
            continue
        seen.add(case["tag"])
        yield line


def main():
    shared = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "../shared"
    for name in TOKENIZERS:
        source, folder = shared / "data/tokenizers" / name, OUT / "tokenizers" / name
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / "tokenizer.json", folder / "tokenizer.json")
        lines = read_lines(source / "golden.jsonl")
        chosen = some(lines, lambda case: case["parse_special"] or case["add_special"])
        (folder / "golden.jsonl").write_text("".join(chosen), "utf-8")
    folder = OUT / "chat-templates"
    folder.mkdir(parents=True, exist_ok=True)
    chosen = []
    lines = read_lines(shared / "data/chat-templates/cases.jsonl")
    for name in TEMPLATES:
        shutil.copyfile(shared / "data/chat-templates" / name, folder / name)
        chosen += some((line for line in lines if json.loads(line)["template"] == name), longest=6000)
    (folder / "cases.jsonl").write_text("".join(chosen), "utf-8")


if __name__ == "__main__":
    main()
