# SPDX-License-Identifier: Apache-2.0
"""Bytes that two programs may read as different requests, and bytes that are no request."""

from lib import http
from lib.case import add, case, expect
from lib.process import shown

BODY = b'{"prompt": "x", "max_tokens": 1}'
POST = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = b"20\r\n" + BODY + b"\r\n0\r\n\r\n"
SMUGGLED = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"


def body_of(raw, statuses, closes):
    def body(trial):
        # What follows the request is a second one, which a wrong reading of the first would answer too.
        answers = trial.server().talk(raw, listen=0.1 if closes else 0.02)
        got = [answer.status for answer in answers]
        expect(got and got[0] in statuses, f"expected {statuses}, got {got}")
        if closes:
            expect(len(got) == 1, f"expected the connection to end with the first answer, got {got}")

    return body


def refuse(name, reason, raw, statuses=(400,)):
    add(f"http/framing/{name}", reason, body_of(raw + SMUGGLED, statuses, True), on_server=True)


def answer(name, reason, raw, statuses=(200,)):
    add(f"http/framing/{name}", reason, body_of(raw, statuses, False), on_server=True)


TE = "A proxy that reads another length than the server lets one client speak for the next."
for name, raw in {
    "chunked-http10": b"POST /v1/completions HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    + CHUNKED,
    "length-and-chunked": POST + b"Content-Length: 32\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED,
    "chunked-and-length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n" + CHUNKED,
    "chunked-twice": POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n" + CHUNKED,
    "chunked-two-fields": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + CHUNKED,
    "chunked-misspelt": POST + b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKED,
    "chunked-quoted": POST + b'Transfer-Encoding: "chunked"\r\n\r\n' + CHUNKED,
    "chunked-vertical-tab": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n" + CHUNKED,
    "chunked-space-before-colon": POST + b"Transfer-Encoding : chunked\r\n\r\n" + CHUNKED,
    "chunked-folded": POST + b"Transfer-Encoding:\r\n chunked\r\nContent-Length: 4\r\n\r\n" + CHUNKED,
    "chunked-parameter": POST + b"Transfer-Encoding: chunked;q=1\r\n\r\n" + CHUNKED,
    "identity": POST + b"Transfer-Encoding: identity\r\nContent-Length: 32\r\n\r\n" + BODY,
    "gzip-chunked": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKED,
    "empty-coding": POST + b"Transfer-Encoding:\r\nContent-Length: 32\r\n\r\n" + BODY,
}.items():
    refuse(name, TE, raw, (400, 501))
for name, value in {
    "list-equal": b"32, 32",
    "list-different": b"32, 5",
    "list-open": b"32,",
    "plus": b"+32",
    "minus": b"-1",
    "hex": b"0x20",
    "space": b"3 2",
    "empty": b"",
    "word": b"many",
    "float": b"32.0",
    "exponent": b"3e1",
    "past-64-bits": b"18446744073709551648",
    "past-63-bits": b"9223372036854775808",
    "semicolon": b"32;",
    "quoted": b'"32"',
    "other-digits": "\u0663\u0662".encode(),
}.items():
    refuse(
        f"length-{name}",
        "Only digits are a length; anything else is read in more than one way.",
        POST + b"Content-Length: " + value + b"\r\n\r\n" + BODY,
        (400, 413),
    )
refuse("length-twice-equal", TE, POST + b"Content-Length: 32\r\nContent-Length: 32\r\n\r\n" + BODY)
refuse("length-twice-different", TE, POST + b"Content-Length: 32\r\nContent-Length: 5\r\n\r\n" + BODY)
refuse(
    "length-too-long",
    "A body that is announced too long is refused before it is sent.",
    POST + b"Content-Length: 16000001\r\n\r\n",
    (413,),
)
for name, chunks in {
    "size-overflow": b"10000000000000020\r\n" + BODY + b"\r\n0\r\n\r\n",
    "size-huge": b"ffffffffffffffff\r\n" + BODY,
    "size-minus": b"-1\r\n" + BODY,
    "size-prefix": b"0x20\r\n" + BODY + b"\r\n0\r\n\r\n",
    "size-empty": b"\r\n" + BODY,
    "size-word": b"zz\r\n" + BODY,
    "size-space": b" 20\r\n" + BODY + b"\r\n0\r\n\r\n",
    "no-end-of-chunk": b"20\r\n" + BODY + b"0\r\n\r\n",
    "bare-line-feed": b"20\n" + BODY + b"\n0\n\n" + b"\n" * 40000,
    "long-extension": b"20;" + b"x" * 60000 + b"\r\n" + BODY + b"\r\n0\r\n\r\n",
    "long-trailer": b"20\r\n" + BODY + b"\r\n0\r\nA: " + b"x" * 60000 + b"\r\n\r\n",
    "endless-trailers": b"20\r\n" + BODY + b"\r\n0\r\n" + b"A: b\r\n" * 20000 + b"\r\n",
    "too-long": b"1000000\r\n" + b" " * 0x1000000 + b"\r\n0\r\n\r\n",
    "tiny-chunks-too-long": b"1\r\n \r\n" * 300_000 + b"F00000\r\n" + b" " * 0xF00000 + b"\r\n0\r\n\r\n",
}.items():
    add(
        f"http/framing/chunk-{name}",
        "A chunk that is not what it says must not move the border between two requests.",
        body_of(POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunks, (400, 413, 431), True),
        on_server=True,
    )
answer(
    "chunk-trailer-length",
    "A field after the body is dropped, not believed.",
    POST + b"Transfer-Encoding: chunked\r\n\r\n20\r\n" + BODY + b"\r\n0\r\nContent-Length: 5\r\nHost: evil.com\r\n\r\n",
    (200, 400),
)

LINE = "What is no HTTP/1.1 request gets an error and not a guess."
for name, raw in {
    "no-version": b"GET /health\r\n\r\n",
    "version-09": b"GET /health HTTP/0.9\r\n\r\n",
    "version-2": b"GET /health HTTP/2.0\r\nHost: localhost\r\n\r\n",
    "version-99": b"GET /health HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "version-lower": b"GET /health http/1.1\r\nHost: localhost\r\n\r\n",
    "line-feeds": b"GET /health HTTP/1.1\nHost: localhost\n\n",
    "returns": b"GET /health HTTP/1.1\rHost: localhost\r\r",
    "null-in-path": b"GET /health\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "space-in-path": b"GET /health x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "two-spaces": b"GET  /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "control-in-method": b"G\x01T /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "leading-space": b" GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "http2-preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "tls-hello": bytes.fromhex("16030100c8010000c40303") + b"\x00" * 200,
    "ssh": b"SSH-2.0-x\r\n\r\n",
    "nulls": b"\x00" * 4000,
    "high-bytes": b"\xff\xfe" * 2000,
    "long-method": b"G" * 50000 + b" / HTTP/1.1\r\nHost: a\r\n\r\n",
}.items():
    refuse(f"line-{name}", LINE, raw, (400, 431, 505))
refuse(
    "line-long-path",
    "A path longer than all headers may be.",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    (400, 414, 431),
)

FIELD = "A header field that is none ends the request."
for name, field in {
    "no-colon": b"Nonsense",
    "empty-name": b": x",
    "space-in-name": b"A b: c",
    "null-in-value": b"A: b\x00c",
    "return-in-value": b"A: b\rc",
    "null-in-name": b"A\x00: b",
    "high-name": b"\xc3\xa4: b",
}.items():
    refuse(f"field-{name}", FIELD, GET + field + b"\r\n\r\n")
answer(
    "field-folded",
    "A field that goes on in the next line is one field or an error, never two.",
    GET + b"A: b\r\n X-Api-Key: c\r\n\r\n",
    (200, 400),
)
refuse(
    "field-many",
    "Ten thousand short fields are as much work as a long one.",
    GET + b"".join(b"A%d: b\r\n" % i for i in range(10_000)) + b"\r\n",
    (431,),
)
refuse("field-long", "A field longer than all headers may be.", GET + b"A: " + b"x" * 100_000 + b"\r\n\r\n", (431,))
refuse("field-endless", "A header that never ends must not be kept.", GET + b"A: " + b"x" * 5_000_000, (431,))
for name, value in {
    "brackets-and-more": "[::1]evil.com",
    "bracket-open": "[::1",
    "bracket-closed": "::1]",
    "two-ports": "127.0.0.1:80:80",
    "user": "localhost@evil.com",
    "space": "localhost evil.com",
    "port-word": "localhost:port",
    "comma": "localhost,evil.com",
    "path": "localhost/evil.com",
    "null": "localhost\x00.evil.com",
    "brackets-port-and-more": "[::1]:80evil",
    "backslash": "localhost\\evil.com",
}.items():
    answer(
        f"host-{name}",
        "A name that is read as this machine by one program and as another by the next.",
        http.request("GET", "/v1/models", host=value),
        (400, 403),
    )
refuse(
    "host-none",
    "Without a name the request may be meant for another server.",
    http.request("GET", "/health", host=None),
)
refuse("host-two", "Two names: which one counts?", http.request("GET", "/health", [("Host", "evil.com")]))
answer("host-upper", "Names have no case.", http.request("GET", "/v1/models", host="LOCALHOST:8080"))
answer("host-ipv6", "This machine by its other address.", http.request("GET", "/v1/models", host="[::1]:8080"))
answer(
    "absolute-other",
    "A request for a proxy, under the name of another host.",
    http.request("GET", "http://evil.com/v1/models"),
    (400, 403, 404),
)
answer("leading-lines", "Empty lines before a request are left over from the one before.", b"\r\n" * 4 + GET + b"\r\n")
answer(
    "leading-lines-many",
    "Empty lines alone never end, but cost nothing.",
    b"\r\n" * 500_000 + GET + b"\r\n",
    (200, 400, 431),
)
answer(
    "expect-odd",
    "An expectation that nobody knows.",
    POST + b"Expect: 200-maybe\r\nContent-Length: 32\r\n\r\n" + BODY,
    (200, 417),
)
answer(
    "upgrade",
    "Neither HTTP/2 nor web sockets are spoken here.",
    GET + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
    (200, 400, 426),
)
for method in ("PUT", "DELETE", "TRACE", "CONNECT", "PATCH", "PROPFIND", "get", "BREW"):
    answer(
        f"method-{method}", "A method that the path does not have.", http.request(method, "/v1/models"), (400, 405, 501)
    )
for name, path, statuses in (
    ("dots", "/../../etc/passwd", (400, 404)),
    ("encoded-dots", "/v1/models/%2e%2e/%2e%2e/etc/passwd", (400, 404)),
    ("double-slash", "//health", (404,)),
    ("encoded-letter", "/%68ealth", (404,)),
    ("bad-percent", "/v1/models/%zz", (400,)),
    ("null", "/v1/models/%00", (404,)),
    ("line-ends", "/v1/models/%0d%0aX-Evil:%201", (404,)),
    ("high-bytes", "/v1/models/%ff%fe", (400, 404)),
    ("long", "/v1/models/" + "a" * 20_000, (404, 414)),
):
    answer(f"path-{name}", "A path that means another one to someone else.", http.request("GET", path), statuses)


@case("http/framing/pipeline", "Fifty requests at once are answered fifty times, in order.", on_server=True)
def pipeline(trial):
    raw = b"".join(http.request("GET", "/health" if i % 2 else "/v1/models") for i in range(50))
    answers = trial.server().talk(raw, count=50)
    expect([answer.status for answer in answers] == [200] * 50, f"got {len(answers)} answers")
    expect(all((b"object" in answer.body) == (i % 2 == 0) for i, answer in enumerate(answers)), "answers out of order")


@case(
    "http/framing/pipeline-flood", "Twenty thousand pipelined requests cost one connection, not memory.", on_server=True
)
def pipeline_flood(trial):
    answers = trial.server().talk(http.request("GET", "/nothing") * 20_000, count=20_000, seconds=trial.seconds)
    expect(answers and {answer.status for answer in answers} <= {404, 503}, f"got {len(answers)} answers")


@case("http/framing/body-holds-a-request", "What stands in a body is no request.", on_server=True)
def body_holds_a_request(trial):
    inside = b'{"prompt": "x", "max_tokens": 1, "user": "\\r\\n\\r\\nGET /v1/models HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n"}'
    answers = trial.server().talk(http.post("/v1/completions", inside), end_writing=True, count=2)
    expect(len(answers) == 1, f"expected one answer, got {len(answers)}")


@case(
    "http/framing/names-come-back-escaped",
    "A name from the request comes back as data, never as a header.",
    on_server=True,
)
def names_come_back(trial):
    answers = trial.server().talk(http.request("GET", "/v1/models/a%0d%0aSet-Cookie:%20x=1%1b[31m"))
    expect(answers[0].header("Set-Cookie") is None, "a header of the client came back")
    expect(
        b"\x1b" not in answers[0].body and b"\r" not in answers[0].body, f"control characters: {shown(answers[0].body)}"
    )
