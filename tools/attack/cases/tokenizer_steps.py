# SPDX-License-Identifier: Apache-2.0
"""Steps of a tokenizer.json that multiply: what they hold, how many there are, and those that run for every token."""

import json

from lib.case import Failure, add
from lib.process import check_error_line, refused, shown
from lib.trial import checkpoint_of

from .tokenizers import POCKET, added, changed, replace, tokenize

MIXED = ("The quick brown fox, 123 jumps! \n\té" * 40_000)[:1_000_000]
EVERYWHERE = {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": False}
DIGITS = {"type": "Digits", "individual_digits": True}
STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}
REGEX = {"type": "Replace", "pattern": {"Regex": "[a-z]"}, "content": "a"}


def sequence(names, steps):
    return {"type": "Sequence", names: steps}


NORMALIZERS, PRETOKENIZERS, DECODERS = "normalizers", "pretokenizers", "decoders"
COUNT = "The steps of a tokenizer have a bound together, whatever they are."
for name, more in (
    ("normalizers", {"normalizer": sequence(NORMALIZERS, [{"type": "Lowercase"}] * 3000)}),
    ("pretokenizers", {"pre_tokenizer": sequence(PRETOKENIZERS, [EVERYWHERE] + [METASPACE] * 2000)}),
    ("decoders", {"decoder": sequence(DECODERS, [replace("a", "b")] * 1000)}),
    ("processors", {"post_processor": sequence("processors", [{"type": "ByteLevel"}] * 1000)}),
    (
        "nested",
        {"normalizer": sequence(NORMALIZERS, [sequence(NORMALIZERS, [{"type": "NFC"}] * 100)] * 100)},
    ),
):
    tokenize(f"steps-{name}", COUNT, lambda more=more: changed(**more), MIXED, outcome=refused)
MOST = "As many steps as there may be take a bounded time and memory for a megabyte of text."
for name, more in (
    ("lowercase", {"normalizer": sequence(NORMALIZERS, [{"type": "Lowercase"}] * 240)}),
    ("nfd", {"normalizer": sequence(NORMALIZERS, [{"type": "NFD"}] * 240)}),
    ("strip", {"normalizer": sequence(NORMALIZERS, [STRIP] * 240)}),
    ("replace", {"normalizer": sequence(NORMALIZERS, [replace(f"z{i}", "q") for i in range(240)])}),
    ("regex", {"normalizer": sequence(NORMALIZERS, [REGEX] * 240)}),
    ("metaspace", {"pre_tokenizer": sequence(PRETOKENIZERS, [EVERYWHERE] + [METASPACE] * 240)}),
    ("digits", {"pre_tokenizer": sequence(PRETOKENIZERS, [DIGITS] * 240)}),
    ("decode", {"decoder": sequence(DECODERS, [replace("a", "b"), replace("b", "a")] * 100)}),
):
    tokenize(f"steps-most-{name}", MOST, lambda more=more: changed(**more), MIXED)
HELD = "A text pays for all that its steps hold, not for each of its parts alone."
for name, more, text in (
    ("replace", {"normalizer": replace("a", "b" * 64)}, "a" * 1_000_000),
    ("swap", {"normalizer": sequence(NORMALIZERS, [replace("a", "bb"), replace("b", "a")] * 50)}, "a" * 1_000_000),
    (
        "prepend-between",
        {
            "normalizer": {"type": "Prepend", "prepend": "▁" * 100_000},
            "added_tokens": [*POCKET["added_tokens"], added("<|x|>", 2000)],
        },
        "<|x|>b" * 50_000,
    ),
    (
        "affix",
        {"model": {**POCKET["model"], "continuing_subword_prefix": "#" * 100_000, "merges": []}, "pre_tokenizer": None},
        "a" * 1_000_000,
    ),
):
    tokenize(f"held-{name}", HELD, lambda more=more: changed(**more), text)


def processor(pieces, ids):
    special = {"SpecialToken": {"id": "x", "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [special] * pieces + [{"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [],
        "special_tokens": {"x": {"id": "x", "ids": [1] * ids, "tokens": ["a"]}},
    }


PROCESSOR = "The tokens around a text have a bound, however short the file says them."
for name, make in (
    ("product", lambda: processor(20_000, 10_000)),
    ("sequence", lambda: sequence("processors", [processor(30, 30)] * 100)),
):
    tokenize(f"processor-{name}", PROCESSOR, lambda make=make: changed(post_processor=make()), outcome=refused)

ANSWER = "The tokens of an answer share one budget for their decoding, and its error reaches the caller."


def cut_short(outcome):
    """An error, after what was decoded before it."""
    outcome.check_alive()
    if outcome.code not in (2, 4):
        raise Failure(f"expected an error, got exit code {outcome.code}: {shown(outcome.err)}")
    check_error_line(outcome)


def ended(outcome):
    return outcome.check_alive() if outcome.code == 0 else cut_short(outcome)


def answer(name, length, step, count, outcome=cut_short):
    """A model whose tokens are long, and whose decoder has that step many times."""

    def body(trial):
        folder = trial.copy(checkpoint_of("pocket"), "checkpoint")
        special = {token["id"] for token in POCKET["added_tokens"]}
        vocab = {
            token if i in special else "a" * length + f"b{i}": i for token, i in POCKET["model"]["vocab"].items()
        }
        made = changed(
            model={**POCKET["model"], "vocab": vocab, "merges": []}, decoder=sequence(DECODERS, [step] * count)
        )
        trial.write("checkpoint/tokenizer.json", json.dumps(made))
        outcome(trial.run("run", folder, "hi", "--max-new", "100", "--ignore-eos"))

    add(f"tokenizer/answer-{name}", ANSWER, body)


SLOW = {"type": "Replace", "pattern": {"Regex": "(a|aa)+[cd]"}, "content": "x"}
answer("slow-token", 40, SLOW, 200)
answer("slow-tokens", 22, SLOW, 1, ended)
answer("slow-steps", 24, SLOW, 200)
answer("long-token", 5000, SLOW, 50)
answer("grows", 40, replace("a", "b" * 200_000), 1)
