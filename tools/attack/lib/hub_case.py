# SPDX-License-Identifier: Apache-2.0
"""How a pull from a false hub is run and judged."""

import os

from .case import add, expect
from .hub import COMMIT, Hub, send_json
from .process import refused

SNAPSHOT = f"hub/models--Owner--Model/snapshots/{COMMIT}"
BLOBS = "hub/models--Owner--Model/blobs"


def settings(trial, hub, **more):
    return {
        "HF_ENDPOINT": hub.url,
        "HF_HOME": trial.path("hf"),
        "HF_HUB_OFFLINE": None,
        "ANEMONE_HUB_PAUSE_MS": "1",
        **more,
    }


def pull(trial, hub, *flags, name="io", **more):
    return trial.run("pull", "Owner/Model", *flags, extra=settings(trial, hub, **more), name=name)


def whole(trial, hub):
    """Every file that has its name in the snapshot has its content."""
    for path, content in hub.files.items():
        place = trial.path("hf", SNAPSHOT, path)
        if os.path.exists(place):
            with open(place, "rb") as file:
                expect(file.read() == content, f"{path} has another content than the hub said")


def inside(trial):
    """Nothing was written outside of the cache."""
    expect(
        set(trial.names()) <= {"hf", "home", "outside", "io.in", "io.out", "io.err"},
        f"written outside of the cache: {trial.names()}",
    )


def lies(name, reason, answers=None, files=None, outcome=refused, before=None, flags=(), after=None, **limits):
    def body(trial):
        hub = Hub(files() if callable(files) else files)
        hub.answers = answers(hub) if answers else {}
        try:
            if before:
                before(trial, hub)
            outcome(pull(trial, hub, *flags))
            whole(trial, hub)
            inside(trial)
            if after:
                after(trial, hub)
        finally:
            hub.close()

    add(f"hub/{name}", reason, body, **limits)


def listing(*entries):
    """The hub's own files with others beside them."""
    return lambda hub: {"/tree/": lambda handler: send_json(handler, hub.listing() + list(entries))}


def changed(path, **more):
    return lambda hub: {
        "/tree/": lambda handler: send_json(
            handler, [hub.entry(p, **(more if p == path else {})) for p in sorted(hub.files)]
        )
    }


def file_entry(path, size=1, **more):
    return {"type": "file", "path": path, "size": size, "oid": "0" * 40, **more}
