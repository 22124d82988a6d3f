# SPDX-License-Identifier: Apache-2.0
"""Makes every conversation the pocket model is trained and tested on.

Pure Python, no downloads, seeded: the same seed always gives the same text.

The split into training and held-out text is a property of the *fact*, decided
by a hash of its name, so no random draw can ever move a fact across.  What the
fact is depends on what can be generalised:

  sums, differences   the unordered pair of numbers, in every phrasing
  plurals, pasts      the regular word, in every phrasing
  units (powers of 10) the value, in every phrasing
  made-up countries, names, big sums, unknown topics    the word or number itself
  tables (capitals, currencies, phrases, times tables, irregular words, time
  and temperature units)      the combination of fact and phrasing; the fact
  itself is learnt by heart from its other phrasings

    python generate.py --count 20              # look at some training text
    python generate.py --write-tests test_questions.jsonl
"""

import argparse
import json
import random

from topics import countries, outside, phrases, sums, talk, units, variety, words
from topics.wording import is_held_out

# category: (share of the training questions, maker).  Arithmetic is the hardest
# part for a model this small and gets most of the questions.
SINGLE = {
    "addition": (24, sums.make_add),
    "subtraction": (27, sums.make_subtract),
    "multiplication": (6, sums.make_multiply),
    "division": (4, sums.make_divide),
    "capital": (5, countries.make_capital),
    "capital, reversed": (3.5, countries.make_capital_reverse),
    "currency": (4, countries.make_currency),
    "plural": (4.5, words.make_plural),
    "past tense": (6.5, words.make_past),
    "decimal units": (4, units.make_decimal_unit),
    "time and dozens": (2.5, units.make_counted_unit),
    "temperature": (2, units.make_temperature),
    "French": (5, phrases.make_french),
    "German": (5, phrases.make_german),
    "small talk": (3, talk.make_small_talk),
    "unknown": (6, outside.make_unknown),
    "too big": (2, sums.make_too_big),
}
DIALOGUE = {"follow-up": (2.5, countries.make_follow_up), "name memory": (2, talk.make_name_memory)}
CATEGORIES = list(SINGLE) + list(DIALOGUE)
SYSTEM_TEXTS = ["You are a helpful assistant.", "You are a friendly assistant.", "Answer briefly.", "Be helpful.",
                "You are a helpful assistant. Answer in one sentence."]


def draw(rng, category, split):
    """Turns [(question, answer), ...] of one category; the last turn is the one that counts.

    The draw is repeated until its fact lies in the wanted part ("train" or "test")."""
    want = split == "test"
    while True:
        if category in SINGLE:
            key, question, answer = SINGLE[category][1](rng)
            turns = [(question, answer)]
        elif category == "name memory":
            key, turns = talk.make_name_memory(rng, between=draw_any(rng, "train"))
        else:
            key, turns = DIALOGUE[category][1](rng)
        if is_held_out(key) == want:
            return turns


def draw_any(rng, split):
    """One single question of a random category, by the shares above."""
    category = rng.choices(list(SINGLE), [share for share, _ in SINGLE.values()])[0]
    return draw(rng, category, split)


def conversation(rng, boost=None, varied=0.0):
    """One training conversation: mostly one question, some times a longer chat.

    `boost` multiplies the shares of some categories: {"plural": 2}.  `varied` is
    the share of conversations that topics/variety.py writes instead."""
    if varied and rng.random() < varied:
        return None, variety.draw(rng)
    roll = rng.random()
    if roll < 0.80:
        length = 1
    elif roll < 0.97:
        length = rng.randrange(2, 4)
    else:
        length = rng.randrange(4, 10)
    shares = {name: share * (boost or {}).get(name, 1) for name, (share, _) in {**SINGLE, **DIALOGUE}.items()}
    turns = []
    for category in rng.choices(list(shares), list(shares.values()), k=length):
        turns += draw(rng, category, "train")
    system = rng.choice(SYSTEM_TEXTS) if rng.random() < 0.04 else None
    return system, turns


def render(system, turns):
    """ChatML text in pieces (text, is_answer); the answers are what is learnt."""
    pieces = [(f"<|im_start|>system\n{system}<|im_end|>\n", False)] if system else []
    for question, answer in turns:
        pieces.append((f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n", False))
        pieces.append((f"{answer}<|im_end|>", True))
        pieces.append(("\n", False))
    return pieces


def training_stream(seed, count, boost=None, varied=0.0):
    rng = random.Random(f"train {seed}")
    for _ in range(count):
        yield render(*conversation(rng, boost, varied))


def held_out_questions(seed, per_category):
    """Distinct held-out questions as dicts with category, messages, prompt and answer."""
    rng = random.Random(f"test {seed}")
    questions = []
    for category in CATEGORIES:
        seen = set()
        tries = 0
        while len(seen) < per_category and tries < 100 * per_category:
            tries += 1
            turns = draw(rng, category, "test")
            messages = []
            for question, answer in turns:
                messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
            prompt = "".join(text for text, _ in render(None, turns)[:-2])
            if prompt in seen:
                continue
            seen.add(prompt)
            questions.append({"category": category, "messages": messages[:-1], "prompt": prompt,
                              "answer": turns[-1][1]})
    return questions


def write_tests(path, per_category=11, seed=1):
    questions = held_out_questions(seed, per_category)
    first = {"category": "addition", "messages": [{"role": "user", "content": "What is 17 + 25?"}],
             "prompt": "<|im_start|>user\nWhat is 17 + 25?<|im_end|>\n<|im_start|>assistant\n",
             "answer": "17 + 25 = 42."}
    with open(path, "w", encoding="utf-8") as out:
        for item in [first] + [q for q in questions if q["prompt"] != first["prompt"]]:
            out.write(json.dumps(item, ensure_ascii=False) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10, help="training conversations to print")
    parser.add_argument("--varied", type=float, default=0.0, help="share of topics/variety.py")
    parser.add_argument("--write-tests", metavar="FILE", help="write the small held-out question file instead")
    args = parser.parse_args()
    if args.write_tests:
        write_tests(args.write_tests)
        return
    for pieces in training_stream(args.seed, args.count, varied=args.varied):
        print("".join(text for text, _ in pieces))


if __name__ == "__main__":
    main()
