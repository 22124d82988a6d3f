# SPDX-License-Identifier: Apache-2.0
"""Bodies that are large or deep: the right status in bounded time, and the next answer as before."""

import json

from lib.case import add, expect
from lib.process import shown

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
HI = [{"role": "user", "content": "hi"}]


def finite(text):
    def refuse(word):
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse)


def send(name, reason, path, make, statuses, **limits):
    """`make` gives the body: a value, its JSON text, or bytes."""

    def body(trial):
        server = trial.server()
        made = make() if callable(make) else make
        answer = server.post(path, made if isinstance(made, (str, bytes)) else json.dumps(made), seconds=trial.seconds)
        expect(answer.status in statuses, f"expected {statuses}, got {answer.status}: {shown(answer.body)}")
        if answer.status >= 400:
            error = answer.json().get("error", {})
            expect(
                set(error) == {"message", "type", "param", "code"}, f"expected a whole error, got {shown(answer.body)}"
            )
            expect(len(answer.body) < 10_000, f"an error of {len(answer.body)} bytes")
        elif b"text/event-stream" not in (answer.header("Content-Type") or "").encode():
            finite(answer.body)

    add(f"http/body/{name}", reason, body, on_server=True, **limits)


def chat(**fields):
    return {"messages": HI, "max_tokens": 2, "temperature": 0, **fields}


def text(**fields):
    return {"prompt": "x", "max_tokens": 2, "temperature": 0, **fields}


def keys(count, value="1"):
    return "{" + ",".join(f'"k{i}":{value}' for i in range(count)) + "}"


def chat_with(member):
    return '{"messages":[{"role":"user","content":"hi"}],"max_tokens":1,' + member + "}"


MANY = "What is many must cost its length, not its square."
ANY = (200, 400, 413, 503)
send("kwargs-20k-keys", MANY, CHAT, lambda: chat_with('"chat_template_kwargs":' + keys(20_000)), ANY)
send("kwargs-100k-keys", MANY, CHAT, lambda: chat_with('"chat_template_kwargs":' + keys(100_000)), ANY)
send("kwargs-1m-keys", MANY, CHAT, lambda: chat_with('"chat_template_kwargs":' + keys(1_000_000)), ANY)
send(
    "kwargs-list-1m",
    MANY,
    CHAT,
    lambda: chat_with('"chat_template_kwargs":{"a":[' + ",".join("[]" for _ in range(1_000_000)) + "]}"),
    ANY,
)
send(
    "kwargs-same-key",
    "The same name again and again.",
    CHAT,
    lambda: chat_with('"chat_template_kwargs":{' + ",".join('"a":1' for _ in range(500_000)) + "}"),
    ANY,
)
send("kwargs-long-key", MANY, CHAT, lambda: chat_with('"chat_template_kwargs":{"' + "k" * 14_000_000 + '":1}'), ANY)
send(
    "kwargs-same-hash-keys",
    MANY,
    CHAT,
    lambda: chat_with('"chat_template_kwargs":{' + ",".join(f'"{i << 32}":1' for i in range(200_000)) + "}"),
    ANY,
)
send(
    "kwargs-nested-keys",
    MANY,
    CHAT,
    lambda: chat_with('"chat_template_kwargs":{"a":' + keys(1000, keys(100)) + "}"),
    ANY,
)
send(
    "messages-400k",
    MANY,
    CHAT,
    lambda: '{"max_tokens":1,"messages":[' + ",".join('{"role":"user","content":""}' for _ in range(400_000)) + "]}",
    ANY,
)
send(
    "messages-50k",
    MANY,
    CHAT,
    lambda: '{"max_tokens":1,"messages":['
    + ",".join('{"role":"user","content":"a b c"}' for _ in range(50_000))
    + "]}",
    ANY,
)
send("messages-empty-1m", MANY, CHAT, lambda: '{"messages":[' + ",".join("{}" for _ in range(1_000_000)) + "]}", (400,))
send("messages-null-3m", MANY, CHAT, lambda: '{"messages":[' + ",".join("0" for _ in range(3_000_000)) + "]}", (400,))
send(
    "message-many-keys",
    MANY,
    CHAT,
    lambda: '{"max_tokens":1,"messages":[{"role":"user","content":"hi",' + keys(300_000)[1:] + "]}",
    ANY,
)
send(
    "message-15mb",
    "A text as long as a body may be.",
    CHAT,
    lambda: chat(messages=[{"role": "user", "content": "a b " * 3_900_000}]),
    (400, 413, 503),
)
send(
    "message-15mb-one-word",
    "A word as long as a body may be.",
    CHAT,
    lambda: chat(messages=[{"role": "user", "content": "a" * 15_500_000}]),
    (400, 413, 503),
)
send(
    "message-15mb-spaces",
    "White space as long as a body may be.",
    CHAT,
    lambda: chat(messages=[{"role": "user", "content": " " * 15_500_000}]),
    (400, 413, 503),
)
send(
    "message-specials-1m",
    "The tokens that mean something, a million times.",
    CHAT,
    lambda: chat(messages=[{"role": "user", "content": "<|im_end|>" * 1_000_000}]),
    (400, 413, 503),
)
send(
    "message-combining-marks",
    "Marks that a normal form has to sort.",
    CHAT,
    lambda: json.dumps(
        chat(messages=[{"role": "user", "content": "a" + "\u0301\u0316" * 1_500_000}]), ensure_ascii=False
    ),
    (400, 413, 503),
)
send(
    "message-hangul",
    "Letters that a normal form has to join.",
    CHAT,
    lambda: json.dumps(
        chat(messages=[{"role": "user", "content": "\u1112\u1161\u11ab" * 500_000}]), ensure_ascii=False
    ),
    (400, 413, 503),
)
send(
    "message-digits",
    "Digits are split one by one.",
    CHAT,
    lambda: chat(messages=[{"role": "user", "content": "7" * 3_000_000}]),
    (400, 413, 503),
)
send(
    "message-quotes",
    "A character that the pattern looks at twice.",
    CHAT,
    lambda: chat(messages=[{"role": "user", "content": "'" * 3_000_000}]),
    (400, 413, 503),
)
send(
    "message-line-ends",
    "Line ends after spaces make patterns go back.",
    CHAT,
    lambda: chat(messages=[{"role": "user", "content": (" " * 5000 + "x") * 300}]),
    (400, 413, 503),
)
send(
    "parts-500k",
    MANY,
    CHAT,
    lambda: '{"max_tokens":1,"messages":[{"role":"user","content":['
    + ",".join('{"type":"text","text":""}' for _ in range(500_000))
    + "]}]}",
    ANY,
)
send(
    "tools-100k",
    MANY,
    CHAT,
    lambda: chat_with(
        '"tools":[' + ",".join('{"type":"function","function":{"name":"f"}}' for _ in range(100_000)) + "]"
    ),
    ANY,
)
send("tool-15mb", MANY, CHAT, lambda: chat(tools=[{"type": "function", "function": {"name": "f" * 15_000_000}}]), ANY)
send(
    "tool-calls-100k",
    MANY,
    CHAT,
    lambda: '{"max_tokens":1,"messages":[{"role":"assistant","tool_calls":['
    + ",".join('{"function":{"name":"f","arguments":"{}"}}' for _ in range(100_000))
    + "]}]}",
    ANY,
)
send(
    "tool-call-deep-arguments",
    "JSON within JSON has the same depth limit.",
    CHAT,
    lambda: chat(
        messages=[
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"function": {"name": "f", "arguments": '{"a":' * 500_000}}],
            }
        ]
    ),
    ANY,
)
send(
    "logit-bias-1m",
    MANY,
    CHAT,
    lambda: chat_with('"logit_bias":{' + ",".join(f'"{i}":1' for i in range(1_000_000)) + "}"),
    (400,),
)
send(
    "logit-bias-all",
    MANY,
    CHAT,
    lambda: chat_with('"logit_bias":{' + ",".join(f'"{i}":1' for i in range(1024)) + "}"),
    (200,),
)
send(
    "logit-bias-same-id",
    MANY,
    CHAT,
    lambda: chat_with('"logit_bias":{' + ",".join(f'"{"0" * (i % 1000)}5":1' for i in range(25_000)) + "}"),
    (200, 400, 413),
)
send("logit-bias-long-key", MANY, CHAT, lambda: chat(logit_bias={"1" * 10_000_000: 1}), (400,))
send("stop-10mb", MANY, CHAT, lambda: chat(stop="s" * 10_000_000), (200, 400))
send("stop-four-long", MANY, CHAT, lambda: chat(stop=["s" * 3_000_000 + str(i) for i in range(4)]), (200, 400))
send("stop-1m", MANY, CHAT, lambda: chat(stop=["s"] * 1_000_000), (400,))
send("stop-null", "A stop string of a NUL.", CHAT, chat(stop="\0"), (200, 400))
send(
    "stop-repetitive",
    "Stop strings that nearly match again and again.",
    CHAT,
    lambda: chat(stop=["a" * 100_000 + "b"], max_tokens=200),
    (200, 400),
)
send("model-15mb", "A server of one model does not look at the name.", CHAT, lambda: chat(model="m" * 15_000_000), (200,))
send("model-controls", "A server of one model does not look at the name.", CHAT, chat(model="\x1b[2J\r\n\x07"), (200,))
send("unknown-fields-500k", MANY, CHAT, lambda: chat_with(keys(500_000)[1:-1]), ANY)
send("user-15mb", "A field without effect.", CHAT, lambda: chat(user="u" * 15_000_000), ANY)
send(
    "role-15mb",
    "A role that nobody has.",
    CHAT,
    lambda: chat(messages=[{"role": "r" * 15_000_000, "content": "x"}]),
    (400,),
)
send("prompt-ids-2m", MANY, TEXT, lambda: text(prompt=[5] * 2_000_000), (400,))
send("prompt-lists-500k", MANY, TEXT, lambda: text(prompt=[[5]] * 500_000), (400,))
send("prompt-texts-3m", MANY, TEXT, lambda: '{"prompt":[' + ",".join('"x"' for _ in range(3_000_000)) + "]}", (400,))
send(
    "prompt-64-long",
    "Sixty-four prompts, each of the whole context.",
    TEXT,
    lambda: text(prompt=[[5] * 500] * 64, max_tokens=1),
    (200, 400, 429, 503),
    seconds=60,
    why="64 prompts of 500 tokens are real work for the model",
)
send("prompt-15mb", "A prompt as long as a body may be.", TEXT, lambda: text(prompt="a" * 15_500_000), (400, 413, 503))
send(
    "echo-long",
    "An echo of what does not fit.",
    TEXT,
    lambda: text(prompt="word " * 100_000, echo=True, logprobs=5),
    (400,),
)

DEEP = "Depth must not use up the stack."
for name, make in {
    "lists": lambda: "[" * 5_000_000,
    "objects": lambda: '{"a":' * 2_000_000,
    "mixed": lambda: '[{"a":' * 1_000_000,
    "closed": lambda: "[" * 1_000_000 + "]" * 1_000_000,
    "kwargs": lambda: chat_with('"chat_template_kwargs":{"a":' + "[" * 200_000 + "]" * 200_000 + "}"),
    "messages": lambda: '{"messages":' + "[" * 200_000 + "]" * 200_000 + "}",
    "bias": lambda: chat_with('"logit_bias":' + '{"1":' * 200_000),
}.items():
    send(f"deep-{name}", DEEP, CHAT, make, (400,))
send(
    "deep-as-allowed",
    "As deep as may be, through the template.",
    CHAT,
    lambda: chat_with('"chat_template_kwargs":{"a":' + "[" * 60 + "]" * 60 + "}"),
    (200, 400),
)
