#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What speculative decoding gains on texts that repeat themselves and on texts that do not. See README.md beside this file."""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys

FIRST_ID = 300  # ids from here on are ordinary tokens in every vocabulary


def run(options, prompt, flags, tokens):
    """The answer of one process, and the processor time that it took in seconds."""
    command = [options.anemone, "run", options.model, "--threads", str(options.threads), "--ignore-eos", "--json",
               "--prompt-ids", " ".join(map(str, prompt)), "--max-new", str(tokens), *flags]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"status {status}: {' '.join(command)}")
    return json.loads(output), usage.ru_utime + usage.ru_stime


def measure(options, name, prompt, flags):
    """Ratios of the runs without drafts to those with them, in turn; every text is compared."""
    draft = [f"--draft={options.draft}"] if options.draft else ["--draft-ngram"]
    wall, processor, timing = [], [], {}
    for i in range(options.rounds):
        start = run(options, prompt, flags, 1)[1]
        order = [[], draft] if i % 2 == 0 else [draft, []]
        answers = {bool(extra): run(options, prompt, flags + extra, options.tokens) for extra in order}
        if answers[False][0]["ids"] != answers[True][0]["ids"]:
            sys.exit(f"{name}: the text is not the same with drafts")
        timing = answers[True][0]["timing"]
        wall.append(answers[False][0]["timing"]["decode_s"] / timing["decode_s"])
        processor.append((answers[False][1] - start) / (answers[True][1] - start))
    spread = [f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})" for values in (wall, processor)]
    print(f"{name:10} time {spread[0]}, processor time {spread[1]}; "
          f"{timing.get('accepted_tokens', 0)} of {timing.get('proposed_tokens', 0)} proposed tokens accepted", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("anemone", help="the program")
    parser.add_argument("model", help="artifact folder")
    parser.add_argument("--draft", help="a draft model instead of n-gram lookup")
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--vocab", type=int, default=100_000, help="prompts hold ids below this one")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    choice = random.Random(options.seed)
    block = [choice.randrange(FIRST_ID, options.vocab) for _ in range(16)]
    measure(options, "repeating", block * 4, ["--greedy"])
    measure(options, "random", [choice.randrange(FIRST_ID, options.vocab) for _ in range(64)],
            ["--temperature", "2", "--seed", "1"])


if __name__ == "__main__":
    main()
