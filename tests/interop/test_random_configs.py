# SPDX-License-Identifier: Apache-2.0
"""Checkpoints with random weights: anemone's logits and greedy tokens against those of transformers.

A fixed list of configs runs always. ANEMONE_RANDOM_CONFIGS=N adds N random ones, from seed ANEMONE_SEED on (0):
    ANEMONE_RANDOM_CONFIGS=500 ANEMONE_SEED=1000 tools/ci/interop -k random_config
"""

import json
import os

import pytest
import torch
from transformers import AutoModelForCausalLM

from config_cases import CASES, NOT_SUPPORTED, REFUSED, case, config_of
from random_checkpoints import AnemoneRefused, Refused, ask_anemone, ask_transformers, call, differences, make_checkpoint
from random_configs import MODEL_TYPES, random_case

FIRST_SEED = int(os.environ.get("ANEMONE_SEED", "0"))
RANDOM_CASES = int(os.environ.get("ANEMONE_RANDOM_CONFIGS", "0"))


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Models this small are slower on several threads, and much slower beside other work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def binary():
    path = os.environ.get("ANEMONE", "")
    if not os.access(path, os.X_OK):
        pytest.fail(f"[ANEMONE] expected the path of the binary under test, got {path!r}")
    return path


def compare(binary, config_case, folder):
    make_checkpoint(config_case, folder / "model")
    theirs = ask_transformers(config_case, folder / "model")
    ours = ask_anemone(binary, config_case, folder / "model", folder / "artifact")
    wrong, skipped = differences(config_case, ours, theirs)
    assert not wrong, f"{'; '.join(wrong)}\n{json.dumps(config_case.config)}\nflags {config_case.compile_flags}"
    for line in skipped:
        print(f"{config_case}: not compared: {line}")


@pytest.mark.parametrize("config_case", CASES, ids=str)
def test_gives_the_logits_and_tokens_of_transformers(binary, tmp_path, config_case):
    compare(binary, config_case, tmp_path)


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_reads_what_save_pretrained_writes(binary, tmp_path, model_type):
    """Every key that the class has, in the newest dialect, and weights in several files."""
    config_case = case("saved", model_type, 20)
    make_checkpoint(config_case, tmp_path / "made")
    AutoModelForCausalLM.from_pretrained(tmp_path / "made", dtype=torch.float32).save_pretrained(tmp_path / "saved", max_shard_size="200KB")
    assert (tmp_path / "saved" / "model.safetensors.index.json").exists()
    theirs = ask_transformers(config_case, tmp_path / "saved")
    wrong, _ = differences(config_case, ask_anemone(binary, config_case, tmp_path / "saved", tmp_path / "artifact"), theirs)
    assert not wrong, wrong


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + RANDOM_CASES))
def test_agrees_on_a_random_config(binary, tmp_path, seed):
    config_case = random_case(seed)
    try:
        compare(binary, config_case, tmp_path)
    except Refused as refusal:
        # transformers cannot make this model, so there are no weights; the config alone must be refused.
        write_model_of_the_base(tmp_path / "base", config_case.config)
        with pytest.raises(AnemoneRefused) as refused:
            call(binary, "compile", tmp_path / "base", "-o", tmp_path / "refused")
        print(f"{config_case}: both refuse: {refusal}: {refused.value}")


def write_model_of_the_base(folder, config):
    """Weights that fit config_of(), under another config.json."""
    make_checkpoint(case("base", "llama"), folder)
    (folder / "config.json").write_text(json.dumps(config))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refused") / "model"
    write_model_of_the_base(folder, config_of("llama"))
    return folder


@pytest.mark.parametrize("key, value, model_type, changes", REFUSED, ids=lambda x: x if isinstance(x, str) else "")
def test_refuses_in_one_line_that_names_key_and_value(binary, model, tmp_path, key, value, model_type, changes):
    config = config_of(model_type, **changes)
    (model / "config.json").write_text(json.dumps(config))
    with pytest.raises(AnemoneRefused) as refused:
        call(binary, "compile", model, "-o", tmp_path / "artifact")
    message = str(refused.value)
    assert message.count("\n") == 1 and key in message and value in message, message
    assert not (tmp_path / "artifact").exists()
    if (key, value) not in NOT_SUPPORTED:
        # The second checkpoint has the same config with weights of its own, so that nothing but the config can be to
        # blame.
        with pytest.raises(Refused):
            refused_case = case("refused", model_type, 5, new_tokens=1, **changes)
            make_checkpoint(refused_case, tmp_path / "theirs")
            ask_transformers(refused_case, tmp_path / "theirs")


def test_says_that_dynamic_rope_ends_at_the_original_length(binary, tmp_path):
    """Past it transformers stretches the frequencies for every length anew; the keys in our cache would be stale."""
    dynamic = case("dynamic", "llama", 20, max_position_embeddings=32, rope_scaling={"type": "dynamic", "factor": 4.0})
    make_checkpoint(dynamic, tmp_path / "model")
    said = call(binary, "compile", tmp_path / "model", "-o", tmp_path / "artifact", "--context", 64, "--precision", "fp32", "--quant", "none")
    assert "context 64 is more than the model's 32" in said
    with pytest.raises(AnemoneRefused) as refused:
        call(binary, "run", tmp_path / "artifact", "--prompt-ids", " ".join(["1"] * 33), "--max-new", 1)
    assert "32" in str(refused.value) and str(refused.value).count("\n") == 1
