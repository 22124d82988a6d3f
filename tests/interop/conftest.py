# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests that hold anemone against coremltools and PyTorch. ANEMONE names the binary under test."""

import logging
import os
import pathlib
import sys
import warnings

import pytest

# coremltools says on every import that it is not on a Mac, and that torch is newer than it knows.
logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import torch  # noqa: E402

from anemone import Anemone  # noqa: E402

# Two in all, however many processes the tests run in.
torch.set_num_threads(max(1, 2 // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))))


@pytest.fixture(scope="session")
def anemone():
    path = os.environ.get("ANEMONE", "")
    if not os.access(path, os.X_OK):
        pytest.fail(f"[ANEMONE] expected the path of the binary under test, got {path!r}")
    return Anemone(path)


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="every combination of parameters of tests marked `combinations`")


def pytest_configure(config):
    config.addinivalue_line("markers", "combinations: without --all, each value of each parameter comes once")


def pytest_collection_modifyitems(config, items):
    """Of a test marked `combinations`, leaves those out whose values others have between them."""
    if config.getoption("--all"):
        return
    seen, kept, left_out = set(), [], []
    for item in items:
        if item.get_closest_marker("combinations") is None:
            kept.append(item)
            continue
        values = {(item.function, name, repr(value)) for name, value in item.callspec.params.items()}
        (left_out if values <= seen else kept).append(item)
        seen |= values
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)
