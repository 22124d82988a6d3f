# SPDX-License-Identifier: Apache-2.0
"""What lies where a server is told to put its ready file or its socket."""

import os

from lib.case import add, expect
from lib.process import refused


def ready_targets(trial):
    trial.write("foreign", "mine")
    os.mkdir(trial.path("folder"))
    os.symlink("foreign", trial.path("link"))
    os.symlink("nothing", trial.path("dangling"))
    os.mkfifo(trial.path("pipe"))


for name, path in {
    "folder": "folder",
    "file": "foreign",
    "link": "link",
    "dangling-link": "dangling",
    "pipe": "pipe",
    "missing-folder": "missing/out",
    "below-a-file": "foreign/out",
    "slash": "new/",
    "full": "/dev/full",
    "null": "/dev/null",
    "proc": "/proc/out",
    "long": "o" * 300,
}.items():
    for flag in ("--ready-file", "--socket"):

        def serve_to(trial, path=path, flag=flag):
            ready_targets(trial)
            before = trial.tree()
            port = ("--port", "0") if flag == "--ready-file" else ()
            refused(trial.run("serve", trial.pocket(), *port, flag, trial.path(path)), 2, 5)
            after = {key: what for key, what in trial.tree().items() if key != "home"}
            expect(after == before, f"changed: {sorted(set(after) ^ set(before))}")

        add(f"output/{flag.strip('-')}-to-{name}", "What lies there stays, and one line says what it is.", serve_to)
