# SPDX-License-Identifier: Apache-2.0
"""Good packages with tensors that say where: lengths, positions, indices, boxes."""

from lib.tensors import LEAST, MOST, X, family, hostile, i32, scalar

family(
    "reverse_sequence",
    {"x": X, "lengths": i32([1, 2]), "seq_axis": scalar(1), "batch_axis": scalar(0)},
    [4, 1],
    "lengths",
    {"past": [5, 1], "huge": [MOST, 1], "negative": [-1, 2], "least": [LEAST, 2], "far": [1_000_000, 1_000_000]},
    ("fp32", [2, 4]),
    consts=("seq_axis", "batch_axis"),
)
family(
    "slice_by_size",
    {"x": X, "begin": i32([0, 0]), "size": i32([1, 2])},
    [1, 2],
    "begin",
    {"past": [2, 0], "huge": [0, MOST], "negative": [-3, 0], "least": [LEAST, 0], "end": [0, 3], "far": [1_000_000, 0]},
    ("fp32", [1, 2]),
    consts=("size",),
)
family(
    "slice_by_size",
    {"x": X, "begin": i32([0, 0]), "size": i32([1, 2])},
    [1, 2],
    "size",
    {"past": [3, 2], "huge": [MOST, MOST], "below": [-2, 1], "least": [LEAST, 1]},
    ("fp32", [None, None]),
    consts=("begin",),
    kind="slice_by_size-size",
)
UPDATE = {"x": X, "update": ("fp32", [1, 2], None), "begin": i32([0, 0]), "end": i32([1, 2])}
hostile("slice_update", "good", UPDATE, {}, ("fp32", [2, 4]), must_fail=False, ios=18)
for label, begin, end in (
    ("begin-past", [2, 0], [3, 2]),
    ("begin-huge", [MOST, 0], [MOST, 2]),
    ("begin-negative", [-1_000_000, 0], [-999_999, 2]),
    ("begin-least", [LEAST, LEAST], [LEAST + 1, LEAST + 2]),
    ("end-huge", [0, 0], [MOST, MOST]),
    ("end-least", [0, 0], [LEAST, LEAST]),
    ("reversed", [1, 2], [0, 0]),
    ("too-large", [0, 0], [2, 4]),
    ("empty", [0, 0], [0, 0]),
    ("far", [1_000_000, 0], [1_000_001, 2]),
):
    hostile("slice_update", label, UPDATE, {"begin": begin, "end": end}, ("fp32", [2, 4]), ios=18)
INDEX = {"x": X, "begin": i32([0, 0]), "end": i32([1, 2]), "stride": i32([1, 1])}
hostile("slice_by_index", "good", INDEX, {}, ("fp32", [None, None]), must_fail=False, consts=("stride",))
for label, values in (("stride-zero", {"stride": [0, 1]}), ("stride-negative-zero", {"stride": [1, 0]})):
    hostile("slice_by_index", label, INDEX, values, ("fp32", [None, None]), consts=("stride",))
for label, values in (
    ("begin-huge", {"begin": [MOST, MOST]}),
    ("end-huge", {"end": [MOST, MOST]}),
    ("begin-least", {"begin": [LEAST, LEAST]}),
    ("end-least", {"end": [LEAST, LEAST]}),
    ("stride-huge", {"stride": [MOST, MOST]}),
    ("stride-least", {"stride": [LEAST, LEAST]}),
    ("all-least", {"begin": [LEAST, LEAST], "end": [MOST, MOST], "stride": [LEAST, LEAST]}),
):
    hostile("slice_by_index", label, INDEX, values, ("fp32", [None, None]), must_fail=None, consts=("stride",))
GATHER = {"x": X, "indices": i32([0, 1, 1]), "axis": scalar(1)}
BAD_INDICES = {
    "past": [4, 0, 0],
    "huge": [MOST, 0, 0],
    "negative": [-5, 0, 0],
    "least": [LEAST, 0, 0],
    "far": [0, 0, 10_000_000],
}
family("gather", GATHER, [3, 0, -1], "indices", BAD_INDICES, ("fp32", [2, 3]), consts=("axis",), ios=16)
family(
    "gather",
    {**GATHER, "validate_indices": ("bool", [], [True])},
    [3, 0, 1],
    "indices",
    BAD_INDICES,
    ("fp32", [2, 3]),
    consts=("axis",),
    kind="gather-validated",
)
for label, values in BAD_INDICES.items():
    hostile(
        "gather",
        label,
        {**GATHER, "validate_indices": ("bool", [], [False])},
        {"indices": values},
        ("fp32", [2, 3]),
        must_fail=None,
        consts=("axis",),
        kind="gather-unvalidated",
    )
family(
    "gather_along_axis",
    {"x": X, "indices": i32([0] * 6, [2, 3]), "axis": scalar(1), "validate_indices": ("bool", [], [True])},
    [3, 0, 1, 2, 2, 2],
    "indices",
    {"past": [4, 0, 0, 0, 0, 0], "least": [0, 0, 0, 0, 0, LEAST], "far": [10_000_000] * 6, "negative": [-5] * 6},
    ("fp32", [2, 3]),
    consts=("axis",),
)
family(
    "gather_nd",
    {"x": X, "indices": i32([0, 0, 1, 3], [2, 2]), "batch_dims": scalar(0), "validate_indices": ("bool", [], [True])},
    [1, 3, 0, 0],
    "indices",
    {
        "past": [2, 0, 0, 0],
        "past-last": [1, 4, 0, 0],
        "least": [LEAST, LEAST, 0, 0],
        "far": [0, 0, 1_000_000, 1_000_000],
        "huge": [MOST] * 4,
    },
    ("fp32", [2]),
    consts=("batch_dims",),
)
MODE = ("string", [], ["update"])
for mode in ("update", "add", "mul", "max"):
    SCATTER = {
        "data": X,
        "indices": i32([0, 1]),
        "updates": ("fp32", [2, 2], None),
        "axis": scalar(1),
        "mode": ("string", [], [mode]),
        "validate_indices": ("bool", [], [True]),
    }
    family(
        "scatter",
        SCATTER,
        [3, 0],
        "indices",
        {"past": [4, 0], "least": [LEAST, 0], "far": [10_000_000, 0], "negative": [-5, 0]},
        ("fp32", [2, 4]),
        consts=("axis",),
        kind=f"scatter-{mode}",
    )
family(
    "scatter_along_axis",
    {
        "data": X,
        "indices": i32([0] * 4, [2, 2]),
        "updates": ("fp32", [2, 2], None),
        "axis": scalar(1),
        "mode": MODE,
        "validate_indices": ("bool", [], [True]),
    },
    [3, 0, 1, 2],
    "indices",
    {"past": [4, 0, 0, 0], "least": [0, 0, 0, LEAST], "far": [10_000_000] * 4, "negative": [-5] * 4},
    ("fp32", [2, 4]),
    consts=("axis",),
)
family(
    "scatter_nd",
    {
        "data": X,
        "indices": i32([0, 0, 1, 3], [2, 2]),
        "updates": ("fp32", [2], None),
        "mode": MODE,
        "validate_indices": ("bool", [], [True]),
    },
    [1, 3, 0, 0],
    "indices",
    {
        "past": [2, 0, 0, 0],
        "least": [LEAST, LEAST, 0, 0],
        "far": [0, 0, 1_000_000, 1_000_000],
        "negative": [-3, 0, 0, 0],
    },
    ("fp32", [2, 4]),
)
for op, operands in (
    (
        "scatter",
        {"data": X, "indices": i32([9, -9]), "updates": ("fp32", [2, 2], None), "axis": scalar(1), "mode": MODE},
    ),
    (
        "scatter_nd",
        {"data": X, "indices": i32([2, 4, LEAST, MOST], [2, 2]), "updates": ("fp32", [2], None), "mode": MODE},
    ),
):
    hostile(
        op,
        "unvalidated",
        {**operands, "validate_indices": ("bool", [], [False])},
        {},
        ("fp32", [2, 4]),
        must_fail=None,
        consts=("axis",),
    )

CROP = {
    "x": ("fp32", [2, 1, 4, 4], None),
    "roi": ("fp32", [1, 1, 5, 1, 1], [0, 0, 0, 1, 1]),
    "target_height": scalar(2),
    "target_width": scalar(2),
    "normalized_coordinates": ("bool", [], [False]),
    "spatial_scale": scalar(1.0, "fp32"),
    "box_coordinate_mode": ("string", [], ["CORNERS_HEIGHT_FIRST"]),
    "sampling_mode": ("string", [], ["DEFAULT"]),
}
FIXED = ("target_height", "target_width", "spatial_scale")
hostile("crop_resize", "good", CROP, {}, ("fp32", [1, 1, 1, 2, 2]), must_fail=False, ios=16, consts=FIXED)
for label, roi in (
    ("past", [2, 0, 0, 1, 1]),
    ("huge", [1e30, 0, 0, 1, 1]),
    ("negative", [-1, 0, 0, 1, 1]),
    ("nan", [float("nan"), 0, 0, 1, 1]),
    ("infinite", [float("inf"), 0, 0, 1, 1]),
    ("far", [1e6, 0, 0, 1, 1]),
):
    hostile("crop_resize", f"index-{label}", CROP, {"roi": roi}, ("fp32", [1, 1, 1, 2, 2]), ios=16, consts=FIXED)
for label, box in (
    ("nan", [float("nan")] * 4),
    ("infinite", [float("-inf"), 0, float("inf"), 1]),
    ("huge", [1e38, -1e38, 1e38, 1e38]),
    ("reversed", [3, 3, 0, 0]),
    ("outside", [-50, -50, 90, 90]),
):
    hostile(
        "crop_resize",
        f"box-{label}",
        CROP,
        {"roi": [0, *box]},
        ("fp32", [1, 1, 1, 2, 2]),
        must_fail=None,
        ios=16,
        consts=FIXED,
    )
CROP17 = {key: value for key, value in CROP.items() if key != "roi"} | {
    "boxes": ("fp32", [2, 4], [0, 0, 1, 1] * 2),
    "box_indices": i32([0, 1]),
    "pad_value": scalar(0.0, "fp32"),
}
family(
    "crop_resize",
    CROP17,
    [1, 0],
    "box_indices",
    {"past": [2, 0], "huge": [MOST, 0], "negative": [-1, 0], "least": [LEAST, 0], "far": [1_000_000, 0]},
    ("fp32", [2, 1, 2, 2]),
    consts=(*FIXED, "pad_value"),
    kind="crop_resize-boxes",
)
