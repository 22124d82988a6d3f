# SPDX-License-Identifier: Apache-2.0
"""Runs node/clients.test.mjs, where Node and its packages are there (tools/ci/sdks installs them)."""

import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import KEY

CLIENTS = pathlib.Path(__file__).parent / "node" / "clients.test.mjs"


def test_clients_for_node(address):
    modules = os.environ.get("ANEMONE_NODE_MODULES", "")
    if shutil.which("node") is None or not modules:
        pytest.skip("[ANEMONE_NODE_MODULES] expected a folder with the packages of node/package.json, and node in the path")
    # Packages are looked for beside the file that imports them.
    copy = pathlib.Path(modules).parent / CLIENTS.name
    copy.write_bytes(CLIENTS.read_bytes())
    done = subprocess.run(["node", "--test", copy], env={**os.environ, "ADDRESS": address, "KEY": KEY}, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
