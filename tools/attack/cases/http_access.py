# SPDX-License-Identifier: Apache-2.0
"""Who may ask: keys, pages of other origins, names of other hosts."""

import json
import time

from lib import http
from lib.case import add, case, expect

KEY = "correct-horse-battery"
ASK = '{"prompt": "x", "max_tokens": 1}'


def keyed(trial):
    return trial.server("keyed", ("--parallel", "2"), extra={"ANEMONE_API_KEY": KEY}, key=KEY)


def plain(trial):
    return trial.server()


def open_to_all(trial):
    return trial.server("open", ("--parallel", "2"), host="0.0.0.0")


def named(trial):
    return trial.server("named", ("--parallel", "2", "--allowed-host", "models.example"), host="0.0.0.0")


def with_pages(trial):
    return trial.server("pages", ("--parallel", "2", "--cors", "https://good.example"))


def ask(server_of, name, reason, raw, statuses, check=None):
    def body(trial):
        server = server_of(trial)
        data = raw(server) if callable(raw) else raw
        answers = server.talk(data)
        got = [answer.status for answer in answers]
        expect(got and got[0] in statuses, f"expected {statuses}, got {got}")
        if check:
            check(answers[0])

    add(f"http/{name}", reason, body, on_server=True)


WRONG = "Only the key opens the server, not what looks like it."
for name, headers in {
    "none": [],
    "empty": [("Authorization", "")],
    "empty-bearer": [("Authorization", "Bearer ")],
    "wrong": [("Authorization", "Bearer wrong")],
    "prefix": [("Authorization", f"Bearer {KEY[:-1]}")],
    "longer": [("Authorization", f"Bearer {KEY}x")],
    "case": [("Authorization", f"Bearer {KEY.upper()}")],
    "basic": [("Authorization", f"Basic {KEY}")],
    "naked": [("Authorization", KEY)],
    "twice": [("Authorization", f"Bearer {KEY}{KEY}")],
    "list": [("Authorization", f"Bearer x, Bearer {KEY}")],
    "cookie": [("Cookie", f"api_key={KEY}")],
    "proxy": [("Proxy-Authorization", f"Bearer {KEY}")],
    "repeated-16kb": [("Authorization", "Bearer " + KEY * 700)],
    "other-header": [("X-Api-Key", "wrong")],
    "both-first-wrong": [("Authorization", "Bearer wrong"), ("X-Api-Key", KEY)],
}.items():
    ask(
        keyed,
        f"key/{name}",
        WRONG,
        http.request("POST", "/v1/completions", [("Content-Type", "application/json"), *headers], ASK),
        (401,),
    )
ask(keyed, "key/in-path", WRONG, http.request("GET", f"/v1/models?api_key={KEY}"), (401,))
ask(
    keyed,
    "key/null-behind",
    WRONG,
    http.request("GET", "/v1/models", [("Authorization", f"Bearer {KEY}\x00")]),
    (400, 401),
)
ask(
    keyed,
    "key/two-fields",
    "Two keys: the second one is not tried.",
    http.request("GET", "/v1/models", [("Authorization", "Bearer wrong"), ("Authorization", f"Bearer {KEY}")]),
    (400, 401),
)
ask(
    keyed,
    "key/right",
    "The key itself does open it, or the other cases show nothing.",
    http.request(
        "POST", "/v1/completions", [("Content-Type", "application/json"), ("Authorization", f"bearer {KEY}")], ASK
    ),
    (200,),
)
ask(
    keyed,
    "key/health-without",
    "Health is public, so that a balancer needs no key.",
    http.request("GET", "/health"),
    (200,),
)
ask(
    keyed,
    "key/unknown-path-without",
    "What paths there are is not told to strangers.",
    http.request("GET", "/v1/secret"),
    (401, 404),
)


@case(
    "http/key/body-unread",
    "A body is read after the key was checked: a stranger cannot fill the memory.",
    on_server=True,
)
def body_unread(trial):
    server = keyed(trial)
    with http.connect(server.address) as connection:
        connection.sendall(
            b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 15000000\r\n"
            b"Content-Type: application/json\r\n\r\n"
        )
        connection.settimeout(trial.seconds)
        try:
            raw = connection.recv(65536)
        except TimeoutError:
            raw = b""
    expect(b" 401 " in raw, "expected 401 before the body was sent")


@case("http/key/continue-unsaid", "A stranger is not asked to go on with a body.", on_server=True)
def continue_unsaid(trial):
    server = keyed(trial)
    with http.connect(server.address) as connection:
        connection.sendall(
            b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 15000000\r\n"
            b"Expect: 100-continue\r\n\r\n"
        )
        connection.settimeout(trial.seconds)
        raw = connection.recv(65536)
    expect(b" 401 " in raw and b" 100 " not in raw, f"got {raw[:100]!r}")


@case("http/key/not-in-command-line", "A key from the environment shows in no list of processes.", on_server=True)
def not_in_command_line(trial):
    server = keyed(trial)
    with open(f"/proc/{server.pid}/cmdline", "rb") as file:
        expect(KEY.encode() not in file.read(), "the key is in the command line")
    expect(KEY.encode() not in server.err(), "the key is in the log")


@case("http/key/from-file", "A key from a file is the key, without the line end.")
def from_file(trial):
    server = trial.own_server(("--api-key-file", trial.write("key", KEY + "\n")), is_watched=False)
    right = server.ask(http.request("GET", "/v1/models", [("Authorization", f"Bearer {KEY}")])).status
    wrong = server.ask(http.request("GET", "/v1/models", [("Authorization", f"Bearer {KEY}\n")])).status
    expect(right == 200 and wrong != 200, f"got {right} with the key, {wrong} with its line end")


for name, model, reason in (
    ("15mb", "m" * 15_000_000, "A name as long as a body comes back short."),
    ("controls", "\x1b[2J\r\n\x07", "Control characters of a name come back escaped."),
):

    def strict_model(trial, model=model):
        server = trial.own_server(("--strict-model",))
        answer = server.post("/v1/chat/completions", json.dumps({"model": model, "messages": [{"role": "user", "content": "hi"}]}))
        expect(answer.status == 404, f"expected 404, got {answer.status}")
        expect(len(answer.body) < 10_000 and b"\x1b" not in answer.body, f"got {answer.body[:200]!r}")

    add(f"http/strict-model/{name}", reason, strict_model)

for name, content in {
    "empty": b"",
    "blank": b" \n",
    "comments": b"# a\n\n  # b\n",
    "control": b"a\x07b\n",
    "long": b"k" * 5_000_000,
}.items():

    def bad_file(trial, content=content):
        from lib.process import refused

        refused(trial.run("serve", trial.pocket(), "--port", "0", "--api-key-file", trial.write("key", content)))

    add(f"http/key/file-{name}", "A key file without a key must not open the server to all.", bad_file)


PAGE = "A web page that the user looks at must not use the server of this machine."
for name, headers in {
    "plain": [("Content-Type", "text/plain")],
    "json": [("Content-Type", "application/json")],
    "none": [],
    "form": [("Content-Type", "application/x-www-form-urlencoded")],
    "multipart": [("Content-Type", "multipart/form-data; boundary=x")],
}.items():
    ask(
        plain,
        f"page/post-{name}",
        PAGE,
        http.request("POST", "/v1/completions", [("Origin", "https://evil.example"), *headers], ASK),
        (403, 415),
    )
for name, origin in {
    "null": "null",
    "file": "file://",
    "suffix": "http://localhost.evil.example",
    "user": "http://localhost@evil.example",
    "https": "https://localhost",
    "other-port": "http://localhost:1",
    "empty": "",
    "two": "http://localhost, https://evil.example",
    "case-less": "HTTP://EVIL.EXAMPLE",
}.items():
    ask(
        plain,
        f"page/origin-{name}",
        PAGE,
        http.request("POST", "/v1/completions", [("Origin", origin), ("Content-Type", "application/json")], ASK),
        (400, 403),
    )


def no_permission(answer):
    expect(answer.header("Access-Control-Allow-Origin") is None, "a page of another origin may read the answer")


ask(
    plain,
    "page/read",
    PAGE,
    http.request("GET", "/v1/models", [("Origin", "https://evil.example")]),
    (200, 403),
    no_permission,
)
ask(
    plain,
    "page/preflight",
    PAGE,
    http.request(
        "OPTIONS", "/v1/completions", [("Origin", "https://evil.example"), ("Access-Control-Request-Method", "POST")]
    ),
    (200, 204, 403),
    no_permission,
)
ask(
    with_pages,
    "page/other-than-allowed",
    PAGE,
    http.request(
        "POST",
        "/v1/completions",
        [("Origin", "https://good.example.evil.example"), ("Content-Type", "application/json")],
        ASK,
    ),
    (403,),
    no_permission,
)
ask(
    with_pages,
    "page/allowed",
    "A page that was let in is let in.",
    http.request(
        "POST", "/v1/completions", [("Origin", "https://good.example"), ("Content-Type", "application/json")], ASK
    ),
    (200,),
)


def no_split(answer):
    expect(answer.header("Set-Cookie") is None, "a header of the client came back as one of the server")


ask(
    with_pages,
    "page/headers-come-back",
    "What a preflight asks for is echoed as one value.",
    http.request(
        "OPTIONS",
        "/v1/completions",
        [("Origin", "https://good.example"), ("Access-Control-Request-Headers", "a\tb; Set-Cookie: x=1")],
    ),
    (200, 204, 400),
    no_split,
)
for name, host in {
    "other": "evil.com",
    "suffix": "localhost.evil.com",
    "prefix": "evil-localhost",
    "address-like": "127.0.0.1.evil.com",
    "decimal": "2130706433x",
    "rebound": "rebind.network",
}.items():
    ask(
        plain,
        f"page/rebinding-{name}",
        "A page whose name was pointed at this machine gets no answer.",
        http.request("GET", "/v1/models", host=host),
        (400, 403),
    )
    ask(
        open_to_all,
        f"page/rebinding-open-{name}",
        "The same where the server listens on all addresses without a key.",
        http.request("GET", "/v1/models", host=host),
        (400, 403),
    )
for name, host in {"address": "127.0.0.1", "localhost": "localhost"}.items():
    ask(
        open_to_all,
        f"page/open-{name}",
        "Addresses and this machine's own name are no names of a page.",
        http.request("GET", "/v1/models", host=host),
        (200,),
    )
ask(
    named,
    "page/allowed-host",
    "A name that the owner gave is answered.",
    http.request("GET", "/v1/models", host="models.example:80"),
    (200,),
)
ask(
    named,
    "page/not-allowed-host",
    "The others are not.",
    http.request("GET", "/v1/models", host="models.example.evil.com"),
    (400, 403),
)


@case("http/key/time", "A thousand wrong keys cost the time of a thousand answers.", on_server=True)
def many_wrong(trial):
    server = keyed(trial)
    begin = time.monotonic()
    raw = http.request("GET", "/v1/models", [("Authorization", "Bearer wrong")]) * 1000
    answers = server.talk(raw, count=1000)
    expect({answer.status for answer in answers} == {401}, "expected 401 each time")
    expect(time.monotonic() - begin < trial.seconds, "too slow")
