# SPDX-License-Identifier: Apache-2.0
"""LangChain, LiteLLM, Instructor and LlamaIndex against `anemone serve`, each as its own documentation shows it."""

import asyncio
import json
import time
import urllib.request

import instructor
import litellm
import openai
import pydantic
import pytest
from conftest import KEY
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

QUESTION = "What is 17 + 25?"
ANSWER = "17 + 25 = 42."
MESSAGES = [{"role": "user", "content": QUESTION}]


class Sum(pydantic.BaseModel):
    first: int
    second: int
    result: int


# LangChain


@pytest.fixture
def langchain(address):
    return ChatOpenAI(model="pocket", base_url=address, api_key=KEY, temperature=0, max_retries=0, timeout=60)


def test_langchain_answers(langchain):
    message = langchain.invoke(QUESTION)
    assert message.content == ANSWER
    assert message.response_metadata["finish_reason"] == "stop"
    assert message.usage_metadata["output_tokens"] > 0
    assert message.usage_metadata["input_tokens"] + message.usage_metadata["output_tokens"] == message.usage_metadata["total_tokens"]


def test_langchain_streams(langchain):
    chunks = list(langchain.stream(QUESTION, stream_usage=True))
    assert len([chunk for chunk in chunks if chunk.content]) > 1
    assert "".join(chunk.content for chunk in chunks) == ANSWER
    assert sum(chunk.usage_metadata["output_tokens"] for chunk in chunks if chunk.usage_metadata) > 0


def test_langchain_answers_asynchronously(langchain):
    async def both():
        return await asyncio.gather(langchain.ainvoke(QUESTION), langchain.ainvoke(QUESTION))

    assert [message.content for message in asyncio.run(both())] == [ANSWER, ANSWER]


def test_langchain_batches(langchain):
    assert [message.content for message in langchain.batch([QUESTION] * 3)] == [ANSWER] * 3


def test_langchain_parses_a_schema(langchain):
    assert isinstance(langchain.with_structured_output(Sum, method="json_schema").invoke(QUESTION), Sum)
    assert isinstance(langchain.with_structured_output(Sum, method="json_schema", strict=True).invoke(QUESTION), Sum)


def test_langchain_reads_log_probabilities(langchain):
    message = langchain.bind(logprobs=True, top_logprobs=2).invoke(QUESTION)
    tokens = message.response_metadata["logprobs"]["content"]
    assert "".join(token["token"] for token in tokens).startswith(ANSWER)
    assert all(len(token["top_logprobs"]) == 2 and token["logprob"] <= 0 for token in tokens)


@tool
def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


def test_langchain_calls_tools(langchain):
    forced = langchain.bind_tools([add], tool_choice="add")
    message = forced.invoke(QUESTION)
    [call] = message.tool_calls
    assert call["name"] == "add" and set(call["args"]) == {"a", "b"} and message.invalid_tool_calls == []
    result = add.invoke(call)
    assert isinstance(result, ToolMessage)
    # The model has not learned to read results: what counts is that the conversation goes on.
    assert langchain.bind_tools([add]).invoke([HumanMessage(QUESTION), message, result]).response_metadata["finish_reason"]


def test_langchain_streams_calls(langchain):
    made = None
    for chunk in langchain.bind_tools([add], tool_choice="any").stream(QUESTION):
        made = chunk if made is None else made + chunk
    [call] = made.tool_calls
    assert call["name"] == "add" and set(call["args"]) == {"a", "b"}


def test_langchain_embeds(address):
    embeddings = OpenAIEmbeddings(model="pocket", base_url=address, api_key=KEY, check_embedding_ctx_length=False)
    first, second = embeddings.embed_documents(["The sea", "A song"])
    assert len(first) == len(second) > 8 and first != second
    assert embeddings.embed_query("The sea") == pytest.approx(first, abs=1e-6)


# LiteLLM


@pytest.fixture
def litellm_arguments(address):
    return {"model": "openai/pocket", "api_base": address, "api_key": KEY, "messages": MESSAGES, "temperature": 0, "timeout": 60,
            "max_retries": 0}


def test_litellm_answers(litellm_arguments):
    answer = litellm.completion(**litellm_arguments)
    assert answer.choices[0].message.content == ANSWER
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.completion_tokens > 0


def test_litellm_streams(litellm_arguments):
    chunks = list(litellm.completion(**litellm_arguments, stream=True, stream_options={"include_usage": True}))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == ANSWER
    assert any(getattr(chunk, "usage", None) for chunk in chunks)


def test_litellm_answers_asynchronously(litellm_arguments):
    async def both():
        return await asyncio.gather(litellm.acompletion(**litellm_arguments), litellm.acompletion(**litellm_arguments))

    assert [answer.choices[0].message.content for answer in asyncio.run(both())] == [ANSWER, ANSWER]


def test_litellm_parses_a_schema(litellm_arguments):
    answer = litellm.completion(**litellm_arguments, response_format=Sum)
    Sum.model_validate_json(answer.choices[0].message.content)


def test_litellm_calls_tools(litellm_arguments):
    function = {"name": "add", "parameters": Sum.model_json_schema()}
    answer = litellm.completion(**litellm_arguments, tools=[{"type": "function", "function": function}],
                                tool_choice={"type": "function", "function": {"name": "add"}})
    assert answer.choices[0].finish_reason in ("tool_calls", "stop")
    [call] = answer.choices[0].message.tool_calls
    Sum.model_validate_json(call.function.arguments)


def test_litellm_embeds(litellm_arguments):
    arguments = {name: litellm_arguments[name] for name in ("model", "api_base", "api_key")}
    answer = litellm.embedding(**arguments, input=["The sea", "A song"], encoding_format="float")
    assert len(answer.data) == 2 and len(answer.data[0]["embedding"]) == len(answer.data[1]["embedding"])


def test_litellm_maps_errors(litellm_arguments):
    with pytest.raises(litellm.AuthenticationError):
        litellm.completion(**{**litellm_arguments, "api_key": "wrong"})
    with pytest.raises(litellm.BadRequestError):
        litellm.completion(**{**litellm_arguments, "temperature": -1})


# Instructor


@pytest.mark.parametrize("mode", [instructor.Mode.JSON_SCHEMA, instructor.Mode.TOOLS])
def test_instructor_makes_objects(address, mode):
    client = instructor.from_openai(openai.OpenAI(base_url=address, api_key=KEY, timeout=60), mode=mode)
    assert isinstance(client.chat.completions.create(model="pocket", messages=MESSAGES, response_model=Sum, max_retries=0), Sum)


# LlamaIndex


@pytest.fixture
def llama_index(address):
    return OpenAILike(model="pocket", api_base=address, api_key=KEY, is_chat_model=True, temperature=0, max_retries=0, timeout=60,
                      context_window=512)


def test_llama_index_answers(llama_index):
    assert llama_index.complete(QUESTION).text == ANSWER
    assert llama_index.chat([ChatMessage(role="user", content=QUESTION)]).message.content == ANSWER


def test_llama_index_streams(llama_index):
    assert "".join(chunk.delta or "" for chunk in llama_index.stream_chat([ChatMessage(role="user", content=QUESTION)])) == ANSWER


def test_llama_index_parses_a_schema(llama_index):
    structured = OpenAILike(**{**llama_index.to_dict(), "api_key": KEY, "should_use_structured_outputs": True})
    assert isinstance(structured.as_structured_llm(Sum).complete(QUESTION).raw, Sum)


# The official client, in what the libraries above do not do


def test_a_client_that_goes_away_ends_its_request(address):
    client = openai.OpenAI(base_url=address, api_key=KEY, timeout=60)
    stream = client.chat.completions.create(model="pocket", messages=MESSAGES, stream=True, extra_body={"ignore_eos": True})
    next(iter(stream))
    stream.close()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with urllib.request.urlopen(address.removesuffix("/v1") + "/health") as health:
            if json.load(health)["requests"]["running"] == 0:
                return
        time.sleep(0.05)
    pytest.fail("the request still runs")
