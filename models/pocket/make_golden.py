# SPDX-License-Identifier: Apache-2.0
"""Writes what transformers computes for the checkpoint, for the test suite.

    python make_golden.py ../../tests/compiler/data/pocket_golden.safetensors

The file holds, in fp32 from the bf16 weights widened to fp32:
  input_ids [48]         a chat in the model's template, up to where the answer begins
  logits [48, vocab]     of every position
  hidden.N [48, hidden]  the input of layer N; the last N is after the final norm
  greedy_ids [32]        the greedy continuation, not stopped at the end of the answer
"""

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

TOKENS, NEW_TOKENS = 48, 32
# 48 tokens in this tokenizer: three turns, the last is the question that is never trained on.
CHAT = [
    {"role": "user", "content": "What is the capital of France?"},
    {"role": "assistant", "content": "The capital of France is Paris."},
    {"role": "user", "content": "What is 17 + 25?"},
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", help="safetensors file to write")
    parser.add_argument("--checkpoint", default=str(Path(__file__).with_name("checkpoint")))
    args = parser.parse_args()

    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(args.checkpoint)
    model = AutoModelForCausalLM.from_pretrained(args.checkpoint, dtype=torch.float32,
                                                 attn_implementation="eager").eval()
    text = tokenizer.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=True)
    ids = tokenizer(text, return_tensors="pt").input_ids
    assert ids.shape[1] == TOKENS, f"the chat is {ids.shape[1]} tokens long, not {TOKENS}"
    with torch.no_grad():
        first = model(ids, output_hidden_states=True)
        whole, margins = ids, []
        for _ in range(NEW_TOKENS):
            top = model(whole).logits[0, -1].topk(2)
            margins.append((top.values[0] - top.values[1]).item())
            whole = torch.cat((whole, top.indices[:1].view(1, 1)), 1)
    greedy = whole[0, TOKENS:]
    # A continuation that hangs on rounding would make tests fail without a fault.
    assert min(margins) > 0.01, f"smallest margin of the greedy continuation: {min(margins)}"
    tensors = {"input_ids": ids[0], "logits": first.logits[0], "greedy_ids": greedy}
    tensors |= {f"hidden.{n}": hidden[0] for n, hidden in enumerate(first.hidden_states)}
    save_file({name: value.contiguous() for name, value in tensors.items()}, args.out)
    print(json.dumps({"chat": text, "answer": tokenizer.decode(greedy), "smallest margin": min(margins)},
                     ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
