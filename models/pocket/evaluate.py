# SPDX-License-Identifier: Apache-2.0
"""Asks the checkpoint held-out questions and counts exact answers.

    python evaluate.py --json evaluation.json     # table and file
    python evaluate.py --check                    # same logits as transformers?
    python evaluate.py --ask "What is 17 + 25?"   # one question

The answer must match to the letter.  Decoding is greedy, with the weights as
they stand in the file (bf16, computed in fp32).
"""

import argparse
import json
from pathlib import Path

import torch
from tokenizers import Tokenizer

import generate
import model as pocket


def answer_all(model, tokenizer, prompts):
    ids = [tokenizer.encode(prompt).ids for prompt in prompts]
    answers = pocket.greedy(model, ids, pocket.GENERATION["eos_token_id"])
    return [tokenizer.decode(answer) for answer in answers]


def chat_prompt(turns, question):
    return "".join(text for text, _ in generate.render(None, turns + [(question, "")])[:-2])


def evaluate(model, tokenizer, questions, show_failures):
    prompts = [tokenizer.encode(q["prompt"]).ids for q in questions]
    wanted = [tokenizer.encode(q["answer"] + "<|im_end|>").ids for q in questions]
    right = pocket.answered_right(model, prompts, wanted)
    # What is left is decoded in earnest: the right text may be spelt with other tokens.
    rest = [i for i, yes in enumerate(right) if not yes]
    given = dict(zip(rest, answer_all(model, tokenizer, [questions[i]["prompt"] for i in rest])))
    rows = {}
    for index, question in enumerate(questions):
        correct = right[index] or given[index] == question["answer"]
        row = rows.setdefault(question["category"], {"questions": 0, "correct": 0})
        row["questions"] += 1
        row["correct"] += correct
        if show_failures and not correct:
            print(f"[{question['category']}] {question['messages'][-1]['content']}\n"
                  f"    wanted {question['answer']}\n    got    {given[index]}")
    return rows


def share(row):
    return round(100 * row["correct"] / row["questions"], 1)


def report(rows):
    total = {"questions": sum(r["questions"] for r in rows.values()),
             "correct": sum(r["correct"] for r in rows.values())}
    print("| category | held-out questions | correct | % |\n|---|---:|---:|---:|")
    for name, row in [*rows.items(), ("all", total)]:
        print(f"| {name} | {row['questions']} | {row['correct']} | {share(row)} |")
    return {"categories": {name: {**row, "percent": share(row)} for name, row in rows.items()},
            "all": {**total, "percent": share(total)}}


def check_against_transformers(folder, model, questions):
    """The logits of this file's model and of transformers must agree."""
    from transformers import AutoModelForCausalLM, AutoTokenizer
    reference = AutoModelForCausalLM.from_pretrained(folder).float().eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    worst = 0.0
    for question in questions:
        chat = tokenizer.apply_chat_template(question["messages"], tokenize=False, add_generation_prompt=True)
        assert chat == question["prompt"], "the chat template and generate.render() disagree"
        ids = tokenizer(question["prompt"], return_tensors="pt").input_ids
        with torch.no_grad():
            worst = max(worst, (reference(ids).logits - model(ids)).abs().max().item())
    print(f"largest logit difference to transformers over {len(questions)} prompts: {worst:.2e}")
    assert worst < 1e-3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", default="checkpoint")
    parser.add_argument("--per-category", type=int, default=300)
    parser.add_argument("--seed", default="evaluation")
    parser.add_argument("--tests", help="ask the questions of this jsonl file instead of fresh ones")
    parser.add_argument("--json", help="write the result to this file")
    parser.add_argument("--failures", action="store_true", help="print every wrong answer")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--ask", nargs="+", help="the user's turns of one chat")
    args = parser.parse_args()

    torch.set_num_threads(1)  # threads that wait for each other are slow on a busy machine
    model = pocket.load(args.checkpoint)
    tokenizer = Tokenizer.from_file(str(Path(args.checkpoint) / "tokenizer.json"))
    if args.ask:
        turns = []
        for question in args.ask:
            prompt = chat_prompt(turns, question)
            while turns and len(tokenizer.encode(prompt).ids) > model.config["max_position_embeddings"] - 64:
                turns = turns[1:]  # the oldest turn goes when the chat gets too long
                prompt = chat_prompt(turns, question)
            answer, = answer_all(model, tokenizer, [prompt])
            turns.append((question, answer))
            print(f"> {question}\n{answer}")
        return
    if args.check:
        check_against_transformers(args.checkpoint, model, generate.held_out_questions(args.seed, 5))
        return
    if args.tests:
        questions = [json.loads(line) for line in Path(args.tests).read_text(encoding="utf-8").splitlines()]
    else:
        questions = generate.held_out_questions(args.seed, args.per_category)
    result = report(evaluate(model, tokenizer, questions, args.failures))
    if args.json:
        result = {"seed": args.seed, "decoding": "greedy, exact match", **result}
        Path(args.json).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
