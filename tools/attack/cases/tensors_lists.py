# SPDX-License-Identifier: Apache-2.0
"""Lists of tensors: positions in them and their lengths come at run time, too."""

from lib.case import add, expect
from lib.mil import Program, list_of
from lib.tensors import LEAST, MOST, REASON, predict

ELEMENT = ("fp32", [2])


def program(read):
    """A list of four, `read` of it. Scalars come as [1] and are squeezed: a feature has a rank of one at least."""
    out = Program(17)
    out.const("four", "int32", [], [4])
    out.const("two", "int32", [], [2])
    out.const("grows", "bool", [], [False])
    out.const("dtype", "string", [], ["fp32"])
    inputs = {"init_length": "four", "dynamic_length": "grows", "elem_shape": ["two"], "dtype": "dtype"}
    out.op("make_list", inputs, ("ls", list_of(*ELEMENT)))
    read(out)
    return out


def scalar_input(out, name):
    out.input(f"{name}_in", "int32", [1])
    return out.op("squeeze", {"x": f"{name}_in"}, (name, "int32", []))


def read(out):
    out.op("list_read", {"ls": "ls", "index": scalar_input(out, "index")}, ("y", "fp32", [2]))
    out.output("y", "fp32", [2])


def write(out):
    out.const("value", "fp32", [2], [1.0, 2.0])
    inputs = {"ls": "ls", "index": scalar_input(out, "index"), "value": "value"}
    out.op("list_write", inputs, ("after", list_of(*ELEMENT)))
    out.op("list_length", {"ls": "after"}, ("length", "int32", []))
    out.const("axes", "int32", [1], [0])
    out.op("expand_dims", {"x": "length", "axes": "axes"}, ("y", "int32", [1]))
    out.output("y", "int32", [1])


def gather(out):
    out.input("index_in", "int32", [1])
    out.op("list_gather", {"ls": "ls", "indices": "index_in"}, ("y", "fp32", [1, 2]))
    out.output("y", "fp32", [1, 2])


def scatter(out):
    out.input("index_in", "int32", [1])
    out.const("value", "fp32", [1, 2], [1.0, 2.0])
    out.op("list_scatter", {"ls": "ls", "indices": "index_in", "value": "value"}, ("after", list_of(*ELEMENT)))
    out.op("list_length", {"ls": "after"}, ("length", "int32", []))
    out.const("axes", "int32", [1], [0])
    out.op("expand_dims", {"x": "length", "axes": "axes"}, ("y", "int32", [1]))
    out.output("y", "int32", [1])


def length(out):
    """A list whose length comes at run time."""
    scalar_input(out, "index")
    inputs = {"init_length": "index", "dynamic_length": "grows", "elem_shape": ["two"], "dtype": "dtype"}
    out.op("make_list", inputs, ("made", list_of(*ELEMENT)))
    out.op("list_length", {"ls": "made"}, ("length", "int32", []))
    out.const("axes", "int32", [1], [0])
    out.op("expand_dims", {"x": "length", "axes": "axes"}, ("y", "int32", [1]))
    out.output("y", "int32", [1])


OPERATIONS = {
    "list_read": read,
    "list_write": write,
    "list_gather": gather,
    "list_scatter": scatter,
    "make_list": length,
}
for kind, make in OPERATIONS.items():
    values = {"good": 3, "past": 4, "far": 1_000_000, "huge": MOST, "negative": -1, "below": -5, "least": LEAST}
    for label, value in values.items():

        def body(trial, kind=kind, make=make, label=label, value=value):
            codes = predict(trial, program(make), {"index_in": ("int32", [1], [value])})
            if label == "good":
                expect(set(codes.values()) == {0}, f"expected an answer, got {codes}")
            elif (kind, label) in {("list_read", "huge"), ("list_gather", "least"), ("make_list", "negative")}:
                expect(0 not in codes.values(), f"expected a refusal, got an answer: {codes}")

        add(f"tensor/{kind}/{label}", REASON, body)
