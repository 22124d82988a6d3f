#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the texts that bench_tokenizer encodes, from what a machine has installed: nothing is downloaded.

usage: make_corpus.py OUT_FOLDER      writes english.txt and mixed.txt

english.txt  documents of /usr/share/doc and of this tree, and the docstrings of Python's library
mixed.txt    translated messages of /usr/share/locale in many scripts, and source code (C++, Python)

A line that has been taken is not taken again: licences and boiler plate would let a cache of words shine.
"""
import ast
import gzip
import pathlib
import re
import struct
import sys
import sysconfig

TREE = pathlib.Path(__file__).resolve().parents[2]
ENGLISH_BYTES = 8 << 20
MIXED_BYTES = 4 << 20
FILE_BYTES = 256 << 10  # of one file, so that no single one rules
SCRIPTS = "ar de el fr he hi ja ko ru ta th uk vi zh_CN zh_TW".split()


class Corpus:
    def __init__(self, limit):
        self.limit, self.lines, self.seen, self.size = limit, [], set(), 0

    def full(self):
        return self.size >= self.limit

    def add(self, text):
        taken = 0
        for line in text.splitlines():
            if self.full() or taken > FILE_BYTES:
                return
            key = line.strip()
            if key and key in self.seen:
                continue
            self.seen.add(key)
            self.lines.append(line)
            taken += len(line.encode()) + 1
            self.size += len(line.encode()) + 1

    def write(self, path):
        text = "\n".join(self.lines) + "\n"
        path.write_text(text, encoding="utf-8")
        words = re.findall(r"\w+", text)
        print(f"{path}: {len(text.encode()) / 1e6:.1f} MB, {len(words)} words, {len(set(words))} different")


def read(path):
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    return data.decode("utf-8")


def files(root, *suffixes):
    return sorted(path for path in pathlib.Path(root).rglob("*") if path.name.endswith(suffixes) and path.is_file())


def add_files(corpus, paths):
    for path in paths:
        if corpus.full():
            return
        try:
            corpus.add(read(path))
        except (OSError, UnicodeDecodeError, EOFError):
            continue


def docstrings(path):
    try:
        tree = ast.parse(read(path))
    except (SyntaxError, ValueError, OSError, UnicodeDecodeError):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            yield ast.get_docstring(node) or ""


def messages(path):
    """The translations of a compiled gettext catalogue."""
    data = path.read_bytes()
    order = "<" if data[:4] == b"\xde\x12\x04\x95" else ">"
    count, _, table = struct.unpack_from(order + "3I", data, 8)
    for i in range(1, count):
        length, offset = struct.unpack_from(order + "2I", data, table + 8 * i)
        yield data[offset : offset + length].replace(b"\0", b"\n").decode("utf-8", "ignore")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    library = sysconfig.get_path("stdlib")

    english = Corpus(ENGLISH_BYTES)
    add_files(english, files(TREE / "docs", ".md"))
    english.limit = ENGLISH_BYTES // 2
    for path in files(library, ".py"):
        for text in docstrings(path):
            english.add(text)
    english.limit = ENGLISH_BYTES
    add_files(english, files("/usr/share/doc", ".md", ".txt", ".md.gz", ".txt.gz", "NEWS.gz", "README.Debian.gz"))
    english.write(out / "english.txt")

    mixed = Corpus(MIXED_BYTES // 2)
    for script in SCRIPTS:
        share = Corpus(MIXED_BYTES // 2 // len(SCRIPTS))
        for path in files(f"/usr/share/locale/{script}", ".mo"):
            share.add("\n".join(messages(path)))
        mixed.add("\n".join(share.lines))
    mixed.limit = MIXED_BYTES
    add_files(mixed, files(TREE / "src", ".cc", ".h"))
    add_files(mixed, files(library, ".py"))
    mixed.write(out / "mixed.txt")


if __name__ == "__main__":
    main()
