# SPDX-License-Identifier: Apache-2.0
"""Holds one .mlpackage against what coremltools knows about the format.

coremltools' own loader infers the type of each operation again, but it forgives parameters that are left out, a
description that disagrees with the program and outputs without a description: those are checked here.
"""

import pathlib

import coremltools as ct
from coremltools import proto
from coremltools.converters.mil.frontend.milproto import helper as milproto_helper
from coremltools.converters.mil.frontend.milproto import load as milproto
from coremltools.converters.mil.mil import types

DATA_TYPE = proto.MIL_pb2.DataType
ARRAY_TYPE = proto.FeatureTypes_pb2.ArrayFeatureType
# Element types that a description can name, by their MIL name.
DESCRIBED = {
    DATA_TYPE.FLOAT16: ARRAY_TYPE.FLOAT16,
    DATA_TYPE.FLOAT32: ARRAY_TYPE.FLOAT32,
    DATA_TYPE.INT32: ARRAY_TYPE.INT32,
}
OPSETS = {6: "CoreML5", 7: "CoreML6", 8: "CoreML7", 9: "CoreML8"}


def tensor_dims(value_type):
    """Element type and dims of a tensor type; None for a dim that is not known."""
    tensor = value_type.tensorType
    dims = [d.constant.size if d.WhichOneof("dimension") == "constant" else None for d in tensor.dimensions]
    assert len(dims) == tensor.rank
    return tensor.dataType, dims


def interfaces(description):
    """(name, inputs, outputs, states) of each function."""
    if description.functions:
        assert not (description.input or description.output or description.state), "top level and functions both"
        return [(f.name, f.input, f.output, f.state) for f in description.functions]
    return [("main", description.input, description.output, description.state)]


def check_array(feature, array, value_type):
    data_type, dims = tensor_dims(value_type)
    assert array.dataType == DESCRIBED[data_type], feature.name
    if array.WhichOneof("ShapeFlexibility") is None and None not in dims:
        assert list(array.shape) == (dims or [1]), feature.name


def check_description(spec):
    """The description says of each function what the program says."""
    description, program = spec.description, spec.mlProgram
    described = interfaces(description)
    assert sorted(name for name, *_ in described) == sorted(program.functions)
    if description.functions:
        assert description.defaultFunctionName in program.functions
    else:
        assert description.defaultFunctionName in ("", "main")
    for name, inputs, outputs, states in described:
        function = program.functions[name]
        declared = {i.name: i.type for i in function.inputs}
        assert len(declared) == len(function.inputs), "an input name twice"
        assert {f.name for f in [*inputs, *states]} == set(declared), name
        for feature in inputs:
            assert feature.type.WhichOneof("Type") == "multiArrayType"
            check_array(feature, feature.type.multiArrayType, declared[feature.name])
        for feature in states:
            assert feature.type.WhichOneof("Type") == "stateType"
            assert declared[feature.name].WhichOneof("type") == "stateType"
            check_array(feature, feature.type.stateType.arrayType, declared[feature.name].stateType.wrappedType)
        block = function.block_specializations[function.opset]
        written = {o.name: o.type for op in block.operations for o in op.outputs} | declared
        assert [f.name for f in outputs] == list(block.outputs), name
        for feature in outputs:
            array = feature.type.multiArrayType
            data_type, dims = tensor_dims(written[feature.name])
            assert array.dataType == DESCRIBED[data_type], feature.name
            assert list(array.shape) in ([], dims or [1]), feature.name


def blocks_of(block):
    yield block
    for op in block.operations:
        for inner in op.blocks:
            yield from blocks_of(inner)


def operations_of(function):
    for block in blocks_of(function.block_specializations[function.opset]):
        yield from block.operations


def load_program(path):
    """The package's spec, and its program as coremltools' loader builds it: with types of its own."""
    model = ct.models.MLModel(str(path), skip_model_load=True)
    spec = ct.utils.load_spec(str(path))
    assert spec.SerializeToString(deterministic=True) == model.get_spec().SerializeToString(deterministic=True)
    weights = pathlib.Path(path) / "Data/com.apple.CoreML/weights"
    return spec, milproto.load(spec, spec.specificationVersion, str(weights))


def check_types(function, loaded):
    """What the loader inferred is what was written, to the last dim."""
    inferred = {v.name: v for op in all_loaded(loaded) for v in op.outputs}
    for op in operations_of(function):
        for output in op.outputs:
            if output.type.WhichOneof("type") != "tensorType":
                continue
            data_type, dims = tensor_dims(output.type)
            var = inferred[output.name]
            assert types.builtin_to_string(var.dtype) == types.builtin_to_string(
                milproto_helper.proto_to_types(output.type).get_primitive()
                if dims else milproto_helper.proto_to_types(output.type)), f"{op.type} {output.name}"
            shape = [None if types.symbolic.is_symbolic(d) else int(d) for d in var.shape]
            assert shape == dims, f"{op.type} {output.name}: inferred {shape}, written {dims}"


def all_loaded(block):
    for op in block.operations:
        yield op
        for inner in op.blocks:
            yield from all_loaded(inner)


def check_parameters(function, loaded):
    """Each parameter that has a default value is spelled out: only Python's loader would fill it in."""
    built = {op.outputs[0].name: op for op in all_loaded(loaded) if op.outputs}
    for op in operations_of(function):
        if op.type in ("const", "write_state", "read_state") or op.type.startswith("constexpr_"):
            continue
        defaults = built[op.outputs[0].name].default_inputs()
        left_out = {name for name, value in defaults.items() if value is not None} - set(op.inputs)
        assert not left_out, f"{op.type} {op.outputs[0].name} leaves {sorted(left_out)} to the default"


def check_package(path):
    """Raises AssertionError, or what coremltools raises, at the first thing that is wrong. Returns (spec, op types)."""
    spec, program = load_program(path)
    assert spec.WhichOneof("Type") == "mlProgram" and spec.mlProgram.version == 1
    check_description(spec)
    seen = set()
    for name, function in spec.mlProgram.functions.items():
        assert function.opset == OPSETS[spec.specificationVersion]
        assert list(function.block_specializations) == [function.opset]
        names = [i.name for i in function.inputs] + [o.name for op in operations_of(function) for o in op.outputs]
        assert len(names) == len(set(names)), f"{name}: a name is defined twice"
        check_types(function, program.functions[name])
        check_parameters(function, program.functions[name])
        seen |= {op.type for op in operations_of(function)}
    return spec, seen
