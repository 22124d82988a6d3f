# SPDX-License-Identifier: Apache-2.0
"""Checks that held-out questions never occur in the training text.

    python check_split.py --seed 0 --count 200000

Draws training conversations as train.py does and fails when one of them states
a held-out sum or difference, or asks a question of test_questions.jsonl.
"""

import argparse
import json
import re
from pathlib import Path

import generate


def plain(text):
    """Spelling that ignores case, punctuation and polite prefixes; signs count."""
    text = text.lower()
    for prefix in ("please tell me:", "hey,", "hi,", "can you tell me,", "tell me,", "and "):
        text = text.removeprefix(prefix).strip()
    return re.sub(r"[^\w+*/×÷°−–-]", "", re.sub(r",? please\b", "", text))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", default="0-0", help="seed of the training text; train.py uses SEED-CHUNK")
    parser.add_argument("--count", type=int, default=200000)
    args = parser.parse_args()

    assert generate.is_held_out("+:17:25") and generate.is_held_out("-:17:25")
    # Small talk is held out by spelling only, and the answer to a follow-up or
    # to a name question depends on the turns before it.
    skipped = ("small talk", "follow-up", "name memory")
    lines = Path(__file__).with_name("test_questions.jsonl").read_text(encoding="utf-8").splitlines()
    tests = [json.loads(line) for line in lines]
    forbidden = {plain(t["messages"][-1]["content"]): t for t in tests if t["category"] not in skipped}
    assert "whatis17+25" in forbidden

    sums, leaks = 0, set()
    for pieces in generate.training_stream(args.seed, args.count):
        for text, is_answer in pieces:
            if is_answer:
                match = re.match(r"(\d+) ([+-]) (\d+) =", text)
                if match:
                    sums += 1
                    a, b = sorted((int(match[1]), int(match[3])))
                    assert not generate.is_held_out(f"{match[2]}:{a}:{b}"), text
            elif "user\n" in text:
                question = text.split("user\n", 1)[1].split("<|im_end|>")[0]
                if plain(question) in forbidden:
                    leaks.add(question)
    print(f"{args.count} conversations, {sums} sums and differences, none of them held out")
    print(f"{len(leaks)} of {len(forbidden)} test questions seen in training", *sorted(leaks), sep="\n  ")
    assert not leaks


if __name__ == "__main__":
    main()
