# SPDX-License-Identifier: Apache-2.0
"""tokenizer.json from strangers: patterns that backtrack, tokens that overlap, rules that multiply."""

import copy
import json
import os

from lib.case import add
from lib.process import answered, settled
from lib.trial import checkpoint_of

with open(os.path.join(checkpoint_of("pocket"), "tokenizer.json"), encoding="utf-8") as file:
    POCKET = json.load(file)


def bytes_bpe(merges=(), vocab=None, **more):
    """A byte-level BPE of all bytes, and what the case adds."""
    letters = {text: i for i, text in enumerate(sorted(token for token in POCKET["model"]["vocab"] if len(token) == 1))}
    for merge in merges:
        letters.setdefault(merge[0] + merge[1], len(letters))
    return {
        **POCKET,
        "added_tokens": [],
        "model": {**POCKET["model"], "vocab": vocab or letters, "merges": [list(m) for m in merges]},
        **more,
    }


def pattern(regex, behavior="Isolated", invert=False):
    return {
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert},
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
            ],
        }
    }


def added(content, i, **more):
    return {
        "id": i,
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": False,
        **more,
    }


def tokenize(name, reason, make, text="hello world", outcome=settled):
    def body(trial):
        made = make() if callable(make) else make
        raw = made if isinstance(made, (str, bytes)) else json.dumps(made)
        file = trial.write("tokenizer.json", raw)
        said = text() if callable(text) else text
        outcome(
            trial.run(
                "tokenize",
                "--model",
                file,
                "--json",
                stdin=said if isinstance(said, bytes) else said.encode("utf-8", "surrogatepass"),
            )
        )

    add(f"tokenizer/{name}", reason, body)


def changed(**more):
    out = copy.deepcopy(POCKET)
    out.update(more)
    return out


tokenize("good", "A good tokenizer gives tokens, or the other cases show nothing.", POCKET, outcome=answered)
REGEX = "A pattern that goes back and forth has a limit per text, however many pieces the text has."
A = "a" * 30_000
PIECES = ("a" * 28 + "b ") * 20_000
for name, regex, text in (
    ("nested-plus", r"(a+)+$", A + "b"),
    ("nested-star", r"(a*)*b", A),
    ("alternatives", r"(a|a)*b", A),
    ("alternatives-long", r"(a|aa|aaa)+b", A),
    ("optional", r"(a?){50}a{50}b", A),
    ("dots", r".*.*.*.*x", A),
    ("dot-lazy", r"(.*?,){20}x", "," * 5000),
    ("word-space", r"(\w+\s?)+$", "aaa " * 8000 + "!"),
    ("lookahead", r"(?=(a+)+b)a", A),
    ("lookbehind", r"(?<=a{1,100})b", A + "b"),
    ("backreference", r"(a+)\1+b", A),
    ("backreferences", r"(a*)(a*)(a*)\1\2\3b", "a" * 3000),
    ("atomic", r"(?>a+)+b", A),
    ("possessive", r"a++a", A),
    ("recursion", r"(?<n>a\g<n>?b)", "ab" * 10_000),
    ("recursion-endless", r"(?<n>\g<n>)", A),
    ("recursion-deep", r"\((?:[^()]|\g<0>)*\)", "(" * 20_000),
    ("conditional", r"(a)?(?(1)b|c)*d", "ab" * 5000),
    ("case", r"(?i)(ſ|s|S)*x", "s" * 20_000),
    ("pieces-many", r"(a+)+c|a|b| ", PIECES),
    ("pieces-nested", r"(?:a*)*c|.", PIECES),
    ("pieces-lookahead", r"(?=.*z)|.", "ab" * 20_000),
    ("empty-matches", r"", "ab" * 100_000),
    ("empty-star", r"a*", "b" * 500_000),
    ("boundary", r"\b", "a b " * 200_000),
    ("rest-of-text", r"\s+(?!\S)|\s+|\S", " " * 300_000 + "x"),
    ("rest-of-text-many", r"\s+(?!\S)|\S+", (" " * 3000 + "x") * 300),
    ("any-then-end", r".+(?=\n)|.", "a" * 60_000),
    ("letters-then", r"\p{L}+(?=\d)|.", "a" * 60_000),
):
    tokenize(f"regex-{name}", REGEX, lambda regex=regex: changed(**pattern(regex)), text)
PATTERN = "A pattern that is itself too much is refused when it is read."
for name, regex in {
    "repeat-huge": "(a{1,100000}){1,100000}",
    "repeat-nested": "((((a{100}){100}){100}){100}){100}",
    "groups": "(" * 50_000 + ")" * 50_000,
    "groups-open": "(" * 100_000,
    "alternatives-many": "|".join(f"a{i}" for i in range(100_000)),
    "class-huge": "[" + "".join(chr(0x4E00 + i % 20_000) for i in range(500_000)) + "]",
    "classes-nested": "[" * 50_000 + "a" + "]" * 50_000,
    "long": "a" * 5_000_000,
    "lookbehind-huge": "(?<=a{0,100000}b{0,100000})c",
    "bad": "(",
    "bad-escape": "\\",
    "bad-property": r"\p{Nothing}",
    "bad-reference": r"\99",
    "callout": "(?{code})",
    "nul": "a\0b",
    "names": "".join(f"(?<n{i}>a)" for i in range(20_000)),
}.items():
    tokenize(f"pattern-{name}", PATTERN, lambda regex=regex: changed(**pattern(regex)), "aaa bbb")
for behavior in ("Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous", "Isolated"):
    tokenize(
        f"split-{behavior}",
        "Every way of splitting costs the length of the text.",
        lambda behavior=behavior: changed(**pattern("a|b", behavior)),
        "ab" * 400_000,
    )
    tokenize(
        f"split-{behavior}-inverted",
        "Every way of splitting costs the length of the text.",
        lambda behavior=behavior: changed(**pattern("a", behavior, True)),
        "ab" * 400_000,
    )
ADDED = "Added tokens are found in time that grows with the text, not with text times tokens."
for name, make, text in (
    ("long", lambda: [added("a" * 100_000, 2000)], "a" * 1_000_000),
    ("long-nearly", lambda: [added("a" * 50_000 + "b", 2000)], "a" * 500_000),
    ("overlapping", lambda: [added("a" * i, 2000 + i) for i in range(1, 2000)], "a" * 500_000),
    ("overlapping-nearly", lambda: [added("a" * i + "b", 2000 + i) for i in range(1, 2000)], "a" * 500_000),
    ("many", lambda: [added(f"<{i}>", 2000 + i) for i in range(200_000)], "<1><2>" * 10_000),
    ("same", lambda: [added("<x>", 2000 + i) for i in range(10_000)], "<x>" * 100_000),
    ("empty", lambda: [added("", 2000)], "abc"),
    ("space", lambda: [added(" ", 2000, lstrip=True, rstrip=True)], " " * 1_000_000),
    ("lstrip", lambda: [added("<x>", 2000, lstrip=True)], " " * 1_000_000 + "<x>"),
    ("lstrip-many", lambda: [added("<x>", 2000, lstrip=True)], (" " * 2000 + "<y>") * 300),
    ("rstrip", lambda: [added("<x>", 2000, rstrip=True)], ("<x>" + " " * 2000) * 300),
    ("single-word", lambda: [added("a", 2000, single_word=True)], "a" * 1_000_000),
    ("single-word-many", lambda: [added("a", 2000, single_word=True)], "a " * 500_000),
    ("normalized", lambda: [added("é", 2000, normalized=True)], "e\u0301" * 200_000),
    ("prefixes", lambda: [added("ab" * 2000, 2000), added("a", 2001)], "ab" * 1999 * 100),
    ("id-negative", lambda: [added("x", -1)], "x"),
    ("id-huge", lambda: [added("x", 2**31)], "x"),
    ("id-most", lambda: [added("x", 2**63)], "x"),
    ("id-float", lambda: [added("x", 1.5)], "x"),
    ("id-gap", lambda: [added("x", 2**31 - 2)], "x"),
    ("content-number", lambda: [{**added("x", 2000), "content": 5}], "x"),
    ("content-nul", lambda: [added("\0", 2000)], "\0" * 100_000),
    ("content-controls", lambda: [added("\x1b[2J\r\n", 2000)], "\x1b[2J\r\n"),
):
    tokenize(f"added-{name}", ADDED, lambda make=make: changed(added_tokens=make()), text)
MERGE = "Merges cost about the length of the text, in whatever order they come."


def chain(count):
    return [("a" * i, "a") for i in range(1, count)]


for name, make, text in (
    ("pairs", lambda: bytes_bpe([("a" * 2**i, "a" * 2**i) for i in range(20)], **pattern("[a]+")), "a" * 1_000_000),
    ("chain", lambda: bytes_bpe(chain(2000), **pattern("[a]+")), "a" * 300_000),
    ("chain-reversed", lambda: bytes_bpe(chain(2000)[::-1], **pattern("[a]+")), "a" * 300_000),
    ("alternating", lambda: bytes_bpe([("a", "b"), ("b", "a")], **pattern(".+")), "ab" * 500_000),
    ("late", lambda: bytes_bpe([("b", "a"), ("a", "a")], **pattern(".+")), "a" * 1_000_000),
    ("long-tokens", lambda: bytes_bpe([("a" * 2**i, "a" * 2**i) for i in range(17)]), "a" * 1_000_000),
    (
        "one-piece",
        lambda: {
            **bytes_bpe([("a", "b")]),
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        },
        "ab" * 1_000_000,
    ),
    ("many", lambda: bytes_bpe(chain(3000)), "a" * 10_000),
    ("unknown-left", lambda: changed(model={**POCKET["model"], "merges": [["zz", "a"]]}), "zza"),
    ("no-result", lambda: changed(model={**POCKET["model"], "merges": [["a", "\u0120\u0120"]]}), "a"),
    ("not-pairs", lambda: changed(model={**POCKET["model"], "merges": [["a"]]}), "a"),
    ("numbers", lambda: changed(model={**POCKET["model"], "merges": [[1, 2]]}), "a"),
    ("same-twice", lambda: changed(model={**POCKET["model"], "merges": POCKET["model"]["merges"] * 50}), "hello"),
    ("text-form-odd", lambda: changed(model={**POCKET["model"], "merges": ["a b c", "a", " "]}), "a"),
    ("prefix", lambda: changed(model={**POCKET["model"], "continuing_subword_prefix": "#" * 100_000}), "hello"),
    ("suffix", lambda: changed(model={**POCKET["model"], "end_of_word_suffix": "#" * 100_000}), "hello " * 1000),
    ("dropout", lambda: changed(model={**POCKET["model"], "dropout": 0.5}), "hello"),
):
    tokenize(f"merge-{name}", MERGE, make, text)
VOCAB = "A vocabulary that contradicts itself is refused."
for name, vocab in {
    "empty": {},
    "same-id": {"a": 0, "b": 0},
    "negative": {"a": -1},
    "huge": {"a": 2**31},
    "most": {"a": 2**63},
    "float": {"a": 1.5},
    "text": {"a": "0"},
    "null": {"a": None},
    "gap": {"a": 0, "b": 2**30},
    "list": [["a", 1]],
    "long-token": {"a" * 5_000_000: 0},
    "number": 5,
}.items():
    tokenize(
        f"vocab-{name}",
        VOCAB,
        lambda vocab=vocab: changed(model={**POCKET["model"], "vocab": vocab, "merges": []}),
        "a b",
    )
NORMAL = "A normalizer that makes much out of little is charged for what it makes."


def replace(old, new, **more):
    return {"type": "Replace", "pattern": {"String": old, **more}, "content": new}


for name, make, text in (
    ("grow", lambda: replace("a", "b" * 10_000), "a" * 1_000_000),
    ("doubling", lambda: {"type": "Sequence", "normalizers": [replace("a", "aa") for _ in range(40)]}, "a"),
    (
        "doubling-wide",
        lambda: {"type": "Sequence", "normalizers": [replace("a", "a" * 1000) for _ in range(5)]},
        "a" * 100,
    ),
    ("empty-pattern", lambda: replace("", "xyz"), "a" * 500_000),
    ("regex", lambda: {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": "x"}, "a" * 30_000 + "b"),
    ("regex-pieces", lambda: {"type": "Replace", "pattern": {"Regex": "(a+)+c|b"}, "content": "x"}, PIECES),
    ("regex-empty", lambda: {"type": "Replace", "pattern": {"Regex": "x*"}, "content": "ab"}, "a" * 500_000),
    ("deep", lambda: json.loads('{"type":"Sequence","normalizers":[' * 90 + '{"type":"NFC"}' + "]}" * 90), "a"),
    ("many", lambda: {"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "NFC"}] * 5000}, "a" * 1000),
    ("prepend", lambda: {"type": "Prepend", "prepend": "x" * 1_000_000}, "a"),
    (
        "prepends",
        lambda: {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "x" * 10_000}] * 10_000},
        "a",
    ),
    ("nfkc-ligature", lambda: {"type": "NFKC"}, "\ufdfa" * 500_000),
    ("nfkd-marks", lambda: {"type": "NFKD"}, "a" + "\u0301\u0316" * 500_000),
    ("nfc-marks", lambda: {"type": "NFC"}, "a" + "\u0316\u0301" * 500_000),
    (
        "strip-accents",
        lambda: {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]},
        "é" * 500_000,
    ),
    ("lowercase", lambda: {"type": "Lowercase"}, "\u0130" * 500_000),
    (
        "bert",
        lambda: {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": True,
            "lowercase": True,
        },
        "中" * 500_000,
    ),
    ("charsmap", lambda: {"type": "Precompiled", "precompiled_charsmap": "AAAA"}, "abc"),
    ("charsmap-random", lambda: {"type": "Precompiled", "precompiled_charsmap": "/////w==" + "abcd" * 10_000}, "abc"),
    ("strip", lambda: {"type": "Strip", "strip_left": True, "strip_right": True}, " " * 1_000_000),
    ("unknown", lambda: {"type": "Nothing"}, "a"),
    ("number", lambda: 5, "a"),
):
    tokenize(f"normalizer-{name}", NORMAL, lambda make=make: changed(normalizer=make()), text)
UNIGRAM = {"type": "Unigram", "unk_id": 0, "byte_fallback": False}
for name, make, text in (
    ("long-pieces", lambda: [["<unk>", 0.0]] + [["a" * i, -float(i)] for i in range(1, 2000)], "a" * 200_000),
    ("one-piece", lambda: [["<unk>", 0.0], ["a", -1.0]], "a" * 1_000_000),
    ("huge-scores", lambda: [["<unk>", 0.0], ["a", 1e308], ["aa", 1e308]], "a" * 10_000),
    ("lowest-scores", lambda: [["<unk>", 0.0], ["a", -1e308], ["aa", -1e308]], "a" * 10_000),
    ("same-piece", lambda: [["<unk>", 0.0]] + [["a", -1.0]] * 10_000, "a" * 1000),
    ("empty-piece", lambda: [["<unk>", 0.0], ["", -1.0]], "abc"),
    ("empty", lambda: [], "abc"),
    ("unknown-text", lambda: [["<unk>", 0.0]], "xyz" * 300_000),
    ("text-score", lambda: [["<unk>", "0"]], "abc"),
    ("unk-id-past", lambda: [["a", 0.0]], "abc"),
):
    tokenize(
        f"unigram-{name}",
        "A lattice of pieces costs text times the longest piece, and no more.",
        lambda make=make, name=name: changed(
            model={**UNIGRAM, "vocab": make(), "unk_id": 7 if name == "unk-id-past" else 0}, pre_tokenizer=None
        ),
        text,
    )
FILE = "A file that is none, or that holds what nobody expects, is refused in one line."
for name, raw in {
    "empty": "",
    "list": "[]",
    "null": "null",
    "deep": "[" * 1_000_000,
    "no-model": "{}",
    "model-number": '{"model": 5}',
    "model-unknown": '{"model": {"type": "Nothing"}}',
    "word-piece": '{"model": {"type": "WordPiece", "vocab": {}}}',
    "bad-utf8": b'{"model": "\xff"}',
    "utf16": "{}".encode("utf-16"),
    "nan": '{"model": NaN}',
    "decoder": lambda: changed(decoder={"type": "Nothing"}),
    "decoder-replace": lambda: changed(decoder={"type": "Sequence", "decoders": [replace("a", "a" * 1000)] * 50}),
    "pre-tokenizer": lambda: changed(pre_tokenizer={"type": "Nothing"}),
    "pre-tokenizers-many": lambda: changed(
        pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}] * 20_000}
    ),
    "post-processor": lambda: changed(
        post_processor={
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "none", "type_id": 0}}],
            "pair": [],
            "special_tokens": {},
        }
    ),
    "post-processor-many": lambda: changed(
        post_processor={
            "type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}}] * 100_000,
            "pair": [],
            "special_tokens": {},
        }
    ),
    "post-processor-ids": lambda: changed(
        post_processor={
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "x", "type_id": 0}}],
            "pair": [],
            "special_tokens": {"x": {"id": "x", "ids": [2**40], "tokens": ["x"]}},
        }
    ),
    "truncation": lambda: changed(truncation={"max_length": -1}),
    "duplicate-keys": '{"model": {}, "model": {}}',
}.items():
    tokenize(f"file-{name}", FILE, raw)
TEXT = "Any text at all can be tokenized, or is refused in one line."
for name, text in {
    "empty": "",
    "nul": "\0" * 100_000,
    "bad-utf8": b"\xff\xfe" * 100_000,
    "cut-utf8": b"abc\xe2\x82",
    "surrogates": "\ud800".encode("utf-8", "surrogatepass") * 1000,
    "ten-mb": "The quick brown fox. " * 500_000,
    "ten-mb-one-word": "a" * 10_000_000,
    "ten-mb-digits": "1" * 5_000_000,
    "ten-mb-spaces": " " * 10_000_000,
    "ten-mb-lines": "\n" * 10_000_000,
    "ten-mb-quotes": "'s" * 2_500_000,
    "emoji": "👩‍👩‍👧‍👦" * 100_000,
    "right-to-left": "\u202e\u0645" * 500_000,
    "all-characters": "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000, 7)])),
    "specials": "<|im_start|>" * 200_000,
    "specials-cut": "<|im_start|" * 200_000,
}.items():
    tokenize(f"text-{name}", TEXT, POCKET, text)
