# SPDX-License-Identifier: Apache-2.0
"""Good packages with tensors that say how much, and with numbers that are none."""

from lib.case import add, expect
from lib.mil import Program
from lib.tensors import BEYOND, LEAST, MOST, REASON, X, family, hostile, i32, predict, scalar

hostile(
    "fill",
    "good",
    {"shape": i32([2, 3]), "value": scalar(1.0, "fp32")},
    {},
    ("fp32", [None, None]),
    must_fail=False,
    consts=("value",),
)
for label, shape in (
    ("huge", [MOST, MOST]),
    ("beyond-the-machine", [BEYOND, 50_000]),
    ("negative", [-1, 3]),
    ("overflow", [1 << 30, 1 << 30]),
    ("least", [LEAST, LEAST]),
):
    hostile(
        "fill",
        label,
        {"shape": i32([2, 3]), "value": scalar(1.0, "fp32")},
        {"shape": shape},
        ("fp32", [None, None]),
        consts=("value",),
    )
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
ranged("beyond-the-machine", "fp32", 0.0, BEYOND * 50_000.0, 1.0)
ranged("step-zero", "int32", 0, 5, 0)
ranged("float-huge", "fp32", 0.0, 1e30, 1.0)
ranged("float-nan", "fp32", float("nan"), 1.0, 1.0)
ranged("float-infinite", "fp32", 0.0, float("inf"), 1.0)
ranged("float-step-tiny", "fp32", 0.0, 1.0, 1e-38)
ranged("float-step-nan", "fp32", 0.0, 1.0, float("nan"))

TILE = {"x": X, "reps": i32([1, 2])}
family(
    "tile",
    TILE,
    [2, 2],
    "reps",
    {"zero": [0, 1], "negative": [-1, 2], "least": [LEAST, 1], "huge": [MOST, MOST], "beyond-the-machine": [BEYOND, 20_000]},
    ("fp32", [None, None]),
)
family(
    "reshape",
    {"x": X, "shape": i32([4, 2])},
    [8, 1],
    "shape",
    {
        "other-count": [3, 3],
        "negative": [-2, 4],
        "two-open": [-1, -1],
        "huge": [MOST, MOST],
        "wraps": [1 << 30, 1 << 30],
        "least": [LEAST, LEAST],
    },
    ("fp32", [None, None]),
)
PAD = {"x": X, "pad": i32([0, 0, 1, 1]), "mode": ("string", [], ["constant"]), "constant_val": scalar(0.0, "fp32")}
family(
    "pad",
    PAD,
    [0, 1, 1, 0],
    "pad",
    {
        "negative": [0, 0, -1, 0],
        "least": [LEAST, 0, 0, 0],
        "huge": [MOST, MOST, MOST, MOST],
        "beyond-the-machine": [BEYOND, 0, 50_000, 0],
    },
    ("fp32", [None, None]),
    consts=("constant_val",),
)
for mode in ("reflect", "replicate"):
    family(
        "pad",
        {**PAD, "mode": ("string", [], [mode])},
        [0, 1, 1, 0],
        "pad",
        {"huge": [0, MOST, 0, 0], "negative": [0, 0, -1, 0]},
        ("fp32", [None, None]),
        consts=("constant_val",),
        kind=f"pad-{mode}",
    )
family(
    "one_hot",
    {
        "indices": i32([0, 1, 2]),
        "one_hot_vector_size": scalar(4),
        "axis": scalar(-1),
        "on_value": scalar(1.0, "fp32"),
        "off_value": scalar(0.0, "fp32"),
    },
    [0, 1, 3],
    "indices",
    {},
    ("fp32", [3, 4]),
    consts=("one_hot_vector_size", "axis", "on_value", "off_value"),
)
for label, values in (("past", [4, 5, 6]), ("negative", [-1, -4, -5]), ("far", [MOST, LEAST, 0])):
    hostile(
        "one_hot",
        label,
        {
            "indices": i32([0, 1, 2]),
            "one_hot_vector_size": scalar(4),
            "axis": scalar(-1),
            "on_value": scalar(1.0, "fp32"),
            "off_value": scalar(0.0, "fp32"),
        },
        {"indices": values},
        ("fp32", [3, 4]),
        must_fail=None,
        consts=("one_hot_vector_size", "axis", "on_value", "off_value"),
    )
ODD = {"nan": float("nan"), "infinite": float("inf"), "minus-infinite": float("-inf"), "largest": 3.4e38, "tiny": 1e-45}
SAMPLE = {
    "x": ("fp32", [1, 1, 4, 4], None),
    "coordinates": ("fp32", [1, 2, 2, 2], [0.0] * 8),
    "sampling_mode": ("string", [], ["bilinear"]),
    "padding_mode": ("string", [], ["constant"]),
    "padding_value": scalar(0.0, "fp32"),
    "coordinates_mode": ("string", [], ["unnormalized"]),
    "align_corners": ("bool", [], [True]),
}
AFFINE = {
    "x": ("fp32", [1, 1, 4, 4], None),
    "transform_matrix": ("fp32", [1, 6], [1.0, 0, 0, 0, 1, 0]),
    "output_height": scalar(2),
    "output_width": scalar(2),
    "sampling_mode": ("string", [], ["bilinear"]),
    "padding_mode": ("string", [], ["constant"]),
    "padding_value": scalar(0.0, "fp32"),
    "coordinates_mode": ("string", [], ["unnormalized"]),
    "align_corners": ("bool", [], [True]),
}
for label, value in ODD.items():
    for mode in ("constant", "border", "reflection", "symmetric"):
        hostile(
            "resample",
            f"{mode}-{label}",
            {**SAMPLE, "padding_mode": ("string", [], [mode])},
            {"coordinates": [value] * 8},
            ("fp32", [1, 1, 2, 2]),
            must_fail=None,
            consts=("padding_value",),
        )
    hostile(
        "affine",
        label,
        AFFINE,
        {"transform_matrix": [value] * 6},
        ("fp32", [1, 1, 2, 2]),
        must_fail=None,
        consts=("output_height", "output_width", "padding_value"),
    )
    hostile(
        "topk",
        label,
        {"x": X, "k": scalar(2), "axis": scalar(1), "ascending": ("bool", [], [False])},
        {"x": [value, 1.0, value, 2.0] * 2},
        ("fp32", [2, 2]),
        must_fail=None,
        consts=("k", "axis"),
        ios=16,
        kind="topk-values",
    )
    hostile(
        "argsort",
        label,
        {"x": X, "axis": scalar(1), "ascending": ("bool", [], [False])},
        {"x": [value, 1.0, value, 2.0] * 2},
        ("int32", [2, 4]),
        must_fail=False,
        consts=("axis",),
    )
    hostile(
        "reduce_argmax",
        label,
        {"x": X, "axis": scalar(1), "keep_dims": ("bool", [], [False])},
        {"x": [value] * 8},
        ("int32", [2]),
        must_fail=False,
        consts=("axis",),
    )
    hostile(
        "cast",
        f"float-to-int-{label}",
        {"x": X, "dtype": ("string", [], ["int32"])},
        {"x": [value] * 8},
        ("int32", [2, 4]),
        must_fail=False,
    )
    hostile("non_zero", label, {"x": X}, {"x": [value, 0.0, value, 0.0] * 2}, ("int32", [None, 2]), must_fail=False)
for label, dtype_values in {"divide-by-zero": [0] * 8, "least-by-minus-one": [-1] * 8}.items():
    for op in ("floor_div", "mod", "real_div"):
        hostile(
            op,
            label,
            {"x": i32([LEAST] * 8, [2, 4]), "y": i32([1] * 8, [2, 4])},
            {"y": dtype_values},
            ("int32", [2, 4]),
            must_fail=None,
        )
hostile(
    "pow",
    "int-overflow",
    {"x": i32([MOST] * 8, [2, 4]), "y": i32([MOST] * 8, [2, 4])},
    {},
    ("int32", [2, 4]),
    must_fail=None,
)
hostile(
    "cumsum",
    "int-overflow",
    {
        "x": i32([MOST] * 8, [2, 4]),
        "axis": scalar(1),
        "exclusive": ("bool", [], [False]),
        "reverse": ("bool", [], [False]),
    },
    {},
    ("int32", [2, 4]),
    must_fail=None,
    consts=("axis",),
)
hostile(
    "reduce_sum",
    "int-overflow",
    {"x": i32([MOST] * 8, [2, 4]), "axes": i32([1]), "keep_dims": ("bool", [], [False])},
    {},
    ("int32", [2]),
    must_fail=None,
    consts=("axes",),
)
hostile("abs", "int-least", {"x": i32([LEAST] * 8, [2, 4])}, {}, ("int32", [2, 4]), must_fail=None)
for label, values in (
    ("nan", [float("nan")] * 12),
    ("infinite", [float("inf")] * 12),
    ("reversed", [9.0, 9.0, 0.0, 0.0] * 3),
):
    hostile(
        "non_maximum_suppression",
        label,
        {
            "boxes": ("fp32", [1, 3, 4], values),
            "scores": ("fp32", [1, 3, 1], [0.5, float("nan"), 0.7]),
            "max_boxes": scalar(2),
            "iou_threshold": scalar(0.5, "fp32"),
            "score_threshold": scalar(0.1, "fp32"),
            "per_class_suppression": ("bool", [], [False]),
        },
        {},
        ("fp32", [1, 2, 4]),
        must_fail=None,
        consts=("max_boxes", "iou_threshold", "score_threshold"),
    )
for label, values in (
    ("negative", [-1.0] * 4),
    ("nan", [float("nan")] * 4),
    ("zeros", [0.0] * 4),
    ("infinite", [float("inf"), 1.0, 1.0, 1.0]),
):
    hostile(
        "random_categorical",
        label,
        {"x": ("fp32", [1, 4], values), "mode": ("string", [], ["probs"]), "size": scalar(8), "seed": scalar(1)},
        {},
        ("fp32", [1, 8]),
        must_fail=None,
        consts=("size", "seed"),
    )
for label, shape in (("huge", [MOST, MOST]), ("negative", [-1, 4]), ("beyond-the-machine", [BEYOND, 50_000])):
    hostile(
        "random_uniform",
        label,
        {"shape": i32([2, 2]), "low": scalar(0.0, "fp32"), "high": scalar(1.0, "fp32"), "seed": scalar(1)},
        {"shape": shape},
        ("fp32", [None, None]),
        consts=("low", "high", "seed"),
    )
