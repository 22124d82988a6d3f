# SPDX-License-Identifier: Apache-2.0
"""Greedy text under the logit processors, against transformers' generate()."""

import json

import pytest
import torch
from transformers import AutoModelForCausalLM

from config_cases import case
from random_checkpoints import SURE_MARGIN, call, make_checkpoint, prompt_ids

NEW_TOKENS = 40
# Our flags, and what generate() takes for the same.
SETTINGS = {
    "plain": ([], {}),
    "repetition": (["--repetition-penalty", 1.3], {"repetition_penalty": 1.3}),
    "repetition_below_one": (["--repetition-penalty", 0.8], {"repetition_penalty": 0.8}),
    "ngram_1": (["--no-repeat-ngram", 1], {"no_repeat_ngram_size": 1}),
    "ngram_2": (["--no-repeat-ngram", 2], {"no_repeat_ngram_size": 2}),
    "bias": (["--logit-bias", "5=4", "--logit-bias", "7=-9.5"], {"sequence_bias": {(5,): 4.0, (7,): -9.5}}),
    "all": (["--repetition-penalty", 1.2, "--no-repeat-ngram", 3, "--logit-bias", "5=2"],
            {"repetition_penalty": 1.2, "no_repeat_ngram_size": 3, "sequence_bias": {(5,): 2.0}}),
}


@pytest.fixture(scope="module")
def compiled(anemone, tmp_path_factory):
    folder = tmp_path_factory.mktemp("generation")
    # A small vocabulary, so that greedy text repeats itself soon.
    config_case = case("generation", "llama", 20, vocab_size=60, max_position_embeddings=128)
    make_checkpoint(config_case, folder / "model")
    call(anemone.path, "compile", folder / "model", "-o", folder / "artifact", "--precision", "fp32", "--quant", "none")
    model = AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32, attn_implementation="eager").eval()
    return folder / "artifact", model, prompt_ids(config_case)


@pytest.mark.parametrize("setting", SETTINGS)
def test_gives_the_tokens_of_generate(anemone, compiled, setting):
    artifact, model, prompt = compiled
    flags, keywords = SETTINGS[setting]
    with torch.no_grad():
        theirs = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=NEW_TOKENS,
                                eos_token_id=None, pad_token_id=0, return_dict_in_generate=True, output_scores=True, **keywords)
    expected = theirs.sequences[0, prompt.shape[1]:].tolist()
    printed = call(anemone.path, "run", artifact, "--prompt-ids", " ".join(map(str, prompt[0].tolist())), "--max-new", NEW_TOKENS,
                   "--greedy", "--ignore-eos", *flags)
    ours = [int(word) for word in printed.split()]
    for i, (want, got) in enumerate(zip(expected, ours, strict=True)):
        if want != got:
            best = torch.topk(theirs.scores[i][0], 2).values
            assert best[0] - best[1] < SURE_MARGIN, f"token {i}: expected {want}, got {got}"
            break
    if setting != "plain":
        assert expected != model.generate(prompt, do_sample=False, max_new_tokens=NEW_TOKENS, eos_token_id=None, pad_token_id=0)[
            0, prompt.shape[1]:].tolist(), "the setting changes nothing"


def test_gives_the_log_probabilities_of_the_model(anemone, compiled):
    artifact, model, prompt = compiled
    printed = call(anemone.path, "run", artifact, "--prompt-ids", " ".join(map(str, prompt[0].tolist())), "--max-new", 5,
                   "--greedy", "--ignore-eos", "--repetition-penalty", 1.3, "--json", "--logprobs", 3)
    answer = json.loads(printed)
    ids = torch.cat([prompt, torch.tensor([answer["ids"]])], 1)
    with torch.no_grad():
        logprobs = torch.log_softmax(model(ids).logits[0].double(), -1)[prompt.shape[1] - 1:]
    for row, (id, entry) in enumerate(zip(answer["ids"], answer["logprobs"], strict=True)):
        assert entry["id"] == id
        # Logits agree to 2e-3 over a few layers (LOGIT_TOLERANCE), and so does the sum below them.
        assert entry["logprob"] == pytest.approx(float(logprobs[row, id]), abs=4e-3)
        best = torch.topk(logprobs[row], 3)
        assert [top["logprob"] for top in entry["top"]] == pytest.approx(best.values.tolist(), abs=4e-3)
