# SPDX-License-Identifier: Apache-2.0
"""Trains the pocket model on the CPU in fp32, from random weights.

    python make_tokenizer.py checkpoint
    python train.py --out checkpoint --steps 3000

The schedule ends after --steps, or earlier after --minutes on a slow machine:
the learning rate follows whichever is further on, so both end in a finished
model.  With --steps alone a run is repeatable.
"""

import argparse
import math
import os
import random
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from tokenizers import Tokenizer

import generate
import model as pocket


def batches(tokenizer, seed, tokens, boost, varied):
    """Endless (ids, targets); rows of similar length go together, answers only have targets.

    A chunk of fresh conversations is made, sorted by length, cut into batches
    of about `tokens` tokens and shuffled."""
    rng = random.Random(f"batches {seed}")
    chunk = 0
    while True:
        rows = []
        pieces_of = list(generate.training_stream(f"{seed}-{chunk}", 4000, boost, varied))
        flat = [text for pieces in pieces_of for text, _ in pieces]
        encoded = iter(tokenizer.encode_batch(flat))
        for pieces in pieces_of:
            ids, learn = [], []
            for _, is_answer in pieces:
                part = next(encoded).ids
                ids += part
                learn += [is_answer] * len(part)
            # the last newline is never predicted from and never learnt
            rows.append((ids[:-1], learn[:-1]))
        rows = [row for row in rows if len(row[0]) <= pocket.CONFIG["max_position_embeddings"]]
        rows.sort(key=lambda row: len(row[0]) + rng.random())
        cut, part, width = [], [], 0
        for row in rows:
            width = len(row[0])
            if part and (len(part) + 1) * width > tokens:
                cut.append(part)
                part = []
            part.append(row)
        cut.append(part)
        rng.shuffle(cut)
        for part in cut:
            width = max(len(ids) for ids, _ in part)
            ids = torch.full((len(part), width), pocket.CONFIG["pad_token_id"])
            targets = torch.full((len(part), width), -100)
            for k, (row, learn) in enumerate(part):
                row = torch.tensor(row)
                ids[k, :len(row)] = row
                targets[k, :len(row) - 1] = torch.where(torch.tensor(learn)[1:], row[1:], -100)
            yield ids, targets
        chunk += 1


class Muon(torch.optim.Optimizer):
    """Momentum whose update is made orthogonal by Newton-Schulz steps.

    For the weight matrices it needs far fewer steps than AdamW, which matters on
    a CPU.  Matrices of one shape are stacked and updated together."""

    def __init__(self, params, lr, momentum=0.95, weight_decay=0.02):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            by_shape = {}
            for weight in group["params"]:
                state = self.state[weight]
                if "average" not in state:
                    state["average"] = torch.zeros_like(weight)
                state["average"].lerp_(weight.grad, 1 - group["momentum"])
                update = weight.grad.lerp(state["average"], group["momentum"])
                by_shape.setdefault(weight.shape, []).append((weight, update))
            for shape, pairs in by_shape.items():
                updates = orthogonal(torch.stack([update for _, update in pairs]))
                scale = max(1, shape[0] / shape[1]) ** 0.5
                for (weight, _), update in zip(pairs, updates):
                    weight.mul_(1 - group["lr"] * group["weight_decay"])
                    weight.add_(update, alpha=-group["lr"] * scale)


def orthogonal(x, steps=5):
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        square = x @ x.mT
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x.mT if tall else x


def quick_check(model, tokenizer, questions):
    """Share of held-out questions answered exactly, per category."""
    model.eval()
    right = pocket.answered_right(model, [tokenizer.encode(q["prompt"]).ids for q in questions],
                                  [tokenizer.encode(q["answer"] + "<|im_end|>").ids for q in questions])
    model.train()
    score = {}
    for question, hit in zip(questions, right):
        score.setdefault(question["category"], []).append(hit)
    return {category: sum(hits) / len(hits) for category, hits in score.items()}


def worker(rank, args, meeting):
    """One process with one thread.  Each computes the gradient of its own batches;
    they add up their gradients once per step and then all take the same step.

    On a busy machine this loses far less than threads that wait for each other
    after every operation."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=args.workers)
    tokenizer = Tokenizer.from_file(str(Path(args.out) / "tokenizer.json"))
    for token, index in (("<|im_end|>", "eos_token_id"), ("<|endoftext|>", "pad_token_id")):
        assert tokenizer.token_to_id(token) == pocket.CONFIG[index]
    model = pocket.load(args.init) if args.init else pocket.Qwen2()
    model.train()
    names, weights = zip(*model.named_parameters())
    is_matrix = [w.ndim == 2 and "embed" not in name for name, w in zip(names, weights)]
    matrices = [w for w, yes in zip(weights, is_matrix) if yes]
    rest = [w for w, yes in zip(weights, is_matrix) if not yes]
    optimizers = [Muon(matrices, lr=args.lr),
                  torch.optim.AdamW(rest, lr=args.lr_rest, betas=(0.9, 0.98), weight_decay=0.01)]
    peaks = [args.lr, args.lr_rest]
    boost = {name: float(factor) for name, factor in (item.split("=") for item in args.boost)}
    assert set(boost) <= set(generate.CATEGORIES)
    stream = batches(tokenizer, f"{args.seed}-{rank}", args.tokens, boost, args.varied)
    questions = generate.held_out_questions("check", 60)
    say = lambda *words: print(*words, flush=True) if rank == 0 else None
    say("arguments:", " ".join(f"{name}={value}" for name, value in vars(args).items()))
    say(sum(w.numel() for w in weights), "parameters")

    start, seen, running = time.time(), 0, None
    checking = 0.0  # time spent on checks does not count against --minutes
    step, done = 0, 0.0
    while done < 1:
        step += 1
        done = max(step / args.steps, (time.time() - start - checking) / 60 / args.minutes)
        total, learnt, tokens = 0.0, 0, 0
        for ids, targets in (next(stream) for _ in range(args.parts)):
            learn = targets >= 0
            logits = model.logits(model.hidden(ids)[learn])  # the head runs on answers only
            loss = F.cross_entropy(logits, targets[learn], reduction="sum")
            loss.backward()
            total, learnt, tokens = total + loss.item(), learnt + int(learn.sum()), tokens + ids.numel()
        # Rank 0 also says how far on the run is, so that all agree when it ends.
        numbers = torch.tensor([total, learnt, tokens, done if rank == 0 else 0.0])
        flat = torch.cat([w.grad.flatten() for w in weights] + [numbers])
        dist.all_reduce(flat)
        total, learnt, tokens, done = flat[-4:].tolist()
        for w, part in zip(weights, (flat[:-4] / learnt).split([w.numel() for w in weights])):
            w.grad.copy_(part.view_as(w))
        factor = min(1, step / 40) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1, done))))
        for optimizer, peak in zip(optimizers, peaks):
            optimizer.param_groups[0]["lr"] = peak * factor
        torch.nn.utils.clip_grad_norm_(rest, 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        seen += tokens
        running = total / learnt if running is None else 0.95 * running + 0.05 * total / learnt
        if step % 50 == 0 or done >= 1:
            spent = time.time() - start - checking
            say(f"step {step} loss {running:.4f} tokens {seen / 1e6:.2f} M, {seen / spent:.0f}/s, "
                f"{spent / 60:.1f} min, done {done:.3f}")
        if (step % args.check_every == 0 or done >= 1) and rank == 0:
            began = time.time()
            pocket.save(model, args.out)
            score = quick_check(model, tokenizer, questions)
            checking += time.time() - began
            say("held out:", " ".join(f"{name} {100 * value:.0f}" for name, value in score.items()))
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="checkpoint", help="folder with the tokenizer; the checkpoint goes there")
    parser.add_argument("--init", help="folder of a checkpoint to go on from, instead of random weights")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=4096, help="tokens of one part of a worker's step")
    parser.add_argument("--parts", type=int, default=1, help="parts of a worker's step")
    parser.add_argument("--lr", type=float, default=0.02, help="peak rate of the matrices (Muon)")
    parser.add_argument("--lr-rest", type=float, default=0.003, help="peak rate of everything else (AdamW)")
    parser.add_argument("--boost", nargs="*", default=[], metavar="CATEGORY=FACTOR", help="more of a category")
    parser.add_argument("--varied", type=float, default=0.0, help="share of the text of topics/variety.py")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--check-every", type=int, default=400, help="steps between checkpoints")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, (args, os.path.join(folder, "meeting")), nprocs=args.workers)


if __name__ == "__main__":
    main()
