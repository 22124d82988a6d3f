# SPDX-License-Identifier: Apache-2.0
"""`anemone pull` into a cache that somebody changed, with odd names, and several at once."""

import os
import subprocess
import time

from lib.case import Slow, add, case, expect
from lib.hub import Hub, blob_hash, sha256
from lib.hub_case import BLOBS, SNAPSHOT, inside, lies, pull, settings, whole
from lib.process import answered, refused, settled


def with_blob(content, name="model.safetensors", suffix=""):
    def before(trial, hub):
        digest = sha256(hub.files[name]) if name.endswith(".safetensors") else blob_hash(hub.files[name])
        path = trial.path("hf", BLOBS, digest + suffix)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if callable(content):
            content(trial, path)
        else:
            with open(path, "wb") as file:
                file.write(content)

    return before


CACHED = "What lies in the cache under a hash is checked before it is used."
lies("cached-same-size", CACHED, before=with_blob(b"x" * 102400), outcome=answered)
lies("cached-small-file", CACHED, before=with_blob(b"x" * 22, "config.json"), outcome=answered)
lies("cached-longer", CACHED, before=with_blob(b"x" * 200_000), outcome=settled)
lies(
    "incomplete-longer",
    "What is left of a download may be longer than the file.",
    before=with_blob(b"x" * 300_000, suffix=".incomplete"),
    outcome=answered,
)
lies(
    "incomplete-other",
    "What is left of a download may be of another one.",
    before=with_blob(b"x" * 50_000, suffix=".incomplete"),
    outcome=answered,
)
lies(
    "incomplete-whole-wrong",
    "What is left of a download may be whole and wrong.",
    before=with_blob(b"x" * 102400, suffix=".incomplete"),
    outcome=answered,
)


def mine(trial, path):
    target = trial.write("outside", b"mine" * 10)
    os.symlink(target, path)


def still_mine(trial, hub):
    expect(trial.read("outside") == b"mine" * 10, "a file behind a link was overwritten")


for suffix in (".incomplete", ""):
    lies(
        f"link-in-place-of-blob{suffix}",
        "A link in the cache does not lead a download out of it.",
        before=with_blob(mine, suffix=suffix),
        outcome=settled,
        after=still_mine,
    )


def linking_before(trial, hub):
    os.makedirs(trial.path("hf", SNAPSHOT))
    os.symlink(trial.write("outside", b"mine" * 10), trial.path("hf", SNAPSHOT, "config.json.linking"))
    os.symlink(trial.path("outside"), trial.path("hf", SNAPSHOT, "config.json"))


lies(
    "link-in-place-of-link",
    "A link in a snapshot is replaced, never written through.",
    before=linking_before,
    outcome=settled,
    after=still_mine,
)


def linked_folder(trial, hub):
    os.makedirs(trial.path("hf", "hub", "models--Owner--Model"))
    os.makedirs(trial.path("outside"))
    os.symlink(trial.path("outside"), trial.path("hf", "hub", "models--Owner--Model", "refs"))


lies(
    "link-in-place-of-folder", "A folder of the cache that is a link elsewhere.", before=linked_folder, outcome=settled
)
for name, revision in {
    "above": "../../../../outside",
    "absolute": "/tmp/x",
    "long": "r" * 5000,
    "controls": "\x1b[2J",
    "empty": "",
    "space": "a b",
    "encoded": "%2e%2e%2f",
}.items():

    def odd_revision(trial, revision=revision):
        hub = Hub()
        try:
            settled(pull(trial, hub, "--revision", revision))
            inside(trial)
        finally:
            hub.close()

    add(f"hub/revision-{name}", "A revision that the user mistypes writes no file outside of the cache.", odd_revision)
for name, repo in {
    "above": "../..",
    "dots": "a/..",
    "three": "a/b/c",
    "absolute": "/etc/passwd",
    "controls": "a/\x1b[2J",
    "dashes": "a--b/c",
    "long": "a/" + "b" * 500,
    "empty": "/",
}.items():
    add(
        f"hub/name-{name}",
        "A name that is none is refused before anything is asked.",
        lambda trial, repo=repo: refused(
            trial.run(
                "pull",
                repo,
                extra={
                    "HF_ENDPOINT": "http://127.0.0.1:1",
                    "HF_HOME": trial.path("hf"),
                    "HF_HUB_OFFLINE": None,
                    "ANEMONE_HUB_PAUSE_MS": "1",
                },
            )
        ),
    )


@case("hub/parallel", "Four pulls of one repository at once all succeed.")
def parallel(trial):
    hub = Hub({"config.json": b"{}", "model.safetensors": os.urandom(3_000_000)})
    try:
        begin = time.monotonic()
        running = [
            trial.start(
                "pull", "Owner/Model", extra=settings(trial, hub), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
            for _ in range(4)
        ]
        for each in running:
            err = each.stderr.read()
            code = each.wait(4 * trial.seconds)
            each.stderr.close()
            expect(code == 0, f"one of them ended with {code}: {err}")
        if time.monotonic() - begin > 4 * trial.seconds:
            raise Slow("too slow")
        whole(trial, hub)
        left = [name for name in os.listdir(trial.path("hf", BLOBS)) if len(name) not in (40, 64)]
        expect(not left, f"left behind: {left}")
    finally:
        hub.close()


@case("hub/killed", "A pull that is killed at any moment goes on where it was.")
def killed(trial):
    hub = Hub({"config.json": b"{}", "model.safetensors": os.urandom(3_000_000)})
    hub.answers = {"/resolve/": lambda handler: (time.sleep(0.01), False)[1]}
    try:
        for moment in (0.01, 0.03, 0.06, 0.1, 0.2):
            started = trial.start(
                "pull", "Owner/Model", extra=settings(trial, hub), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(moment)
            started.kill()
            started.wait()
            whole(trial, hub)
        answered(pull(trial, hub))
        whole(trial, hub)
    finally:
        hub.close()
