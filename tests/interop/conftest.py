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
