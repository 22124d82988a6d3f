# SPDX-License-Identifier: Apache-2.0
"""A server with the pocket model, for the libraries that people point at one. ANEMONE names the binary under test."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "interop"))

from anemone import Anemone  # noqa: E402
from serving import TOOL_TEMPLATE, serving  # noqa: E402

CHECKPOINT = pathlib.Path(__file__).parents[2] / "models/pocket/checkpoint"
KEY = "sdk-key"


@pytest.fixture(scope="session")
def anemone():
    path = os.environ.get("ANEMONE", "")
    if not os.access(path, os.X_OK):
        pytest.fail(f"[ANEMONE] expected the path of the binary under test, got {path!r}")
    return Anemone(path)


@pytest.fixture(scope="session")
def address(anemone, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdk")
    anemone("compile", CHECKPOINT, "-o", folder / "pocket")
    (folder / "template.jinja").write_text(TOOL_TEMPLATE)
    with serving(anemone, folder / "pocket", folder, "--api-key", KEY, "--chat-template-file", folder / "template.jinja") as url:
        yield url + "/v1"
