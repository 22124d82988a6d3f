# SPDX-License-Identifier: Apache-2.0
"""The paths of `anemone serve` beside chats and completions, against the tools that read them and transformers."""

import json
import math
import pathlib
import re
import time
import urllib.error
import urllib.request

import numpy as np
import openai
import openapi_spec_validator
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from serving import serving

# One server serves them.
pytestmark = pytest.mark.xdist_group("server_paths")

CHECKPOINT = pathlib.Path(__file__).parents[2] / "models/pocket/checkpoint"
TEXTS = ["The capital of France is Paris.", "17 + 25 = 42.", "x"]


@pytest.fixture(scope="module")
def pocket(anemone, tmp_path_factory):
    model = tmp_path_factory.mktemp("paths") / "pocket"
    anemone("compile", CHECKPOINT, "-o", model, "--quant", "none")
    return model


@pytest.fixture(scope="module")
def address(anemone, pocket, tmp_path_factory):
    with serving(anemone, pocket, tmp_path_factory.mktemp("server"), "--parallel", 2, "--log-format", "json") as url:
        yield url


def get(url):
    with urllib.request.urlopen(url) as answer:
        return answer.read().decode()


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


@pytest.fixture(scope="module")
def reference():
    """The last hidden states of each text."""
    tokenizer = AutoTokenizer.from_pretrained(CHECKPOINT)
    model = AutoModelForCausalLM.from_pretrained(CHECKPOINT, dtype=torch.float32).eval()
    states = {}
    for text in TEXTS:
        with torch.no_grad():
            ids = torch.tensor([tokenizer(text)["input_ids"]])
            states[text] = model(ids, output_hidden_states=True).hidden_states[-1][0].numpy()
    return states


@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_embeddings_are_those_of_transformers(anemone, pocket, address, reference, pooling):
    client = openai.OpenAI(base_url=address + "/v1", api_key="any", max_retries=0, timeout=60)
    # The client asks for base64 and decodes it.
    answer = client.embeddings.create(model="pocket", input=TEXTS, extra_body={"pooling": pooling})
    numbers = client.embeddings.create(model="pocket", input=TEXTS, encoding_format="float", extra_body={"pooling": pooling})
    printed = [json.loads(line) for line in anemone("embed", pocket, "--pooling", pooling, *TEXTS).splitlines()]
    assert answer.usage.prompt_tokens == sum(len(reference[text]) for text in TEXTS)
    for i, text in enumerate(TEXTS):
        states = reference[text]
        expected = states[-1] if pooling == "last" else states.mean(axis=0)
        expected = expected / np.linalg.norm(expected)
        got = np.array(answer.data[i].embedding)
        assert math.isclose(np.linalg.norm(got), 1, abs_tol=1e-5)
        assert got @ expected > 0.999
        assert np.array_equal(got.astype(np.float32), np.array(numbers.data[i].embedding, np.float32))
        assert np.array_equal(got.astype(np.float32), np.array(printed[i]["embedding"], np.float32))
    short = client.embeddings.create(model="pocket", input=TEXTS[0], dimensions=8, extra_body={"pooling": pooling})
    first = np.array(answer.data[0].embedding[:8])
    assert np.allclose(short.data[0].embedding, first / np.linalg.norm(first), atol=1e-6)


def test_embeddings_take_the_ids_that_langchain_sends(address):
    ids = post(address + "/tokenize", {"content": TEXTS[0]})["tokens"]
    of_ids = post(address + "/v1/embeddings", {"model": "pocket", "input": [ids]})
    of_text = post(address + "/v1/embeddings", {"model": "pocket", "input": TEXTS[0]})
    assert of_ids["data"] == of_text["data"]


def test_the_description_is_valid(address):
    openapi_spec_validator.validate(json.loads(get(address + "/openapi.json")))


def test_metrics_have_the_text_format_of_prometheus(address):
    post(address + "/completion", {"prompt": "The capital of France", "n_predict": 4})
    seen = set()
    for line in get(address + "/metrics").splitlines():
        head = re.fullmatch(r"# (HELP|TYPE) ((?:vllm|anemone):[a-z0-9_]+) .+", line)
        sample = re.fullmatch(r'((?:vllm|anemone):[a-z0-9_]+)\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\} [0-9.e+-]+', line)
        assert head or sample, line
        if sample:
            seen.add(sample[1])
    assert {"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc",
            "vllm:generation_tokens_total", "vllm:time_to_first_token_seconds_bucket",
            "vllm:e2e_request_latency_seconds_count", "vllm:request_success_total"} <= seen


def test_texts_of_llama_cpp_and_their_tokens(address):
    tokenizer = AutoTokenizer.from_pretrained(CHECKPOINT)
    text = "<|im_start|>Größe 42"
    assert post(address + "/tokenize", {"content": text})["tokens"] == tokenizer(text)["input_ids"]
    pieces = post(address + "/tokenize", {"content": text, "with_pieces": True})["tokens"]
    joined = b"".join(bytes(p["piece"]) if isinstance(p["piece"], list) else p["piece"].encode() for p in pieces)
    assert joined.decode() == text
    assert post(address + "/detokenize", {"tokens": tokenizer(text)["input_ids"]})["content"] == text
    messages = [{"role": "user", "content": "hi"}]
    prompt = post(address + "/apply-template", {"messages": messages})["prompt"]
    assert prompt == tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    answer = post(address + "/completion", {"prompt": "The capital of France", "n_predict": 4, "temperature": 0})
    assert (answer["content"], answer["stop_type"], answer["tokens_predicted"]) == (" is Paris", "limit", 4)
    assert json.loads(get(address + "/props"))["chat_template"] == tokenizer.chat_template


def test_any_model_name_is_the_one_model(address):
    assert post(address + "/v1/completions", {"model": "gpt-4o", "prompt": "x", "max_tokens": 1})["model"] == "pocket"


def test_a_line_is_logged_per_request(anemone, pocket, tmp_path):
    with serving(anemone, pocket, tmp_path, "--log-format", "json") as url:
        post(url + "/v1/completions", {"prompt": "secret words", "max_tokens": 3})
        # A line is written after its answer: that of a request sent at once might come before it.
        deadline = time.monotonic() + 30
        while "completion_tokens" not in (tmp_path / "serve.log").read_text() and time.monotonic() < deadline:
            time.sleep(0.02)
        with pytest.raises(urllib.error.HTTPError):
            get(url + "/nowhere?key=secret")
    text = (tmp_path / "serve.log").read_text()
    # The first one says that the server is ready.
    start, *lines = [json.loads(line) for line in text.splitlines()]
    assert start["event"] == "serving"
    assert [(line["path"], line["status"]) for line in lines] == [("/v1/completions", 200), ("/nowhere", 404)]
    assert lines[0]["completion_tokens"] == 3 and lines[0]["seconds"] > 0
    assert "secret" not in text
