# SPDX-License-Identifier: Apache-2.0
"""Good packages with hostile tensors: every operation whose inputs say where or how much, on both engines.

The types in the packages are static where an operation allows it, so that nothing but the values can be wrong.
"""
import os

from lib import formats
from lib.case import Failure, add, expect
from lib.mil import Program, SAFETENSORS
from lib.process import settled

BIG, LEAST, MOST = 1 << 30, -(1 << 31), (1 << 31) - 1
ENGINES = (("default", ()), ("reference", ("--isa", "reference")), ("plain", ("--isa", "plain")))
REASON = "A good package with a hostile tensor must neither read nor write outside of its tensors."


def pack(dtype, values):
    return formats.floats(values, SAFETENSORS[dtype]) if dtype.startswith("fp") else formats.ints(values, SAFETENSORS[dtype])


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
    inputs = trial.write("in.safetensors", formats.safetensors(
        {name: (SAFETENSORS[dtype], shape, pack(dtype, values)) for name, (dtype, shape, values) in tensors.items()}))
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


family("reverse_sequence", {"x": X, "lengths": i32([1, 2]), "seq_axis": scalar(1), "batch_axis": scalar(0)}, [4, 1], "lengths",
       {"past": [5, 1], "huge": [MOST, 1], "negative": [-1, 2], "least": [LEAST, 2], "far": [1_000_000, 1_000_000]}, ("fp32", [2, 4]), consts=("seq_axis", "batch_axis"))
family("slice_by_size", {"x": X, "begin": i32([0, 0]), "size": i32([1, 2])}, [1, 2], "begin",
       {"past": [2, 0], "huge": [0, MOST], "negative": [-3, 0], "least": [LEAST, 0], "end": [0, 3], "far": [1_000_000, 0]}, ("fp32", [1, 2]), consts=("size",))
family("slice_by_size", {"x": X, "begin": i32([0, 0]), "size": i32([1, 2])}, [1, 2], "size",
       {"past": [3, 2], "huge": [MOST, MOST], "below": [-2, 1], "least": [LEAST, 1]}, ("fp32", [None, None]), consts=("begin",), kind="slice_by_size-size")
UPDATE = {"x": X, "update": ("fp32", [1, 2], None), "begin": i32([0, 0]), "end": i32([1, 2])}
hostile("slice_update", "good", UPDATE, {}, ("fp32", [2, 4]), must_fail=False, ios=18)
for label, begin, end in (("begin-past", [2, 0], [3, 2]), ("begin-huge", [MOST, 0], [MOST, 2]), ("begin-negative", [-1_000_000, 0], [-999_999, 2]), ("begin-least", [LEAST, LEAST], [LEAST + 1, LEAST + 2]),
                          ("end-huge", [0, 0], [MOST, MOST]), ("end-least", [0, 0], [LEAST, LEAST]), ("reversed", [1, 2], [0, 0]), ("too-large", [0, 0], [2, 4]), ("empty", [0, 0], [0, 0]), ("far", [1_000_000, 0], [1_000_001, 2])):
    hostile("slice_update", label, UPDATE, {"begin": begin, "end": end}, ("fp32", [2, 4]), ios=18)
INDEX = {"x": X, "begin": i32([0, 0]), "end": i32([1, 2]), "stride": i32([1, 1])}
hostile("slice_by_index", "good", INDEX, {}, ("fp32", [None, None]), must_fail=False, consts=("stride",))
for label, values in (("stride-zero", {"stride": [0, 1]}), ("stride-negative-zero", {"stride": [1, 0]})):
    hostile("slice_by_index", label, INDEX, values, ("fp32", [None, None]), consts=("stride",))
for label, values in (("begin-huge", {"begin": [MOST, MOST]}), ("end-huge", {"end": [MOST, MOST]}), ("begin-least", {"begin": [LEAST, LEAST]}), ("end-least", {"end": [LEAST, LEAST]}),
                      ("stride-huge", {"stride": [MOST, MOST]}), ("stride-least", {"stride": [LEAST, LEAST]}), ("all-least", {"begin": [LEAST, LEAST], "end": [MOST, MOST], "stride": [LEAST, LEAST]})):
    hostile("slice_by_index", label, INDEX, values, ("fp32", [None, None]), must_fail=None, consts=("stride",))
GATHER = {"x": X, "indices": i32([0, 1, 1]), "axis": scalar(1)}
BAD_INDICES = {"past": [4, 0, 0], "huge": [MOST, 0, 0], "negative": [-5, 0, 0], "least": [LEAST, 0, 0], "far": [0, 0, 10_000_000]}
family("gather", GATHER, [3, 0, -1], "indices", BAD_INDICES, ("fp32", [2, 3]), consts=("axis",), ios=16)
family("gather", {**GATHER, "validate_indices": ("bool", [], [True])}, [3, 0, 1], "indices", BAD_INDICES, ("fp32", [2, 3]), consts=("axis",), kind="gather-validated")
for label, values in BAD_INDICES.items():
    hostile("gather", label, {**GATHER, "validate_indices": ("bool", [], [False])}, {"indices": values}, ("fp32", [2, 3]), must_fail=None, consts=("axis",), kind="gather-unvalidated")
family("gather_along_axis", {"x": X, "indices": i32([0] * 6, [2, 3]), "axis": scalar(1), "validate_indices": ("bool", [], [True])}, [3, 0, 1, 2, 2, 2], "indices",
       {"past": [4, 0, 0, 0, 0, 0], "least": [0, 0, 0, 0, 0, LEAST], "far": [10_000_000] * 6, "negative": [-5] * 6}, ("fp32", [2, 3]), consts=("axis",))
family("gather_nd", {"x": X, "indices": i32([0, 0, 1, 3], [2, 2]), "batch_dims": scalar(0), "validate_indices": ("bool", [], [True])}, [1, 3, 0, 0], "indices",
       {"past": [2, 0, 0, 0], "past-last": [1, 4, 0, 0], "least": [LEAST, LEAST, 0, 0], "far": [0, 0, 1_000_000, 1_000_000], "huge": [MOST] * 4}, ("fp32", [2]), consts=("batch_dims",))
MODE = ("string", [], ["update"])
for mode in ("update", "add", "mul", "max"):
    SCATTER = {"data": X, "indices": i32([0, 1]), "updates": ("fp32", [2, 2], None), "axis": scalar(1), "mode": ("string", [], [mode]), "validate_indices": ("bool", [], [True])}
    family("scatter", SCATTER, [3, 0], "indices", {"past": [4, 0], "least": [LEAST, 0], "far": [10_000_000, 0], "negative": [-5, 0]}, ("fp32", [2, 4]), consts=("axis",), kind=f"scatter-{mode}")
family("scatter_along_axis", {"data": X, "indices": i32([0] * 4, [2, 2]), "updates": ("fp32", [2, 2], None), "axis": scalar(1), "mode": MODE, "validate_indices": ("bool", [], [True])},
       [3, 0, 1, 2], "indices", {"past": [4, 0, 0, 0], "least": [0, 0, 0, LEAST], "far": [10_000_000] * 4, "negative": [-5] * 4}, ("fp32", [2, 4]), consts=("axis",))
family("scatter_nd", {"data": X, "indices": i32([0, 0, 1, 3], [2, 2]), "updates": ("fp32", [2], None), "mode": MODE, "validate_indices": ("bool", [], [True])}, [1, 3, 0, 0], "indices",
       {"past": [2, 0, 0, 0], "least": [LEAST, LEAST, 0, 0], "far": [0, 0, 1_000_000, 1_000_000], "negative": [-3, 0, 0, 0]}, ("fp32", [2, 4]))
for op, operands in (("scatter", {"data": X, "indices": i32([9, -9]), "updates": ("fp32", [2, 2], None), "axis": scalar(1), "mode": MODE}),
                     ("scatter_nd", {"data": X, "indices": i32([2, 4, LEAST, MOST], [2, 2]), "updates": ("fp32", [2], None), "mode": MODE})):
    hostile(op, "unvalidated", {**operands, "validate_indices": ("bool", [], [False])}, {}, ("fp32", [2, 4]), must_fail=None, consts=("axis",))

CROP = {"x": ("fp32", [2, 1, 4, 4], None), "roi": ("fp32", [1, 1, 5, 1, 1], [0, 0, 0, 1, 1]), "target_height": scalar(2), "target_width": scalar(2),
        "normalized_coordinates": ("bool", [], [False]), "spatial_scale": scalar(1.0, "fp32"), "box_coordinate_mode": ("string", [], ["CORNERS_HEIGHT_FIRST"]), "sampling_mode": ("string", [], ["DEFAULT"])}
FIXED = ("target_height", "target_width", "spatial_scale")
hostile("crop_resize", "good", CROP, {}, ("fp32", [1, 1, 1, 2, 2]), must_fail=False, ios=16, consts=FIXED)
for label, roi in (("past", [2, 0, 0, 1, 1]), ("huge", [1e30, 0, 0, 1, 1]), ("negative", [-1, 0, 0, 1, 1]), ("nan", [float("nan"), 0, 0, 1, 1]), ("infinite", [float("inf"), 0, 0, 1, 1]),
                   ("far", [1e6, 0, 0, 1, 1])):
    hostile("crop_resize", f"index-{label}", CROP, {"roi": roi}, ("fp32", [1, 1, 1, 2, 2]), ios=16, consts=FIXED)
for label, box in (("nan", [float("nan")] * 4), ("infinite", [float("-inf"), 0, float("inf"), 1]), ("huge", [1e38, -1e38, 1e38, 1e38]), ("reversed", [3, 3, 0, 0]), ("outside", [-50, -50, 90, 90])):
    hostile("crop_resize", f"box-{label}", CROP, {"roi": [0, *box]}, ("fp32", [1, 1, 1, 2, 2]), must_fail=None, ios=16, consts=FIXED)
CROP17 = {key: value for key, value in CROP.items() if key != "roi"} | {"boxes": ("fp32", [2, 4], [0, 0, 1, 1] * 2), "box_indices": i32([0, 1]), "pad_value": scalar(0.0, "fp32")}
family("crop_resize", CROP17, [1, 0], "box_indices", {"past": [2, 0], "huge": [MOST, 0], "negative": [-1, 0], "least": [LEAST, 0], "far": [1_000_000, 0]},
       ("fp32", [2, 1, 2, 2]), consts=(*FIXED, "pad_value"), kind="crop_resize-boxes")

hostile("fill", "good", {"shape": i32([2, 3]), "value": scalar(1.0, "fp32")}, {}, ("fp32", [None, None]), must_fail=False, consts=("value",))
for label, shape in (("huge", [MOST, MOST]), ("ten-gigabytes", [50_000, 50_000]), ("negative", [-1, 3]), ("overflow", [1 << 30, 1 << 30]), ("least", [LEAST, LEAST])):
    hostile("fill", label, {"shape": i32([2, 3]), "value": scalar(1.0, "fp32")}, {"shape": shape}, ("fp32", [None, None]), consts=("value",))
RANGE = {"start": scalar(0.0, "fp32"), "end": scalar(5.0, "fp32"), "step": scalar(1.0, "fp32")}
hostile("range_1d", "good", {**RANGE, "end": ("fp32", [1], [5.0])}, {}, ("fp32", [None]), must_fail=None)
RANGE32 = {"start": scalar(0), "end": scalar(5), "step": scalar(1)}


def ranged(label, dtype, start, end, step, must_fail=True):
    """Scalars come through squeeze: a feature has a rank of one at least."""
    def body(trial):
        program = Program(17)
        tensors, names = {}, {}
        for name, value in (("start", start), ("end", end), ("step", step)):
            program.input(f"{name}_in", dtype, [1])
            names[name] = program.op("squeeze", {"x": f"{name}_in"}, (name, dtype, []))
            tensors[f"{name}_in"] = (dtype, [1], [value])
        program.op("range_1d", names, ("y", dtype, [None]))
        program.output("y", dtype, [None])
        codes = predict(trial, program, tensors)
        expect((0 in codes.values()) != must_fail, f"got {codes}")
    add(f"tensor/range_1d/{label}", REASON, body)


ranged("good-int", "int32", 0, 5, 1, False)
ranged("good-float", "fp32", 0.0, 1.0, 0.25, False)
ranged("huge-int", "int32", LEAST, MOST, 1)
ranged("step-zero", "int32", 0, 5, 0)
ranged("float-huge", "fp32", 0.0, 1e30, 1.0)
ranged("float-nan", "fp32", float("nan"), 1.0, 1.0)
ranged("float-infinite", "fp32", 0.0, float("inf"), 1.0)
ranged("float-step-tiny", "fp32", 0.0, 1.0, 1e-38)
ranged("float-step-nan", "fp32", 0.0, 1.0, float("nan"))

TILE = {"x": X, "reps": i32([1, 2])}
family("tile", TILE, [2, 2], "reps", {"zero": [0, 1], "negative": [-1, 2], "least": [LEAST, 1], "huge": [MOST, MOST], "ten-gigabytes": [20_000, 20_000]}, ("fp32", [None, None]))
family("reshape", {"x": X, "shape": i32([4, 2])}, [8, 1], "shape", {"other-count": [3, 3], "negative": [-2, 4], "two-open": [-1, -1], "huge": [MOST, MOST], "wraps": [1 << 30, 1 << 30], "least": [LEAST, LEAST]},
       ("fp32", [None, None]))
PAD = {"x": X, "pad": i32([0, 0, 1, 1]), "mode": ("string", [], ["constant"]), "constant_val": scalar(0.0, "fp32")}
family("pad", PAD, [0, 1, 1, 0], "pad", {"negative": [0, 0, -1, 0], "least": [LEAST, 0, 0, 0], "huge": [MOST, MOST, MOST, MOST], "ten-gigabytes": [50_000, 0, 50_000, 0]}, ("fp32", [None, None]), consts=("constant_val",))
for mode in ("reflect", "replicate"):
    family("pad", {**PAD, "mode": ("string", [], [mode])}, [0, 1, 1, 0], "pad", {"huge": [0, MOST, 0, 0], "negative": [0, 0, -1, 0]}, ("fp32", [None, None]), consts=("constant_val",), kind=f"pad-{mode}")
family("one_hot", {"indices": i32([0, 1, 2]), "one_hot_vector_size": scalar(4), "axis": scalar(-1), "on_value": scalar(1.0, "fp32"), "off_value": scalar(0.0, "fp32")}, [0, 1, 3], "indices",
       {}, ("fp32", [3, 4]), consts=("one_hot_vector_size", "axis", "on_value", "off_value"))
for label, values in (("past", [4, 5, 6]), ("negative", [-1, -4, -5]), ("far", [MOST, LEAST, 0])):
    hostile("one_hot", label, {"indices": i32([0, 1, 2]), "one_hot_vector_size": scalar(4), "axis": scalar(-1), "on_value": scalar(1.0, "fp32"), "off_value": scalar(0.0, "fp32")},
            {"indices": values}, ("fp32", [3, 4]), must_fail=None, consts=("one_hot_vector_size", "axis", "on_value", "off_value"))
ODD = {"nan": float("nan"), "infinite": float("inf"), "minus-infinite": float("-inf"), "largest": 3.4e38, "tiny": 1e-45}
SAMPLE = {"x": ("fp32", [1, 1, 4, 4], None), "coordinates": ("fp32", [1, 2, 2, 2], [0.0] * 8), "sampling_mode": ("string", [], ["bilinear"]), "padding_mode": ("string", [], ["constant"]),
          "padding_value": scalar(0.0, "fp32"), "coordinates_mode": ("string", [], ["unnormalized"]), "align_corners": ("bool", [], [True])}
AFFINE = {"x": ("fp32", [1, 1, 4, 4], None), "transform_matrix": ("fp32", [1, 6], [1.0, 0, 0, 0, 1, 0]), "output_height": scalar(2), "output_width": scalar(2), "sampling_mode": ("string", [], ["bilinear"]),
          "padding_mode": ("string", [], ["constant"]), "padding_value": scalar(0.0, "fp32"), "coordinates_mode": ("string", [], ["unnormalized"]), "align_corners": ("bool", [], [True])}
for label, value in ODD.items():
    for mode in ("constant", "border", "reflection", "symmetric"):
        hostile("resample", f"{mode}-{label}", {**SAMPLE, "padding_mode": ("string", [], [mode])}, {"coordinates": [value] * 8}, ("fp32", [1, 1, 2, 2]), must_fail=None, consts=("padding_value",))
    hostile("affine", label, AFFINE, {"transform_matrix": [value] * 6}, ("fp32", [1, 1, 2, 2]), must_fail=None, consts=("output_height", "output_width", "padding_value"))
    hostile("topk", label, {"x": X, "k": scalar(2), "axis": scalar(1), "ascending": ("bool", [], [False])}, {"x": [value, 1.0, value, 2.0] * 2}, ("fp32", [2, 2]), must_fail=None, consts=("k", "axis"), ios=16, kind="topk-values")
    hostile("argsort", label, {"x": X, "axis": scalar(1), "ascending": ("bool", [], [False])}, {"x": [value, 1.0, value, 2.0] * 2}, ("int32", [2, 4]), must_fail=False, consts=("axis",))
    hostile("reduce_argmax", label, {"x": X, "axis": scalar(1), "keep_dims": ("bool", [], [False])}, {"x": [value] * 8}, ("int32", [2]), must_fail=False, consts=("axis",))
    hostile("cast", f"float-to-int-{label}", {"x": X, "dtype": ("string", [], ["int32"])}, {"x": [value] * 8}, ("int32", [2, 4]), must_fail=False)
    hostile("non_zero", label, {"x": X}, {"x": [value, 0.0, value, 0.0] * 2}, ("int32", [None, 2]), must_fail=False)
for label, dtype_values in {"divide-by-zero": [0] * 8, "least-by-minus-one": [-1] * 8}.items():
    for op in ("floor_div", "mod", "real_div"):
        hostile(op, label, {"x": i32([LEAST] * 8, [2, 4]), "y": i32([1] * 8, [2, 4])}, {"y": dtype_values}, ("int32", [2, 4]), must_fail=None)
hostile("pow", "int-overflow", {"x": i32([MOST] * 8, [2, 4]), "y": i32([MOST] * 8, [2, 4])}, {}, ("int32", [2, 4]), must_fail=None)
hostile("cumsum", "int-overflow", {"x": i32([MOST] * 8, [2, 4]), "axis": scalar(1), "exclusive": ("bool", [], [False]), "reverse": ("bool", [], [False])}, {}, ("int32", [2, 4]), must_fail=None, consts=("axis",))
hostile("reduce_sum", "int-overflow", {"x": i32([MOST] * 8, [2, 4]), "axes": i32([1]), "keep_dims": ("bool", [], [False])}, {}, ("int32", [2]), must_fail=None, consts=("axes",))
hostile("abs", "int-least", {"x": i32([LEAST] * 8, [2, 4])}, {}, ("int32", [2, 4]), must_fail=None)
for label, values in (("nan", [float("nan")] * 12), ("infinite", [float("inf")] * 12), ("reversed", [9.0, 9.0, 0.0, 0.0] * 3)):
    hostile("non_maximum_suppression", label, {"boxes": ("fp32", [1, 3, 4], values), "scores": ("fp32", [1, 3, 1], [0.5, float("nan"), 0.7]), "max_boxes": scalar(2), "iou_threshold": scalar(0.5, "fp32"),
            "score_threshold": scalar(0.1, "fp32"), "per_class_suppression": ("bool", [], [False])}, {}, ("fp32", [1, 2, 4]), must_fail=None, consts=("max_boxes", "iou_threshold", "score_threshold"))
for label, values in (("negative", [-1.0] * 4), ("nan", [float("nan")] * 4), ("zeros", [0.0] * 4), ("infinite", [float("inf"), 1.0, 1.0, 1.0])):
    hostile("random_categorical", label, {"x": ("fp32", [1, 4], values), "mode": ("string", [], ["probs"]), "size": scalar(8), "seed": scalar(1)}, {}, ("fp32", [1, 8]), must_fail=None, consts=("size", "seed"))
for label, shape in (("huge", [MOST, MOST]), ("negative", [-1, 4]), ("ten-gigabytes", [50_000, 50_000])):
    hostile("random_uniform", label, {"shape": i32([2, 2]), "low": scalar(0.0, "fp32"), "high": scalar(1.0, "fp32"), "seed": scalar(1)}, {"shape": shape}, ("fp32", [None, None]), consts=("low", "high", "seed"))
