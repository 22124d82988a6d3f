# SPDX-License-Identifier: Apache-2.0
"""Checks that held-out questions never occur in the training text.

    python check_split.py                                       # 200,000 conversations
    python check_split.py --seed 4-0 --chunks 15 --varied 0.5   # those of train.py --seed 4

Draws training conversations as train.py does and fails when one of them states
a held-out sum or difference, or asks a question of test_questions.jsonl.
"""

import argparse
import itertools
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
    parser.add_argument("--seed", default="0-0", help="SEED-WORKER of train.py")
    parser.add_argument("--chunks", type=int, default=50, help="chunks of 4000 conversations, as train.py draws them")
    parser.add_argument("--varied", type=float, default=0.0, help="share of topics/variety.py, as for train.py")
    parser.add_argument("--boost", nargs="*", default=[], metavar="CATEGORY=FACTOR", help="as for train.py")
    args = parser.parse_args()
    boost = {name: float(factor) for name, factor in (item.split("=") for item in args.boost)}

    assert generate.is_held_out("+:17:25") and generate.is_held_out("-:17:25")
    # Small talk is held out by spelling only, and the answer to a follow-up or
    # to a name question depends on the turns before it.
    skipped = ("small talk", "follow-up", "name memory")
    lines = Path(__file__).with_name("test_questions.jsonl").read_text(encoding="utf-8").splitlines()
    tests = [json.loads(line) for line in lines]
    forbidden = {plain(t["messages"][-1]["content"]): t for t in tests if t["category"] not in skipped}
    assert "whatis17+25" in forbidden

    sums, leaks = 0, set()
    streams = (generate.training_stream(f"{args.seed}-{chunk}", 4000, boost, args.varied) for chunk in range(args.chunks))
    for pieces in itertools.chain.from_iterable(streams):
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
    print(f"{4000 * args.chunks} conversations, {sums} sums and differences, none of them held out")
    print(f"{len(leaks)} of {len(forbidden)} test questions seen in training", *sorted(leaks), sep="\n  ")
    assert not leaks


if __name__ == "__main__":
    main()
