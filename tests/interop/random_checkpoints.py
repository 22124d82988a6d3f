# SPDX-License-Identifier: Apache-2.0
"""Checkpoints with random weights for a Case, what transformers makes of them, and what anemone makes of them."""

import dataclasses
import json
import subprocess

import numpy as np
import torch
from safetensors.numpy import load_file
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

LOGIT_TOLERANCE = 2e-3  # fp32 against fp32: different orders of summation over a few layers; logits have a spread of 3
SURE_MARGIN = 1e-3  # below it two fp32 programs may order the two best tokens differently
FP16_COSINE = 0.999
LOGIT_SPREAD = 3.0


class Refused(Exception):
    """transformers cannot make or run the model of this config."""


@dataclasses.dataclass
class Answer:
    logits: np.ndarray  # [T, vocab] of the prompt
    ids: list  # greedy continuation
    margins: list = None  # best minus second best logit at each of them


def fill_randomly(model, seed):
    """Weights that keep activations near 1, so that every part of a layer has a say in the logits."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator)
            if name.endswith("bias") or name.endswith("sinks"):
                weight.copy_(0.5 * noise)
            elif ".experts." in name:
                weight.copy_(noise * (1.3 / model.config.hidden_size**0.5))
            elif weight.dim() == 3:  # a short convolution
                weight.copy_(noise)
            elif name.endswith("A_log"):  # states last for some tokens
                weight.copy_(0.3 * noise - 1)
            elif weight.dim() == 1:  # norms
                weight.copy_(1 + 0.3 * noise)
            elif name.endswith("embed_tokens.weight"):
                weight.copy_(noise)
            else:
                weight.copy_(noise * (1.3 / weight.shape[1] ** 0.5))
        for name, buffer in model.named_buffers():
            if name.endswith("expert_bias"):
                buffer.copy_(0.2 * torch.randn(buffer.shape, generator=generator))
            elif name.endswith("balancing_biases"):  # the last one is fixed
                buffer[:-1] = -1 + 0.2 * torch.randn(buffer.numel() - 1, generator=generator)


def scale_logits(model, ids):
    """The final norm sets the spread of the logits; the embedding cannot, where it is the head as well."""
    with torch.no_grad():
        # The root mean square, which is there for a vocabulary of one token as well.
        spread = model(input_ids=ids, use_cache=False).logits.square().mean().sqrt()
        if torch.isfinite(spread) and spread > 0:
            # The norms of gemma3 and of the newer qwens add 1 to their weights.
            offset = 1 if model.config.model_type in ("gemma3_text", "qwen3_next", "qwen3_5_text") else 0
            weight = (model.model.embedding_norm if model.config.model_type.startswith("lfm2") else model.model.norm).weight
            weight.copy_((weight + offset) * (LOGIT_SPREAD / spread) - offset)


def prompt_ids(case):
    generator = torch.Generator().manual_seed(case.seed + 1)
    vocab = case.config.get("vocab_size", 1000)
    return torch.randint(0, max(int(vocab), 1), (1, case.prompt_length), generator=generator)


def write_weights(folder, state, files):
    names = sorted(state)
    groups = [names[i::files] for i in range(files)]
    if files == 1:
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
        return
    index = {"metadata": {"total_size": sum(t.numel() * t.element_size() for t in state.values())}, "weight_map": {}}
    for i, group in enumerate(groups):
        file = f"model-{i + 1:05}-of-{files:05}.safetensors"
        save_file({name: state[name] for name in group}, folder / file, metadata={"format": "pt"})
        index["weight_map"].update({name: file for name in group})
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def make_checkpoint(case, folder):
    """Writes the config as it stands in the case. Raises Refused when transformers cannot build the class from it."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(case.config))
    try:
        config = AutoConfig.from_pretrained(folder)
        config.dtype = torch.float32
        model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", experts_implementation="eager").eval()
        fill_randomly(model, case.seed)
        scale_logits(model, prompt_ids(case)[:, : config.max_position_embeddings])
    except Exception as error:  # noqa: BLE001 - any kind is a refusal
        raise Refused(f"{type(error).__name__}: {error}") from error
    dtype = getattr(torch, case.weight_dtype)
    state = {name: weight.detach().to(dtype).contiguous() for name, weight in model.state_dict().items()}
    if config.tie_word_embeddings:
        if case.head_in_file:
            state["lm_head.weight"] = state["lm_head.weight"].clone()
        else:
            state.pop("lm_head.weight", None)
    write_weights(folder, state, case.files)


def ask_transformers(case, folder):
    try:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager",
                                                     experts_implementation="eager").eval()
        ids = prompt_ids(case)
        with torch.no_grad():
            logits = prompt = model(input_ids=ids, use_cache=False).logits[0]
            tokens, margins = [], []
            while len(tokens) < case.new_tokens:
                best = torch.topk(logits[-1], min(2, logits.shape[-1])).values
                margins.append(float(best[0] - best[1]) if len(best) == 2 else float("inf"))
                tokens.append(int(logits[-1].argmax()))
                if len(tokens) == case.new_tokens:
                    break
                ids = torch.cat([ids, torch.tensor([[tokens[-1]]])], 1)
                # The whole text again: right for every kind of rotary embedding and window, without a cache.
                logits = model(input_ids=ids, use_cache=False).logits[0]
    except Exception as error:  # noqa: BLE001
        raise Refused(f"{type(error).__name__}: {error}") from error
    return Answer(prompt.numpy(), tokens, margins)


class AnemoneRefused(Exception):
    """The binary ended with an error; the text is what it wrote to standard error."""


def call(anemone, *arguments):
    done = subprocess.run([anemone, "--threads", "2", *map(str, arguments)], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AnemoneRefused(f"exit {done.returncode}: {done.stderr}")
    return done.stdout


def ask_anemone(anemone, case, folder, artifact):
    call(anemone, "compile", folder, "-o", artifact, "--precision", case.precision, "--quant", "none", *case.compile_flags)
    out = artifact.with_suffix(".logits.safetensors")
    ids_file = artifact.with_suffix(".ids.txt")
    ids_file.write_text(" ".join(map(str, prompt_ids(case)[0].tolist())))
    printed = call(anemone, "run", artifact, "--prompt-ids", f"@{ids_file}", "--max-new", case.new_tokens, "--greedy", "--ignore-eos",
                   "--logits-out", out)
    tensors = load_file(out)
    ids = [int(x) for x in printed.split()]
    return Answer(tensors["logits"], ids)


def differences(case, ours, theirs):
    """Lines about what differs; empty when nothing does. The second list says what could not be compared."""
    wrong, skipped = [], []
    if ours.logits.shape != theirs.logits.shape:
        return [f"logits {ours.logits.shape}, expected {theirs.logits.shape}"], []
    if not np.isfinite(theirs.logits).all():
        return [], ["transformers gives numbers that are not finite"]
    if case.precision == "fp32":
        difference = np.abs(ours.logits - theirs.logits)
        if not difference.max() <= LOGIT_TOLERANCE:
            rows = np.nonzero(~(difference.max(axis=1) <= LOGIT_TOLERANCE))[0]
            wrong.append(f"logits differ by {difference.max():.3g}, first in row {rows[0]}, in {len(rows)} of {len(difference)} rows")
    elif case.config["vocab_size"] > 2:
        a, b = ours.logits.astype(np.float64), theirs.logits.astype(np.float64)
        cosine = (a * b).sum(1) / np.maximum(np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1), 1e-30)
        if not np.median(cosine) >= FP16_COSINE:
            wrong.append(f"median cosine {np.median(cosine):.5f}")
    if case.precision == "fp32":
        if len(ours.ids) != len(theirs.ids):
            wrong.append(f"{len(ours.ids)} tokens, expected {len(theirs.ids)}")
        for i, (mine, their, margin) in enumerate(zip(ours.ids, theirs.ids, theirs.margins)):
            if mine == their:
                continue
            if margin < SURE_MARGIN:
                skipped.append(f"tokens from {i} on: margin {margin:.2g}")
            else:
                wrong.append(f"token {i} is {mine}, expected {their} (margin {margin:.3g})")
            break
    return wrong, skipped
