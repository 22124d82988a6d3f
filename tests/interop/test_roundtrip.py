# SPDX-License-Identifier: Apache-2.0
"""anemone reads packages of coremltools and writes them again; coremltools then finds the same in them."""

import pathlib
import subprocess

import numpy as np
import pytest
from coremltools.converters.mil.mil import Var
from google.protobuf.message import Message
from package_check import all_loaded, load_program

FIXTURES = pathlib.Path(__file__).parent.parent / "mlpackage/data/coremltools"
NAMES = sorted(p.stem for p in FIXTURES.glob("*.mlpackage"))


@pytest.fixture(scope="session")
def rewriter(anemone):
    path = pathlib.Path(anemone.path).parent / "tests/mlpackage/rewrite_package"
    if not path.exists():
        pytest.skip(f"{path} is not built")
    return path


def same_value(a, b):
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return type(a) is type(b) and (a == b or a != a)


def operands(function):
    """The constant operands of each operation, by parameter. Their own names depend on the order of maps."""
    return [{name: var.val for name, var in op.inputs.items() if isinstance(var, Var)}
            for op in all_loaded(function) if op.op_type != "const"]


def without_offsets(message):
    """The same message with offset 0 for every constant in the weight file: blobs may lie in another order."""
    for field, value in message.ListFields():
        if field.name == "offset":
            setattr(message, field.name, 0)
        elif field.message_type is not None:
            is_map = field.message_type.GetOptions().map_entry
            is_single = isinstance(value, Message)
            for inner in value.values() if is_map else [value] if is_single else value:
                if isinstance(inner, Message):
                    without_offsets(inner)
    return message


@pytest.mark.parametrize("name", NAMES)
def test_a_rewritten_package_is_the_same(rewriter, tmp_path, name):
    original, copy = FIXTURES / f"{name}.mlpackage", tmp_path / "copy.mlpackage"
    done = subprocess.run([rewriter, original, copy], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first_spec, first = load_program(original)
    second_spec, second = load_program(copy)
    for function in first.functions:
        for a, b in zip(*(operands(p.functions[function]) for p in (first, second)), strict=True):
            assert a.keys() == b.keys()
            for parameter in a:
                assert same_value(a[parameter], b[parameter]), parameter
    # Metadata may be absent or there with nothing in it.
    first_spec.description.metadata.SetInParent()
    second_spec.description.metadata.SetInParent()
    assert without_offsets(first_spec) == without_offsets(second_spec)


def test_there_are_packages():
    assert len(NAMES) > 10
