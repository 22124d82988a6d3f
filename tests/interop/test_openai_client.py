# SPDX-License-Identifier: Apache-2.0
"""The official OpenAI client against `anemone serve` on the pocket model."""

import concurrent.futures
import json
import pathlib
import re
import time
import urllib.request
from typing import Literal

import openai
import pydantic
import pytest
from serving import TOOL_TEMPLATE, serving

# One server serves them.
pytestmark = pytest.mark.xdist_group("openai_client")

CHECKPOINT = pathlib.Path(__file__).parents[2] / "models/pocket/checkpoint"
QUESTION = [{"role": "user", "content": "What is 17 + 25?"}]
ANSWER = "17 + 25 = 42."
KEY = "interop-key"


def requests_of(address):
    with urllib.request.urlopen(address + "/health") as answer:
        return json.load(answer)["requests"]


@pytest.fixture(scope="module")
def pocket(anemone, tmp_path_factory):
    model = tmp_path_factory.mktemp("openai") / "pocket"
    anemone("compile", CHECKPOINT, "-o", model)
    return model


@pytest.fixture(scope="module")
def address(anemone, pocket, tmp_path_factory):
    with serving(anemone, pocket, tmp_path_factory.mktemp("server"), "--api-key", KEY, "--parallel", 2, "--strict-model") as url:
        yield url


@pytest.fixture
def client(address):
    return openai.OpenAI(base_url=address + "/v1", api_key=KEY, max_retries=0, timeout=60)


def test_models(client):
    assert [model.id for model in client.models.list()] == ["pocket"]
    model = client.models.retrieve("pocket")
    assert (model.id, model.object, model.owned_by) == ("pocket", "model", "anemone")
    with pytest.raises(openai.NotFoundError) as error:
        client.models.retrieve("other")
    assert error.value.code == "model_not_found"


def test_chat(client):
    answer = client.chat.completions.create(model="pocket", messages=QUESTION)
    choice = answer.choices[0]
    assert (choice.message.role, choice.message.content, choice.finish_reason) == ("assistant", ANSWER, "stop")
    assert choice.logprobs is None and choice.message.tool_calls is None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer.object == "chat.completion" and answer._request_id.startswith("req_")


def test_chat_stream(client):
    chunks = list(client.chat.completions.create(model="pocket", messages=QUESTION, stream=True,
                                                 stream_options={"include_usage": True}))
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == ANSWER
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens > 0
    assert all(chunk.usage is None for chunk in chunks[:-1])
    assert len({chunk.id for chunk in chunks}) == 1


def test_stream_helper(client):
    """The helper that puts chunks together again checks more of their form."""
    with client.chat.completions.stream(model="pocket", messages=QUESTION, logprobs=True) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    assert final.choices[0].message.content == ANSWER
    assert "".join(entry.token for entry in final.choices[0].logprobs.content) == ANSWER


def test_content_parts_stop_and_choices(client):
    parts = [{"role": "user", "content": [{"type": "text", "text": "What is "}, {"type": "text", "text": "17 + 25?"}]}]
    answer = client.chat.completions.create(model="pocket", messages=parts, stop=[" ="], n=2, max_completion_tokens=20)
    assert [choice.message.content for choice in answer.choices] == ["17 + 25"] * 2
    cut = client.chat.completions.create(model="pocket", messages=QUESTION, max_tokens=2)
    assert (cut.choices[0].finish_reason, cut.usage.completion_tokens) == ("length", 2)


def test_chat_logprobs(client):
    answer = client.chat.completions.create(model="pocket", messages=QUESTION, logprobs=True, top_logprobs=2)
    content = answer.choices[0].logprobs.content
    assert "".join(entry.token for entry in content) == ANSWER
    for entry in content:
        assert bytes(entry.bytes).decode() == entry.token and len(entry.top_logprobs) == 2
        assert entry.top_logprobs[0].logprob == entry.logprob <= 0, "greedy"


def test_completions(client):
    answer = client.completions.create(model="pocket", prompt=["The capital of France", "The capital of Spain"], max_tokens=4,
                                       logprobs=1, echo=True)
    assert [choice.index for choice in answer.choices] == [0, 1]
    assert answer.choices[0].text == "The capital of France is Paris"
    logprobs = answer.choices[0].logprobs
    assert "".join(logprobs.tokens) == answer.choices[0].text
    assert logprobs.token_logprobs[0] is None and logprobs.text_offset[0] == 0
    pieces = client.completions.create(model="pocket", prompt="The capital of France", max_tokens=4, stream=True)
    assert "".join(piece.choices[0].text for piece in pieces) == " is Paris"


def test_same_seed_same_text(client):
    def text(seed):
        return client.completions.create(model="pocket", prompt="How", max_tokens=12, temperature=1.5, seed=seed).choices[0].text

    assert text(3) == text(3)
    assert len({text(seed) for seed in range(4)}) > 1


TOOLS = [{"type": "function", "function": {"name": "add", "description": "a sum", "parameters": {
             "type": "object", "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 99}, "b": {"enum": [17, 25]}},
             "required": ["a", "b"]}}},
         {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}]


@pytest.fixture(scope="module")
def tool_client(anemone, pocket, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools")
    template = folder / "template.jinja"
    template.write_text(TOOL_TEMPLATE)
    with serving(anemone, pocket, folder, "--chat-template-file", template) as url:
        yield openai.OpenAI(base_url=url + "/v1", api_key="any", max_retries=0, timeout=60)


def ask(client, **more):
    return client.chat.completions.create(**{"model": "pocket", "messages": QUESTION, "tools": TOOLS, **more})


def check_call(call):
    assert call.type == "function" and call.id.startswith("call_")
    arguments = json.loads(call.function.arguments)
    if call.function.name == "add":
        assert 0 <= arguments["a"] <= 99 and arguments["b"] in (17, 25) and len(arguments) == 2
    else:
        assert (call.function.name, arguments) == ("now", {})


def test_tools_may_stay_unused(tool_client):
    choice = ask(tool_client, max_tokens=20).choices[0]
    assert choice.message.content and choice.message.tool_calls is None and choice.finish_reason in ("stop", "length")


@pytest.mark.parametrize("seed", range(4))
def test_a_call_can_be_required(tool_client, seed):
    answer = ask(tool_client, tool_choice="required", parallel_tool_calls=False, temperature=1.5, seed=seed, n=2)
    for choice in answer.choices:
        assert choice.finish_reason == "tool_calls" and choice.message.content is None
        [call] = choice.message.tool_calls
        check_call(call)
    assert len({choice.message.tool_calls[0].id for choice in answer.choices}) == 2
    assert answer.usage.completion_tokens > 2


@pytest.mark.parametrize("name", ["add", "now"])
def test_a_function_can_be_named(tool_client, name):
    choice = ask(tool_client, tool_choice={"type": "function", "function": {"name": name}}).choices[0]
    assert [call.function.name for call in choice.message.tool_calls] == [name]
    check_call(choice.message.tool_calls[0])


def test_calls_are_streamed(tool_client):
    named = {"type": "function", "function": {"name": "add"}}
    chunks = list(ask(tool_client, tool_choice=named, stream=True, stream_options={"include_usage": True}))
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    calls = [call for delta in deltas for call in delta.tool_calls or []]
    assert deltas[0].role == "assistant" and {call.index for call in calls} == {0}
    first = calls[0]
    assert first.id.startswith("call_") and (first.type, first.function.name, first.function.arguments) == ("function", "add", "")
    assert all(call.id is None and call.function.name is None for call in calls[1:]) and len(calls) > 3
    assert json.loads("".join(call.function.arguments for call in calls)).keys() == {"a", "b"}
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "tool_calls"
    assert chunks[-1].usage.completion_tokens > 0


def test_the_stream_helper_puts_calls_together(tool_client):
    with tool_client.chat.completions.stream(model="pocket", messages=QUESTION, tools=TOOLS, tool_choice="required",
                                             parallel_tool_calls=False) as stream:
        kinds = {event.type for event in stream}
        message = stream.get_final_completion().choices[0].message
    assert "tool_calls.function.arguments.delta" in kinds and "tool_calls.function.arguments.done" in kinds
    [call] = message.tool_calls
    assert call.function.name in ("add", "now") and json.loads(call.function.arguments) is not None


def test_strict_functions_are_parsed(tool_client):
    """What `pydantic_function_tool` makes is strict; the helper refuses anything else."""
    class Add(pydantic.BaseModel):
        a: int = pydantic.Field(ge=0, le=99)
        kind: Literal["sum", "product"]

    message = tool_client.chat.completions.parse(model="pocket", messages=QUESTION, tools=[openai.pydantic_function_tool(Add)],
                                                 tool_choice="required", parallel_tool_calls=False).choices[0].message
    assert isinstance(message.tool_calls[0].function.parsed_arguments, Add)


def test_the_result_of_a_call_goes_back(tool_client):
    message = ask(tool_client, tool_choice={"type": "function", "function": {"name": "add"}}).choices[0].message
    [call] = message.tool_calls
    messages = QUESTION + [message, {"role": "tool", "tool_call_id": call.id, "content": "42"}]
    answer = ask(tool_client, messages=messages, max_tokens=20)
    assert answer.choices[0].message.content
    dictionary = QUESTION + [message.model_dump(exclude_none=True), messages[-1]]
    assert ask(tool_client, messages=dictionary, max_tokens=20).usage.prompt_tokens == answer.usage.prompt_tokens


def test_tools_need_a_template_for_them(client):
    with pytest.raises(openai.BadRequestError) as error:
        ask(client)
    assert (error.value.param, error.value.code) == ("tools", "unsupported_value")
    assert ask(client, tool_choice="none").choices[0].message.content == ANSWER


class Place(pydantic.BaseModel):
    city: Literal["Paris", "Rome", "Berlin"]
    digits: int = pydantic.Field(ge=0, le=99)
    tags: list[Literal["a", "b"]] = pydantic.Field(max_length=2)
    is_capital: bool


def test_answers_are_parsed_into_a_model(client):
    for question in ("What is the capital of France?", "What is 17 + 25?"):
        message = client.chat.completions.parse(model="pocket", messages=[{"role": "user", "content": question}],
                                                response_format=Place).choices[0].message
        assert isinstance(message.parsed, Place) and message.refusal is None


@pytest.mark.parametrize("seed", range(8))
def test_sampled_answers_keep_to_the_schema(client, seed):
    completion = client.chat.completions.create(model="pocket", messages=QUESTION, temperature=2, seed=seed, n=2, response_format={
        "type": "json_schema", "json_schema": {"name": "place", "schema": Place.model_json_schema()}})
    for choice in completion.choices:
        Place.model_validate_json(choice.message.content)
        assert choice.finish_reason == "stop"


def test_a_streamed_answer_keeps_to_the_schema(client):
    with client.chat.completions.stream(model="pocket", messages=QUESTION, response_format=Place) as stream:
        for _ in stream:
            pass
        assert isinstance(stream.get_final_completion().choices[0].message.parsed, Place)


@pytest.mark.parametrize("more, pattern", [
    ({"guided_regex": "[0-9]{2,4}"}, "[0-9]{2,4}"),
    ({"guided_choice": ["left", "right"]}, "left|right"),
    ({"structured_outputs": {"regex": "(ab){1,3}c"}}, "(ab){1,3}c"),
    ({"grammar": 'root ::= "x" [0-9] "y"?'}, "x[0-9]y?")])
def test_forms_of_other_servers(client, more, pattern):
    completion = client.completions.create(model="pocket", prompt="one two", max_tokens=200, extra_body=more)
    assert completion.choices[0].finish_reason == "stop"
    assert re.fullmatch(pattern, completion.choices[0].text)


def test_sixteen_clients_at_a_time(client):
    def ask(_):
        return client.chat.completions.create(model="pocket", messages=QUESTION).choices[0].message.content

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert set(pool.map(ask, range(16))) == {ANSWER}


@pytest.mark.parametrize(
    "arguments, kind, param, code",
    [
        ({"model": "other"}, openai.NotFoundError, "model", "model_not_found"),
        ({"messages": []}, openai.BadRequestError, "messages", None),
        ({"temperature": 3}, openai.BadRequestError, "temperature", None),
        ({"n": 1000}, openai.BadRequestError, "n", None),
        ({"messages": [{"role": "user", "content": "x " * 2000}]}, openai.BadRequestError, "messages", "context_length_exceeded"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"contains": {}}}}},
         openai.BadRequestError, "response_format.json_schema.schema#/contains", "unsupported_value"),
        ({"tool_choice": "required"}, openai.BadRequestError, "tool_choice", None),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
         openai.BadRequestError, "messages[0].content[0]", "unsupported_value"),
    ])
def test_errors_have_their_class(client, arguments, kind, param, code):
    with pytest.raises(kind) as error:
        client.chat.completions.create(**{"model": "pocket", "messages": QUESTION, **arguments})
    assert (error.value.param, error.value.code) == (param, code)
    assert error.value.body["message"] and error.value.type == "invalid_request_error"


def test_wrong_key(address):
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(base_url=address + "/v1", api_key="wrong", max_retries=0).models.list()


def test_a_full_queue_is_a_rate_limit(anemone, pocket, tmp_path):
    """And the client's own retries get through in the end."""
    with serving(anemone, pocket, tmp_path, "--queue", 0, "--parallel", 1) as url:
        def ask(retries):
            other = openai.OpenAI(base_url=url + "/v1", api_key="any", max_retries=retries, timeout=60)
            try:
                other.chat.completions.create(model="pocket", messages=QUESTION)
            except openai.RateLimitError:
                return "refused"
            return "answered"

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(ask, [0] * 8))
        assert "answered" in outcomes and "refused" in outcomes
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            assert list(pool.map(ask, [20] * 2)) == ["answered"] * 2


def test_leaving_a_stream_frees_the_place(client, address):
    stream = client.completions.create(model="pocket", prompt="one two", max_tokens=400, stream=True,
                                       extra_body={"ignore_eos": True})
    next(iter(stream))
    stream.close()
    # Two places, and neither is held by who has left: two requests at a time still end.
    for _ in range(4):
        assert client.chat.completions.create(model="pocket", messages=QUESTION).choices[0].message.content == ANSWER
    deadline = time.monotonic() + 60
    while requests_of(address)["running"] > 0:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert requests_of(address)["cancelled"] >= 1
