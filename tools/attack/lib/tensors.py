# SPDX-License-Identifier: Apache-2.0
"""How a package with hostile tensors is made and run, on both engines.

The types in the packages are static where an operation allows it, so that nothing but the values can be wrong.
"""

import os

from . import formats
from .case import Failure, add, expect
from .mil import SAFETENSORS, Program
from .process import settled

BIG, LEAST, MOST = 1 << 30, -(1 << 31), (1 << 31) - 1
ENGINES = (("default", ()), ("reference", ("--isa", "reference")), ("plain", ("--isa", "plain")))
# More rows of 50,000 numbers than the machine has memory for.
BEYOND = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 200_000 + 2
REASON = "A good package with a hostile tensor must neither read nor write outside of its tensors."


def pack(dtype, values):
    return (
        formats.floats(values, SAFETENSORS[dtype])
        if dtype.startswith("fp")
        else formats.ints(values, SAFETENSORS[dtype])
    )


def numbers(count, dtype):
    return [float(i % 7) for i in range(count)] if dtype.startswith("fp") else [i % 7 for i in range(count)]


def count_of(shape):
    out = 1
    for dim in shape:
        out *= dim
    return out


def predict(trial, program, tensors):
    """Runs a program with tensors on every engine; the outputs must be whole or not be there, and agree."""
    package = program.write(trial.path("case.mlpackage"))
    inputs = trial.write(
        "in.safetensors",
        formats.safetensors(
            {name: (SAFETENSORS[dtype], shape, pack(dtype, values)) for name, (dtype, shape, values) in tensors.items()}
        ),
    )
    codes = {}
    for name, flags in ENGINES:
        out = trial.path(f"out-{name}.safetensors")
        outcome = trial.run(*flags, "predict", package, "--inputs", inputs, "--outputs", out)
        settled(outcome)
        codes[name] = outcome.code
        expect(os.path.exists(out) == (outcome.code == 0), "expected whole outputs, or none")
        if outcome.code == 0:
            with open(out, "rb") as file:
                header, data = formats.split_safetensors(file.read())
            for key, tensor in header.items():
                if key != "__metadata__":
                    expect(tensor["data_offsets"][1] <= len(data), "an output is cut")
    if len(set(codes.values())) > 1 and 0 in codes.values():
        raise Failure(f"engines differ in what they accept: {codes}")
    return codes


def hostile(op, label, operands, values, result, must_fail=True, ios=17, consts=(), kind=None):
    """`operands`: {parameter: (dtype, shape, values or None)} become inputs, but for `consts`; `values` replaces some."""

    def body(trial):
        program = Program(ios)
        tensors = {}
        inputs = {}
        for parameter, (dtype, shape, known) in operands.items():
            known = values.get(parameter, known)
            known = numbers(count_of(shape), dtype) if known is None else known
            if dtype == "bool" or dtype == "string" or parameter in consts:
                inputs[parameter] = program.const(parameter, dtype, shape, known)
                continue
            is_narrow = dtype not in ("fp16", "fp32", "int32")
            inputs[parameter] = program.input(parameter, "int32" if is_narrow else dtype, shape)
            tensors[parameter] = ("int32" if is_narrow else dtype, shape, known)
        dtype, shape = result
        program.op(op, inputs, ("y", dtype, shape))
        program.output("y", dtype, shape)
        codes = predict(trial, program, tensors)
        if must_fail:
            expect(0 not in codes.values(), f"expected a refusal, got an answer: {codes}")
        elif must_fail is None:
            pass
        else:
            expect(set(codes.values()) == {0}, f"expected an answer, got {codes}")

    add(f"tensor/{kind or op}/{label}", REASON, body)


X = ("fp32", [2, 4], None)


def i32(values, shape=None):
    return ("int32", [len(values)] if shape is None else shape, list(values))


def scalar(value, dtype="int32"):
    return (dtype, [], [value])


def family(op, operands, good, parameter, bad, result, **more):
    """The good values first, so that a broken package is not taken for a refusal."""
    hostile(op, "good", operands, {parameter: good}, result, must_fail=False, **more)
    for label, values in bad.items():
        hostile(op, label, operands, {parameter: values}, result, **more)
