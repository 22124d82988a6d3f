# SPDX-License-Identifier: Apache-2.0
"""Checksums of what Hugging Face's tokenizers make of all code points: tests/text/data/unicode_goldens.json, which
tests/text/unicode_test.cc holds anemone against. usage: unicode_goldens.py >tests/text/data/unicode_goldens.json"""

import json
import zlib

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

BLOCK = 0x1000  # code points per checksum
BLOCKS = [[chr(value) for value in range(begin, begin + BLOCK) if not 0xD800 <= value < 0xE000] for begin in range(0, 0x110000, BLOCK)]


def checksums(make):
    """`make` turns the characters of a block into a text."""
    return [zlib.crc32(make(block).encode()) for block in BLOCKS]


def each(f):
    return checksums(lambda block: "".join(map(f, block)))


def numeric(block):
    digits = pre_tokenizers.Digits(individual_digits=False)
    # Each character after a letter: a number begins a piece of its own.
    return "".join(c for c in block if len(digits.pre_tokenize_str("a" + c)) == 2)


def word(block):
    # A token that stands alone is not found beside a character of a word.
    tokenizer = Tokenizer(models.WordLevel({"other": 0}, unk_token="other"))
    tokenizer.add_tokens([AddedToken("Q", single_word=True)])
    found = tokenizer.encode_batch([c + "Q" for c in block])
    return "".join(c for c, encoding in zip(block, found) if 1 not in encoding.ids)


def goldens():
    out = {}
    decompose = normalizers.NFD().normalize_str
    for name in ("NFC", "NFD", "NFKC", "NFKD"):
        normalize = getattr(normalizers, name)().normalize_str
        out[name] = each(normalize)
        out[name + " among marks"] = each(lambda c: normalize("\u0345" + c + "\u0334"))
        out[name + " decomposed"] = each(lambda c: normalize(decompose(c)))
    out["Lowercase"] = each(normalizers.Lowercase().normalize_str)
    out["numeric"] = checksums(numeric)
    out["word"] = checksums(word)
    return out


def as_text(values):
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(sums)}" for name, sums in values.items()) + "\n}\n"


if __name__ == "__main__":
    print(as_text(goldens()), end="")
