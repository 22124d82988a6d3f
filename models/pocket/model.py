# SPDX-License-Identifier: Apache-2.0
"""The Qwen2 decoder in plain PyTorch, with the tensor names of its checkpoints.

Used for training and evaluation only; the files it writes are ordinary Qwen2
checkpoints (evaluate.py --check compares the logits with transformers).
"""

import json
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import nn

CONFIG = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "vocab_size": 1024,
    "hidden_size": 128,
    "intermediate_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "hidden_act": "silu",
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "rope_scaling": None,
    "use_sliding_window": False,
    "tie_word_embeddings": True,
    "attention_dropout": 0.0,
    "initializer_range": 0.02,
    "use_cache": True,
    "bos_token_id": None,
    "eos_token_id": 1023,
    "pad_token_id": 1021,
    "torch_dtype": "bfloat16",
}
GENERATION = {"do_sample": False, "eos_token_id": [1023, 1021], "pad_token_id": 1021}


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.kv_heads = c["num_attention_heads"], c["num_key_value_heads"]
        self.size = c["hidden_size"] // self.heads
        self.q_proj = nn.Linear(c["hidden_size"], self.heads * self.size)
        self.k_proj = nn.Linear(c["hidden_size"], self.kv_heads * self.size)
        self.v_proj = nn.Linear(c["hidden_size"], self.kv_heads * self.size)
        self.o_proj = nn.Linear(self.heads * self.size, c["hidden_size"], bias=False)

    def forward(self, x, cos, sin):
        rows, length, _ = x.shape
        split = lambda y, heads: y.view(rows, length, heads, self.size).transpose(1, 2)
        q, k = rotate(split(self.q_proj(x), self.heads), cos, sin), rotate(split(self.k_proj(x), self.kv_heads), cos, sin)
        v = split(self.v_proj(x), self.kv_heads)
        group = self.heads // self.kv_heads
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(rows, length, -1))


def rotate(x, cos, sin):
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


class MLP(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate_proj = nn.Linear(c["hidden_size"], c["intermediate_size"], bias=False)
        self.up_proj = nn.Linear(c["hidden_size"], c["intermediate_size"], bias=False)
        self.down_proj = nn.Linear(c["intermediate_size"], c["hidden_size"], bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.self_attn, self.mlp = Attention(c), MLP(c)
        self.input_layernorm = nn.RMSNorm(c["hidden_size"], eps=c["rms_norm_eps"])
        self.post_attention_layernorm = nn.RMSNorm(c["hidden_size"], eps=c["rms_norm_eps"])

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed_tokens = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.layers = nn.ModuleList(Layer(c) for _ in range(c["num_hidden_layers"]))
        self.norm = nn.RMSNorm(c["hidden_size"], eps=c["rms_norm_eps"])


class Qwen2(nn.Module):
    def __init__(self, c=CONFIG):
        super().__init__()
        self.config = c
        self.model = Decoder(c)
        size = c["hidden_size"] // c["num_attention_heads"]
        frequency = c["rope_theta"] ** (-torch.arange(0, size, 2).float() / size)
        angle = torch.outer(torch.arange(c["max_position_embeddings"]).float(), frequency).repeat(1, 2)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)
        for name, weight in self.named_parameters():
            if weight.ndim == 2:
                nn.init.normal_(weight, std=c["initializer_range"])
            elif name.endswith("bias"):
                nn.init.zeros_(weight)

    def hidden(self, ids):
        length = ids.shape[1]
        x = self.model.embed_tokens(ids)
        for layer in self.model.layers:
            x = layer(x, self.cos[:length], self.sin[:length])
        return self.model.norm(x)

    def logits(self, hidden):
        return F.linear(hidden, self.model.embed_tokens.weight)  # the head is tied to the embedding

    def forward(self, ids):
        return self.logits(self.hidden(ids))


def save(model, folder):
    """Writes the bf16 checkpoint and its configs."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: w.detach().to(torch.bfloat16).contiguous() for name, w in model.state_dict().items()}
    temporary = folder / "model.safetensors.part"
    save_file(tensors, temporary, metadata={"format": "pt"})
    temporary.chmod(0o644)
    temporary.replace(folder / "model.safetensors")  # never a half-written checkpoint
    for name, value in (("config.json", model.config), ("generation_config.json", GENERATION)):
        (folder / name).write_text(json.dumps(value, indent=2) + "\n")


def load(folder):
    """The checkpoint with its bf16 weights widened to fp32."""
    folder = Path(folder)
    model = Qwen2(json.loads((folder / "config.json").read_text()))
    model.load_state_dict({name: w.float() for name, w in load_file(folder / "model.safetensors").items()})
    return model.eval()


@torch.no_grad()
def answered_right(model, prompts, answers):
    """Whether greedy decoding would give each answer (lists of ids, stop token included).

    One pass over prompt and answer is enough: decoding follows the answer as
    long as every token of it is the most likely one."""
    right = [False] * len(prompts)
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]) + len(answers[i]))
    for start in range(0, len(order), 64):
        part = order[start:start + 64]
        width = max(len(prompts[i]) + len(answers[i]) for i in part)
        ids = torch.zeros(len(part), width, dtype=torch.long)
        for row, i in enumerate(part):
            ids[row, :len(prompts[i]) + len(answers[i])] = torch.tensor(prompts[i] + answers[i])
        best = model(ids).argmax(-1)
        for row, i in enumerate(part):
            first = len(prompts[i]) - 1
            right[i] = best[row, first:first + len(answers[i])].tolist() == answers[i]
    return right


@torch.no_grad()
def greedy(model, prompts, stop, limit=48):
    """Greedy answers (token ids) for prompts (lists of ids) of any lengths.

    Prompts of one length go through together, so no padding is needed; the few
    tokens of an answer do not deserve a key/value cache."""
    answers = [None] * len(prompts)
    by_length = {}
    for index, prompt in enumerate(prompts):
        by_length.setdefault(len(prompt), []).append(index)
    for indices in by_length.values():
        for start in range(0, len(indices), 128):
            part = indices[start:start + 128]
            ids = torch.tensor([prompts[i] for i in part])
            done = torch.zeros(len(part), dtype=torch.bool)
            new = []
            for _ in range(limit):
                step = model.logits(model.hidden(ids)[:, -1]).argmax(-1)
                new.append(step)
                done |= torch.isin(step, torch.tensor(stop))
                if done.all():
                    break
                ids = torch.cat((ids, step[:, None]), 1)
            rows = torch.stack(new, 1).tolist()
            for index, row in zip(part, rows):
                end = next((k for k, token in enumerate(row) if token in stop), len(row))
                answers[index] = row[:end]
    return answers
