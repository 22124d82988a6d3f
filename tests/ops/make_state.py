# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of the category state: types only, the interpreter does these operations.

What they do at run time is tested in tests/exec. Run: python3 tests/ops/make_state.py
"""

from cases import Cases, boolean, fp16, fp32, int32, tensor, text, type_only


def state(dtype, *shape):
    return {**type_only(dtype, shape), "state": True}


def make_const():
    cases = Cases("const")
    values = (("a vector", fp16([1, 2])), ("a scalar", int32(3)), ("a bool", boolean(True)), ("nothing", fp32([])),
              ("packed integers", tensor("int4", [[1, -8], [7, 0]])))
    for name, value in values:
        cases.add(f"has the type of {name}", {"val": value}, [value], no_kernel=True)
    cases.add("has the type of a text", {"val": text("same")}, [{"dtype": "string", "shape": []}], no_kernel=True)
    cases.fail("refuses to have no value", {}, 'expected the parameter "val"')
    cases.fail("refuses inputs that it does not have", {"val": fp16([1]), "x": fp16([1])}, 'has no parameter "x"')
    cases.write()


def make_read_state():
    cases = Cases("read_state")
    for dtype, shape in (("fp16", (1, 2, 8, 4)), ("fp32", (3,)), ("int32", ()), ("fp16", (2, 0))):
        cases.add(f"gives the tensor of a state of {dtype} {list(shape)}", {"input": state(dtype, *shape)}, [type_only(dtype, shape)], no_kernel=True)
    cases.fail("refuses a tensor (c1)", {"input": fp16([1])}, "read_state_c1")
    cases.fail("refuses a state that no machine holds (c2)", {"input": state("fp16", 2**21, 2**21)}, "read_state_c2")
    cases.fail("exists from iOS18 on", {"input": state("fp16", 2)}, "exists from ios18 on", opset="ios17")
    cases.write()


def make_write_state():
    cases = Cases("write_state")
    for dtype, shape in (("fp16", (1, 2, 8, 4)), ("fp32", (3,)), ("int32", ()), ("fp16", (2, 0))):
        cases.add(f"takes the tensor of a state of {dtype} {list(shape)}",
                  {"input": state(dtype, *shape), "data": type_only(dtype, shape)}, [], no_kernel=True)
    cases.add("takes a tensor whose size is seen at run time", {"input": state("fp16", 2, 3), "data": type_only("fp16", [2, -1])}, [], no_kernel=True)
    cases.fail("refuses a tensor as state (c1)", {"input": fp16([1]), "data": fp16([1])}, "write_state_c1")
    cases.fail("refuses a state as data (c2)", {"input": state("fp16", 2), "data": state("fp16", 2)}, "write_state_c2")
    cases.fail("refuses another dtype (c2)", {"input": state("fp16", 2), "data": fp32([1, 2])}, "write_state_c2")
    cases.fail("refuses another size (c2)", {"input": state("fp16", 2), "data": fp16([1, 2, 3])}, "write_state_c2")
    cases.fail("refuses another rank (c2)", {"input": state("fp16", 2), "data": fp16([[1, 2]])}, "write_state_c2")
    cases.fail("exists from iOS18 on", {"input": state("fp16", 2), "data": fp16([1, 2])}, "exists from ios18 on", opset="ios17")
    cases.write()


make_const()
make_read_state()
make_write_state()
