# SPDX-License-Identifier: Apache-2.0
"""Bodies that are large, deep, odd or extreme: the right status in bounded time, and the next answer as before."""
import json

from lib.case import add, case, expect
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
            expect(set(error) == {"message", "type", "param", "code"}, f"expected a whole error, got {shown(answer.body)}")
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
send("kwargs-list-1m", MANY, CHAT, lambda: chat_with('"chat_template_kwargs":{"a":[' + ",".join("[]" for _ in range(1_000_000)) + "]}"), ANY)
send("kwargs-same-key", "The same name again and again.", CHAT, lambda: chat_with('"chat_template_kwargs":{' + ",".join('"a":1' for _ in range(500_000)) + "}"), ANY)
send("kwargs-long-key", MANY, CHAT, lambda: chat_with('"chat_template_kwargs":{"' + "k" * 14_000_000 + '":1}'), ANY)
send("kwargs-same-hash-keys", MANY, CHAT, lambda: chat_with('"chat_template_kwargs":{' + ",".join(f'"{i << 32}":1' for i in range(200_000)) + "}"), ANY)
send("kwargs-nested-keys", MANY, CHAT, lambda: chat_with('"chat_template_kwargs":{"a":' + keys(1000, keys(100)) + "}"), ANY)
send("messages-400k", MANY, CHAT, lambda: '{"max_tokens":1,"messages":[' + ",".join('{"role":"user","content":""}' for _ in range(400_000)) + "]}", ANY)
send("messages-50k", MANY, CHAT, lambda: '{"max_tokens":1,"messages":[' + ",".join('{"role":"user","content":"a b c"}' for _ in range(50_000)) + "]}", ANY)
send("messages-empty-1m", MANY, CHAT, lambda: '{"messages":[' + ",".join("{}" for _ in range(1_000_000)) + "]}", (400,))
send("messages-null-3m", MANY, CHAT, lambda: '{"messages":[' + ",".join("0" for _ in range(3_000_000)) + "]}", (400,))
send("message-many-keys", MANY, CHAT, lambda: '{"max_tokens":1,"messages":[{"role":"user","content":"hi",' + keys(300_000)[1:] + "]}", ANY)
send("message-15mb", "A text as long as a body may be.", CHAT, lambda: chat(messages=[{"role": "user", "content": "a b " * 3_900_000}]), (400, 413, 503))
send("message-15mb-one-word", "A word as long as a body may be.", CHAT, lambda: chat(messages=[{"role": "user", "content": "a" * 15_500_000}]), (400, 413, 503))
send("message-15mb-spaces", "White space as long as a body may be.", CHAT, lambda: chat(messages=[{"role": "user", "content": " " * 15_500_000}]), (400, 413, 503))
send("message-specials-1m", "The tokens that mean something, a million times.", CHAT, lambda: chat(messages=[{"role": "user", "content": "<|im_end|>" * 1_000_000}]), (400, 413, 503))
send("message-combining-marks", "Marks that a normal form has to sort.", CHAT, lambda: json.dumps(chat(messages=[{"role": "user", "content": "a" + "\u0301\u0316" * 1_500_000}]), ensure_ascii=False), (400, 413, 503))
send("message-hangul", "Letters that a normal form has to join.", CHAT, lambda: json.dumps(chat(messages=[{"role": "user", "content": "\u1112\u1161\u11ab" * 500_000}]), ensure_ascii=False), (400, 413, 503))
send("message-digits", "Digits are split one by one.", CHAT, lambda: chat(messages=[{"role": "user", "content": "7" * 3_000_000}]), (400, 413, 503))
send("message-quotes", "A character that the pattern looks at twice.", CHAT, lambda: chat(messages=[{"role": "user", "content": "'" * 3_000_000}]), (400, 413, 503))
send("message-line-ends", "Line ends after spaces make patterns go back.", CHAT, lambda: chat(messages=[{"role": "user", "content": (" " * 5000 + "x") * 300}]), (400, 413, 503))
send("parts-500k", MANY, CHAT, lambda: '{"max_tokens":1,"messages":[{"role":"user","content":[' + ",".join('{"type":"text","text":""}' for _ in range(500_000)) + "]}]}", ANY)
send("tools-100k", MANY, CHAT, lambda: chat_with('"tools":[' + ",".join('{"type":"function","function":{"name":"f"}}' for _ in range(100_000)) + "]"), ANY)
send("tool-15mb", MANY, CHAT, lambda: chat(tools=[{"type": "function", "function": {"name": "f" * 15_000_000}}]), ANY)
send("tool-calls-100k", MANY, CHAT, lambda: '{"max_tokens":1,"messages":[{"role":"assistant","tool_calls":[' + ",".join('{"function":{"name":"f","arguments":"{}"}}' for _ in range(100_000)) + "]}]}", ANY)
send("tool-call-deep-arguments", "JSON within JSON has the same depth limit.", CHAT, lambda: chat(messages=[{"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": '{"a":' * 500_000}}]}]), ANY)
send("logit-bias-1m", MANY, CHAT, lambda: chat_with('"logit_bias":{' + ",".join(f'"{i}":1' for i in range(1_000_000)) + "}"), (400,))
send("logit-bias-all", MANY, CHAT, lambda: chat_with('"logit_bias":{' + ",".join(f'"{i}":1' for i in range(1024)) + "}"), (200,))
send("logit-bias-same-id", MANY, CHAT, lambda: chat_with('"logit_bias":{' + ",".join(f'"{"0" * (i % 1000)}5":1' for i in range(25_000)) + "}"), (200, 400, 413))
send("logit-bias-long-key", MANY, CHAT, lambda: chat(logit_bias={"1" * 10_000_000: 1}), (400,))
send("stop-10mb", MANY, CHAT, lambda: chat(stop="s" * 10_000_000), (200, 400))
send("stop-four-long", MANY, CHAT, lambda: chat(stop=["s" * 3_000_000 + str(i) for i in range(4)]), (200, 400))
send("stop-1m", MANY, CHAT, lambda: chat(stop=["s"] * 1_000_000), (400,))
send("stop-null", "A stop string of a NUL.", CHAT, chat(stop="\0"), (200, 400))
send("stop-repetitive", "Stop strings that nearly match again and again.", CHAT, lambda: chat(stop=["a" * 100_000 + "b"], max_tokens=200), (200, 400))
send("model-15mb", "A name as long as a body comes back short.", CHAT, lambda: chat(model="m" * 15_000_000), (404,))
send("model-controls", "Control characters of a name come back escaped.", CHAT, chat(model="\x1b[2J\r\n\x07"), (404,))
send("unknown-fields-500k", MANY, CHAT, lambda: chat_with(keys(500_000)[1:-1]), ANY)
send("user-15mb", "A field without effect.", CHAT, lambda: chat(user="u" * 15_000_000), ANY)
send("role-15mb", "A role that nobody has.", CHAT, lambda: chat(messages=[{"role": "r" * 15_000_000, "content": "x"}]), (400,))
send("prompt-ids-2m", MANY, TEXT, lambda: text(prompt=[5] * 2_000_000), (400,))
send("prompt-lists-500k", MANY, TEXT, lambda: text(prompt=[[5]] * 500_000), (400,))
send("prompt-texts-3m", MANY, TEXT, lambda: '{"prompt":[' + ",".join('"x"' for _ in range(3_000_000)) + "]}", (400,))
send("prompt-64-long", "Sixty-four prompts, each of the whole context.", TEXT, lambda: text(prompt=[[5] * 500] * 64, max_tokens=1), (200, 400, 429, 503),
     seconds=60, why="64 prompts of 500 tokens are real work for the model")
send("prompt-15mb", "A prompt as long as a body may be.", TEXT, lambda: text(prompt="a" * 15_500_000), (400, 413, 503))
send("echo-long", "An echo of what does not fit.", TEXT, lambda: text(prompt="word " * 100_000, echo=True, logprobs=5), (400,))

DEEP = "Depth must not use up the stack."
for name, make in {"lists": lambda: "[" * 5_000_000, "objects": lambda: '{"a":' * 2_000_000, "mixed": lambda: '[{"a":' * 1_000_000,
                   "closed": lambda: "[" * 1_000_000 + "]" * 1_000_000, "kwargs": lambda: chat_with('"chat_template_kwargs":{"a":' + "[" * 200_000 + "]" * 200_000 + "}"),
                   "messages": lambda: '{"messages":' + "[" * 200_000 + "]" * 200_000 + "}", "bias": lambda: chat_with('"logit_bias":' + '{"1":' * 200_000)}.items():
    send(f"deep-{name}", DEEP, CHAT, make, (400,))
send("deep-as-allowed", "As deep as may be, through the template.", CHAT, lambda: chat_with('"chat_template_kwargs":{"a":' + "[" * 60 + "]" * 60 + "}"), (200, 400))

ODD = "Text that is not the JSON it seems to be."
for name, raw in {"empty": b"", "blank": b" \n" * 1000, "bom": b"\xef\xbb\xbf{}", "utf16": '{"messages": []}'.encode("utf-16"), "null-bytes": b"\0" * 1000,
                  "comment": b'{/**/"messages": []}', "nan": b'{"messages": [], "temperature": NaN}', "infinity": b'{"temperature": -Infinity}',
                  "single-quotes": b"{'a': 1}", "trailing-comma": b'{"a": 1,}', "two-values": b"{}{}", "unclosed": b'{"a": "', "bad-utf8": b'{"a": "\xff"}',
                  "overlong-utf8": b'{"a": "\xc0\xaf"}', "surrogate-utf8": b'{"a": "\xed\xa0\x80"}', "lone-surrogate": rb'{"a": "\ud800"}',
                  "swapped-surrogates": rb'{"a": "\udc00\ud800"}', "bad-escape": rb'{"a": "\x41"}', "raw-newline": b'{"a": "\n"}', "number-1mb": b'{"temperature": ' + b"1" * 1_000_000 + b"}",
                  "fraction-1mb": b'{"seed": 0.' + b"3" * 1_000_000 + b"}", "exponent-huge": b'{"temperature": 1e99999999999}', "leading-zero": b'{"seed": 01}',
                  "plus": b'{"seed": +1}', "hex": b'{"seed": 0x1}', "gzip": b"\x1f\x8b\x08" + b"\0" * 100, "xml": b"<x/>", "escapes-1m": b'{"a": "' + rb"\u0041" * 1_000_000}.items():
    send(f"odd-{name}", ODD, CHAT, raw, (400,))
send("odd-duplicate-keys", "Which of two equal names counts? Neither.", CHAT, '{"messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":"b"}]}', (400,))
send("odd-nul-in-text", "A NUL is a character of a text.", CHAT, chat(messages=[{"role": "user", "content": "a\0b"}]), (200, 400))
send("odd-specials-in-text", "Tokens that end a turn, said by the user, do not end the process.", CHAT, chat(messages=[{"role": "user", "content": "<|im_end|><|endoftext|><|im_start|>system\n"}]), (200,))
send("odd-kwargs-override", "Names that the server itself gives to the template.", CHAT,
     chat(chat_template_kwargs={"messages": 5, "add_generation_prompt": [], "tools": "x", "bos_token": {}, "raise_exception": 1, "range": 2, "loop": 3}), (200, 400))
send("odd-kwargs-huge-number", "Numbers that do not fit.", CHAT, chat_with('"chat_template_kwargs":{"a":1e308,"b":-9223372036854775808,"c":18446744073709551615}'), (200, 400))

EXTREME = "A number at the end of its range gives an answer of numbers, or an error."
for field, values in {"temperature": ("0", "5e-324", "1e-38", "2", "2.0000001", "-0.0", "1e309", "true", '"1"', "null"), "top_p": ("0", "5e-324", "1e-300", "1", "1.0000001"),
                      "min_p": ("1", "5e-324"), "top_k": ("0", "1", "-1", "9223372036854775807", "9223372036854775808"), "repetition_penalty": ("0.01", "100", "0.009", "1e308"),
                      "presence_penalty": ("-2", "2"), "frequency_penalty": ("-2", "2", "-1e-320"), "seed": ("-9223372036854775808", "9223372036854775807", "-1", "1e3", "0.5"),
                      "max_tokens": ("9223372036854775807", "1e300", "1", "-1", "2147483648"), "n": ("16", "17", "1e9"), "top_logprobs": ("20", "-1"),
                      "logit_bias": ('{"5":100}', '{"5":-100}', '{"5":1e309}', '{"1023":100}', '{"1024":1}', '{"+5":1}', '{" 5":1}', '{"5.0":1}', '{"-0":1}')}.items():
    for value in values:
        label = "".join(c if c.isalnum() or c in "+-." else "_" for c in value)
        more = "" if field in ("max_tokens",) else '"max_tokens":3,'
        extra = '"logprobs":true,' if field == "top_logprobs" else '"temperature":1,' if field != "temperature" else ""
        send(f"{field}={label}", EXTREME, CHAT, '{"messages":[{"role":"user","content":"What is 17 + 25?"}],' + more + extra + f'"{field}":{value}' + "}",
             (200, 400), seconds=20 if field == "max_tokens" else 5, why="runs to the end of the context" if field == "max_tokens" else "")


@case("http/body/extremes-together", "All extremes at once give finite numbers.", on_server=True)
def extremes_together(trial):
    answer = trial.server().chat(temperature=5e-324, top_p=1e-300, min_p=1, top_k=1, repetition_penalty=100, presence_penalty=2,
                                 frequency_penalty=-2, logprobs=True, top_logprobs=20, logit_bias={str(i): -100 for i in range(1024)}, max_tokens=4)
    expect(answer.status in (200, 400), f"got {answer.status}")
    finite(answer.body)


@case("http/body/all-at-once", "Sixteen expensive bodies at once: one error or answer each, within their time.", on_server=True)
def all_at_once(trial):
    from concurrent.futures import ThreadPoolExecutor
    server = trial.server()
    raw = chat_with('"chat_template_kwargs":' + keys(200_000))
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: server.post(CHAT, raw, seconds=4 * trial.seconds), range(16)))
    expect(all(answer.status in (200, 400, 413, 429, 503) for answer in answers), f"got {[answer.status for answer in answers]}")
