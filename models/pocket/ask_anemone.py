# SPDX-License-Identifier: Apache-2.0
"""Asks compiled packages the held-out questions, through the anemone command.

    anemone compile checkpoint -o pocket.anemone
    python ask_anemone.py --anemone ../../build/dev/anemone pocket.anemone

This measures what users get: INT8 weights, fp16 arithmetic, our tokenizer and
our chat template.  Needs Python's standard library only.  Each question is a
chat of its own; a chat of two turns is judged by its last answer, and the
model's own first answer stands before it.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def ask(anemone, artifact, turns):
    """The last answer of a chat with the given user turns (one line each)."""
    run = subprocess.run([anemone, "run", artifact, "--json", "--greedy"], input="\n".join(turns) + "\n",
                         capture_output=True, text=True, encoding="utf-8", check=False)
    lines = run.stdout.splitlines()
    if run.returncode != 0 or len(lines) != len(turns):
        sys.exit(f"anemone run: exit status {run.returncode}, {len(lines)} answers to {turns}\n{run.stderr}")
    return json.loads(lines[-1])["text"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("artifact", help="folder that anemone compile wrote, or a checkpoint folder")
    parser.add_argument("--anemone", default="anemone", help="the program")
    parser.add_argument("--tests", default=str(Path(__file__).with_name("test_questions.jsonl")))
    parser.add_argument("--jobs", type=int, default=2, help="questions at a time")
    parser.add_argument("--failures", action="store_true", help="print every wrong answer")
    args = parser.parse_args()

    questions = [json.loads(line) for line in Path(args.tests).read_text(encoding="utf-8").splitlines()]
    turns_of = [[m["content"] for m in q["messages"] if m["role"] == "user"] for q in questions]
    with ThreadPoolExecutor(args.jobs) as pool:
        answers = list(pool.map(lambda turns: ask(args.anemone, args.artifact, turns), turns_of))
    rows = {}
    for question, turns, answer in zip(questions, turns_of, answers):
        row = rows.setdefault(question["category"], [0, 0])
        row[0] += 1
        row[1] += answer == question["answer"]
        if args.failures and answer != question["answer"]:
            print(f"[{question['category']}] {' / '.join(turns)}\n"
                  f"    wanted {question['answer']}\n    got    {answer}")
    rows["all"] = [sum(row[k] for row in rows.values()) for k in (0, 1)]
    print("| category | questions | correct | % |\n|---|---:|---:|---:|")
    for name, (count, correct) in rows.items():
        print(f"| {name} | {count} | {correct} | {100 * correct / count:.1f} |")


if __name__ == "__main__":
    main()
