# SPDX-License-Identifier: Apache-2.0
"""The goldens that tests/text/unicode_test.cc walks all code points by are those of the tokenizers package at hand."""

import json
import pathlib

import unicode_goldens

GOLDENS = pathlib.Path(__file__).parents[1] / "text/data/unicode_goldens.json"


def test_goldens_are_those_of_the_installed_tokenizers():
    want = json.loads(GOLDENS.read_text("utf-8"))
    got = unicode_goldens.goldens()
    assert got.keys() == want.keys()
    for name, sums in got.items():
        differing = [hex(number * unicode_goldens.BLOCK) for number, pair in enumerate(zip(sums, want[name])) if pair[0] != pair[1]]
        assert not differing, f"{name}: blocks from {differing}"
