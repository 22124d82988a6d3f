# SPDX-License-Identifier: Apache-2.0
"""`anemone pull` from a hub that lies, stalls, or sends without end."""

import os
import subprocess
import time

from lib.case import case, expect
from lib.hub import Hub, endless, send, send_json
from lib.hub_case import SNAPSHOT, changed, file_entry, lies, listing, pull, settings
from lib.process import answered, refused, settled

lies(
    "good",
    "A good hub is pulled from, or the other cases show nothing.",
    outcome=answered,
    after=lambda trial, hub: expect(len(os.listdir(trial.path("hf", SNAPSHOT))) == 2, "files are missing"),
)
PATHS = "A path from the hub leads into the snapshot, and nowhere else."
for name, path in {
    "above": "../../../../outside.json",
    "absolute": "/tmp/outside.json",
    "above-inside": "a/../../../outside.json",
    "nul": "a\0b.json",
    "empty": "",
    "dot": ".",
    "dots": "..",
    "backslash": "..\\outside.json",
    "trailing": "a/",
    "double-slash": "a//b.json",
    "controls": "\x1b[2J.json",
    "long": "a" * 5000 + ".json",
    "deep": "a/" * 2000 + "b.json",
}.items():
    lies(
        f"path-{name}",
        PATHS,
        listing(file_entry(path)),
        outcome=settled if name in ("controls", "long", "deep", "double-slash", "trailing") else refused,
        flags=("--include", "*"),
    )
lies(
    "path-same-twice",
    "Two entries of one path.",
    lambda hub: {"/tree/": lambda handler: send_json(handler, hub.listing() * 2)},
    outcome=settled,
)
lies(
    "path-file-and-folder",
    "A file where another entry needs a folder.",
    listing(file_entry("config.json/x.json")),
    flags=("--include", "*"),
)
HASHES = "The hash of a content is its name in the cache: it must be a hash."
for name, oid in {
    "above": "../../../../outside",
    "absolute": "/tmp/outside",
    "short": "ab",
    "upper": "A" * 40,
    "empty": "",
    "number": 5,
    "nul": "0" * 39 + "\0",
    "lock": "x.lock",
}.items():
    lies(f"hash-{name}", HASHES, changed("config.json", oid=oid))
    lies(f"lfs-hash-{name}", HASHES, changed("model.safetensors", lfs={"oid": oid, "size": 102400, "pointerSize": 134}))
lies("hash-wrong", "A content with another hash is not taken.", changed("config.json", oid="1" * 40))
lies(
    "lfs-hash-wrong",
    "A content with another hash is not taken.",
    changed("model.safetensors", lfs={"oid": "1" * 64, "size": 102400, "pointerSize": 134}),
)
SIZES = "Sizes are added without wrapping around, and compared with the disk before anything is fetched."
for name, size in {
    "most": 2**64 - 1,
    "past": 2**64,
    "half": 2**63,
    "negative": -1,
    "float": 1.5,
    "text": "5",
    "petabyte": 10**15,
    "null": None,
}.items():
    lies(f"size-{name}", SIZES, changed("config.json", size=size))
lies(
    "size-sum-wraps",
    SIZES,
    listing(file_entry("a.json", 2**63, oid="a" * 40), file_entry("b.json", 2**63, oid="b" * 40)),
    flags=("--include", "*"),
)
lies(
    "size-sum-wraps-small",
    SIZES,
    listing(*(file_entry(f"f{i}.json", 2**62, oid=f"{i}" * 40) for i in range(4))),
    flags=("--include", "*"),
)
lies("size-other-than-lfs", "Two sizes of one file.", changed("model.safetensors", size=5), outcome=settled)
LIST = "A listing is bounded in pages and bytes, and asked for once."
for name, value in {
    "not-json": b"nonsense",
    "object": b"{}",
    "null": b"null",
    "deep": b"[" * 1_000_000,
    "numbers": b"[1,2,3]",
    "bad-utf8": b'[{"type":"file","path":"\xff"}]',
    "empty": b"",
    "no-path": b'[{"type":"file"}]',
    "nan": b"[NaN]",
}.items():
    lies(f"list-{name}", LIST, lambda hub, value=value: {"/tree/": lambda handler: send_json(handler, value)})
    lies(
        f"commit-{name}",
        "What a revision is has to be a commit.",
        lambda hub, value=value: {"/revision/": lambda handler: send_json(handler, value)},
    )
for name, sha in {"above": "../../../outside", "short": "abc", "number": 5, "upper": "A" * 40}.items():
    lies(
        f"commit-{name}",
        "What a revision is has to be a commit.",
        lambda hub, sha=sha: {"/revision/": lambda handler: send_json(handler, {"sha": sha})},
    )


def once(part, most=2):
    def after(trial, hub):
        count = sum(part in path for path, _ in hub.seen)
        expect(count <= most, f"asked {count} times for what was too large")

    return after


lies("list-endless", LIST, lambda hub: {"/tree/": lambda handler: endless(handler)}, after=once("/tree/"))
lies(
    "list-endless-entries",
    LIST,
    lambda hub: {"/tree/": lambda handler: endless(handler, b"[" + b'{"type":"directory","path":"a"},' * 2000)},
    after=once("/tree/"),
)
lies("commit-endless", LIST, lambda hub: {"/revision/": lambda handler: endless(handler)}, after=once("/revision/"))
lies(
    "error-endless",
    "The text of a refusal is not read without end.",
    lambda hub: {"/tree/": lambda handler: endless(handler, status=403)},
)
lies(
    "error-controls",
    "The text of a refusal is printed without its control characters.",
    lambda hub: {"/tree/": lambda handler: send(handler, 400, b"\x1b[2J\x07\r\nmore\x00")},
)


def pages(hub):
    def answer(handler):
        cursor = len(hub.seen)
        send_json(
            handler,
            hub.listing() if cursor < 3 else [],
            {"Link": f'<{hub.url}{handler.path.split("&")[0]}&cursor={cursor}>; rel="next"'},
        )

    return {"/tree/": answer}


def bounded(trial, hub):
    expect(len(hub.seen) < 2000, f"asked {len(hub.seen)} times")


PAGES = {
    "seconds": 25,
    "why": "a thousand pages are asked for before it gives up, each a round trip to a hub in Python",
}
lies("pages-endless", LIST, pages, after=bounded, **PAGES)
lies(
    "pages-same",
    LIST,
    lambda hub: {
        "/tree/": lambda handler: send_json(handler, hub.listing(), {"Link": f'<{hub.url}{handler.path}>; rel="next"'})
    },
    after=bounded,
)
for name, link in {
    "other-host": "http://127.0.0.1:1/x",
    "file": "file:///etc/passwd",
    "prefix": "{url}.evil.com/x",
    "at": "{url}@evil.com/",
    "relative": "/api/x",
    "scheme": "ftp://127.0.0.1/",
    "long": "{url}/" + "a" * 60_000,
}.items():
    lies(
        f"page-at-{name}",
        "The next page is at the same hub, not where it says.",
        lambda hub, link=link: {
            "/tree/": lambda handler: send_json(
                handler, hub.listing(), {"Link": f'<{link.replace("{url}", hub.url)}>; rel="next"'}
            )
        },
        outcome=settled,
    )


def many_files(count):
    return lambda hub: {
        "/tree/": lambda handler: send_json(handler, hub.listing() + [file_entry(f"f{i}.md") for i in range(count)])
    }


lies("list-100k-files", "A hundred thousand files cost their number.", many_files(100_000), outcome=settled)
CONTENT = "A content that is not what was announced never gets its name."


def of_model(answer):
    return lambda hub: {
        "/resolve/": lambda handler: answer(handler, hub) if "model.safetensors" in handler.path else False
    }


lies("content-short", CONTENT, of_model(lambda handler, hub: send(handler, 200, b"x" * 100)))
lies("content-long", CONTENT, of_model(lambda handler, hub: send(handler, 200, b"x" * 5_000_000)))
lies("content-endless", CONTENT, of_model(lambda handler, hub: endless(handler)))
lies("content-other", CONTENT, of_model(lambda handler, hub: send(handler, 200, b"x" * 102400)))
lies("content-404", CONTENT, of_model(lambda handler, hub: send(handler, 404, b"")))
lies(
    "content-416",
    "A range that the hub does not have ends in an error, not in a loop.",
    of_model(lambda handler, hub: send(handler, 416, b"")),
)
lies("content-500", CONTENT, of_model(lambda handler, hub: send(handler, 500, b"x" * 100_000)))
lies("content-304", CONTENT, of_model(lambda handler, hub: send(handler, 304, b"")))
lies(
    "content-wrong-range",
    CONTENT,
    of_model(
        lambda handler, hub: send(
            handler, 206, b"x" * 10, {"Content-Range": "bytes 18446744073709551610-18446744073709551615/5"}
        )
    ),
)
lies(
    "content-bad-range",
    CONTENT,
    of_model(lambda handler, hub: send(handler, 206, b"x" * 10, {"Content-Range": "nonsense"})),
)
for name, value in {
    "negative": "-5",
    "word": "later",
    "date": "Wed, 21 Oct 2099 07:28:00 GMT",
    "overflow": "-99999999999999999999",
}.items():
    lies(
        f"retry-after-{name}",
        "A wish to wait that is no number of seconds.",
        lambda hub, value=value: {
            "/tree/": lambda handler: send(handler, 429, b"", {"Retry-After": value}) if len(hub.seen) < 4 else False
        },
        outcome=answered,
    )


@case("hub/retry-after-a-year", "While it waits as a hub wishes, a signal ends it at once.")
def retry_after_a_year(trial):
    hub = Hub()
    hub.answers = {"/tree/": lambda handler: send(handler, 429, b"", {"Retry-After": "31536000"})}
    try:
        started = trial.start(
            "pull", "Owner/Model", extra=settings(trial, hub), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(0.5)
        expect(started.poll() is None, "it did not wait")
        started.terminate()
        started.wait(trial.seconds)
    finally:
        hub.close()


lies(
    "redirect-loop",
    "Redirections have an end.",
    of_model(lambda handler, hub: send(handler, 302, b"", {"Location": handler.path})),
)
for name, place in {
    "file": "file:///etc/passwd",
    "ftp": "ftp://127.0.0.1:1/x",
    "gopher": "gopher://127.0.0.1:1/x",
    "scp": "scp://127.0.0.1/x",
    "nothing": "",
}.items():
    lies(
        f"redirect-{name}",
        "A redirection leads to http, and to no file of this machine.",
        of_model(lambda handler, hub, place=place: send(handler, 302, b"", {"Location": place})),
    )


@case("hub/token-stays", "The token goes to the hub, not to where it redirects.")
def token_stays(trial):
    other = Hub()
    hub = Hub()
    hub.answers = {
        "/resolve/": lambda handler: send(
            handler, 302, b"", {"Location": other.url.replace("127.0.0.1", "localhost") + handler.path}
        )
    }
    try:
        settled(pull(trial, hub, HF_TOKEN="hf_secret"))
        expect(any("Bearer hf_secret" in str(headers) for _, headers in hub.seen), "the hub did not get the token")
        expect(not any("hf_secret" in str(headers) for _, headers in other.seen), "another server got the token")
    finally:
        hub.close()
        other.close()
