# SPDX-License-Identifier: Apache-2.0
"""The cases of tests/ops/data as programs that coremltools builds: many operations in one package, run at once.

Values that may come at run time are inputs of the function, so that nothing is known before; a case that coremltools
does not build that way gets all but the floats as constants. Core ML takes and gives only floats and int32: the
other dtypes, and scalars, are cast and reshaped at the border, which is exact.
"""

import json
import pathlib
import re

import coremltools as ct
import numpy as np
from conversion import TARGETS
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil import Function, Program, types
from coremltools.converters.mil.mil.ops.registry import SSAOpRegistry
from coremltools.converters.mil.mil.types.symbolic import any_symbolic

DATA = pathlib.Path(__file__).parent.parent / "ops/data"
BATCH = 150
# Inputs of functions may be these; fp16 since iOS16.
BORDER = {"fp32": types.fp32, "fp16": types.fp16, "int32": types.int32}
NUMPY = {"fp16": np.float16, "fp32": np.float32, "bool": np.bool_, "int8": np.int8, "uint8": np.uint8, "int16": np.int16,
         "uint16": np.uint16, "int32": np.int32, "uint32": np.uint32}
# Tolerances as in op_test.cc: half a step of the dtype, and room for other orders of sums and another libm.
TOLERANCE = {"fp16": (1e-6, 1 / 1024), "fp32": (1e-6, 1e-5)}


def core_class(op, target):
    """The definition of an operation in an opset; None before it exists."""
    versions = [version for version in SSAOpRegistry.core_ops[op] if version <= TARGETS[target]]
    return SSAOpRegistry.core_ops[op][max(versions)] if versions else None


def dtypes_of(op):
    """{parameter: all dtypes of all opsets that a tensor there may have}."""
    out = {}
    for target in TARGETS:
        definition = core_class(op, target)
        if definition is None:
            continue
        for parameter, kind in definition.input_spec.input_types.items():
            for dtype in getattr(kind, "type_domain", None) or ():
                name = types.builtin_to_string(dtype)
                if name in NUMPY:
                    out.setdefault(parameter, set()).add(name)
    return out


class Array:
    def __init__(self, record):
        self.dtype = record["dtype"]
        values = [float(v) if isinstance(v, str) else v for v in record["values"]]
        self.value = np.array(values, dtype=NUMPY[self.dtype]).reshape(record["shape"])

    def plain(self):
        """As an argument of the builder: a scalar has no array around it."""
        return self.value[()] if self.value.ndim == 0 else self.value


def decode(record):
    if "list" in record:
        return [decode(item) for item in record["list"]]
    if "text" in record:
        return record["text"]
    return Array(record)


class Case:
    def __init__(self, record):
        self.op, self.title = record["op"], record["name"]
        self.target = int(record.get("opset", "ios18")[3:])
        self.inputs = {name: decode(value) for name, value in record["inputs"].items()}
        self.outputs = [decode(output) for output in record["outputs"]]
        self.tolerance = record.get("tolerance")
        self.error = None

    def arrays(self):
        """(parameter, array) of all tensors, those in lists too."""
        for name, value in self.inputs.items():
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, Array):
                    yield name, item

    def covered(self):
        return {(name, array.dtype) for name, array in self.arrays()}

    def check(self, got):
        """None, or what is wrong with the outputs."""
        for i, (want, value) in enumerate(zip(self.outputs, got)):
            shape = want.value.shape or (1,)
            if value.shape != shape:
                return f"output {i} has the shape {value.shape}, expected {shape}"
            a, b = want.value.astype(np.float64).reshape(shape), value.astype(np.float64)
            if self.tolerance is not None:
                limits = self.tolerance.get("abs", 0), self.tolerance.get("rel", 0)
            else:
                limits = TOLERANCE.get(want.dtype, (0, 0))
            if not np.allclose(b, a, atol=limits[0], rtol=limits[1], equal_nan=True):
                worst = np.nanmax(np.abs(np.where(np.isfinite(a), a - b, 0)))
                return f"output {i} is off by {worst}"
        return None


def cases_of(op):
    """The cases of an operation that hold, and that can cross the border of a function."""
    path = DATA / f"{op}.json"
    if not path.exists():  # blocks and lists
        return []
    records = [r for r in json.loads(path.read_text()) if "error" not in r and not r.get("no_kernel")]
    narrow = re.compile(r'"dtype": "u?int[1-6]"')
    out = [Case(r) for r in records if not narrow.search(json.dumps(r))]
    # No input or output of a package is empty.
    return [c for c in out if all(a.value.size for _, a in c.arrays()) and all(o.value.size for o in c.outputs)]


# Which tensors of a case come at run time: all that may, only the floats, only the first. Only constants are uint32.
FORMS = (lambda array: array.dtype != "uint32", lambda array: array.dtype in ("fp16", "fp32"), lambda array: array.is_first)


def value_of(case):
    """What coremltools computes itself when all operands are constants; None if it does not."""
    try:
        # A function has an input.
        with Function({"unused": mb.placeholder(shape=(1,))}, opset_version=TARGETS[case.target]):
            plain = lambda v: tuple(map(plain, v)) if isinstance(v, list) else v.plain() if isinstance(v, Array) else v
            made = getattr(mb, case.op)(**{name: plain(value) for name, value in case.inputs.items()})
    except Exception:  # noqa: BLE001, it refuses some forms; what it builds is in Batch
        return None
    values = [var.val for var in (made if isinstance(made, (list, tuple)) else [made])]
    if any(value is None for value in values):
        return None
    return [np.asarray(value).reshape(np.shape(value) or (1,)) for value in values]


class Batch:
    """One function with many operations."""

    def __init__(self, target, cases):
        self.target, self.feeds, self.outputs = target, {}, {}
        # What coremltools refuses stays in the function in part, so that each case is tried in one of its own before.
        forms = {case: self.form_of(case) for case in cases}
        self.cases = [case for case in cases if case.error is None]
        function, results = self.function(self.cases), []
        with function:
            for i, case in enumerate(self.cases):
                made = self.build(function, case, forms[case], f"y{i}")
                self.outputs[case] = [var.name for var in made]
                results += made
            function.set_outputs(results)
        self.program = Program()
        self.program.add_function("main", function)

    def function(self, cases):
        for i, case in enumerate(cases):
            for j, (_, array) in enumerate(case.arrays()):
                array.name, array.is_first = f"x{i}_{j}", j == 0
        self.feeds.clear()
        inputs = {array.name: self.placeholder(array) for case in cases for _, array in case.arrays() if FORMS[0](array)}
        return Function(inputs, opset_version=TARGETS[self.target])

    def form_of(self, case):
        for form in FORMS:
            function = self.function([case])
            try:
                with function:
                    self.build(function, case, form, "y")
                case.error = None
                return form
            except Exception as error:  # noqa: BLE001, whatever coremltools finds wrong
                case.error = f"coremltools: {type(error).__name__}: {error}"
        return None

    def border(self, dtype):
        return "fp32" if dtype == "fp16" and self.target < 16 else dtype if dtype in BORDER else "int32"

    def placeholder(self, array):
        dtype = self.border(array.dtype)
        self.feeds[array.name] = array.value.astype(NUMPY[dtype]).reshape(array.value.shape or (1,))
        return mb.placeholder(shape=array.value.shape or (1,), dtype=BORDER[dtype])

    def argument(self, function, array, is_run_time):
        if not is_run_time:
            return array.plain()
        var = function.inputs[array.name]
        if self.border(array.dtype) != array.dtype:
            var = mb.cast(x=var, dtype=array.dtype)
        return mb.squeeze(x=var, axes=[0]) if array.value.ndim == 0 else var

    def build(self, function, case, is_run_time, name):
        kinds = core_class(case.op, self.target).input_spec.input_types
        arguments = {}
        for parameter, value in case.inputs.items():
            run_time = lambda array: not getattr(kinds[parameter], "const", False) and is_run_time(array)
            if isinstance(value, Array):
                arguments[parameter] = self.argument(function, value, run_time(value))
            elif isinstance(value, list):
                arguments[parameter] = tuple(self.argument(function, v, run_time(v)) if isinstance(v, Array) else v for v in value)
            else:
                arguments[parameter] = value
        made = getattr(mb, case.op)(**arguments)
        made = list(made) if isinstance(made, (list, tuple)) else [made]
        if len(made) != len(case.outputs):
            raise ValueError(f"{len(made)} outputs, expected {len(case.outputs)}")
        for var, want in zip(made, case.outputs):
            if types.builtin_to_string(var.dtype) != want.dtype:
                raise ValueError(f"output of {types.builtin_to_string(var.dtype)}, expected {want.dtype}")
            if not any_symbolic(var.shape) and tuple(var.shape) != want.value.shape:
                raise ValueError(f"output of {tuple(var.shape)}, expected {want.value.shape}")
        out = []
        for k, (var, want) in enumerate(zip(made, case.outputs)):
            dtype = self.border(want.dtype)
            # A name of its own, also for an operation that would be left out.
            out.append(mb.identity(x=var, name=f"{name}_{k}") if dtype == want.dtype else mb.cast(x=var, dtype=dtype, name=f"{name}_{k}"))
        return out

    def run(self, anemone, folder):
        """Fills in `error` of each case."""
        model = ct.convert(self.program, convert_to="mlprogram", minimum_deployment_target=TARGETS[self.target],
                           compute_precision=ct.precision.FLOAT32, pass_pipeline=ct.PassPipeline.EMPTY, skip_model_load=True)
        path = folder / "batch.mlpackage"
        model.save(str(path))
        got = anemone.predict(path, self.feeds, folder)
        for case in self.cases:
            case.error = case.check([got[name] for name in self.outputs[case]])
