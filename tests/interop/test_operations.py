# SPDX-License-Identifier: Apache-2.0
"""Every operation that coremltools knows, with every dtype it may have: `anemone predict` on programs that coremltools
built gives what numpy gives. The cases are those of tests/ops; what has no cases is named here with the test or reason."""

import collections
import pathlib
import tempfile

import coremltools as ct
import numpy as np
import pytest
from anemone import AnemoneError
from conversion import TARGETS
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil import Function, Program, get_new_symbol, types
from coremltools.converters.mil.mil.ops.registry import SSAOpRegistry
from op_programs import BATCH, Batch, cases_of, core_class, dtypes_of, value_of

# All cases run in one process, by a fixture.
pytestmark = pytest.mark.xdist_group("operations")

# Operations that are parts of a program and compute nothing.
PARTS = {"const", "_const_symbolic"}
# Operations whose values are no tensors, or that are nothing without a program around them.
ELSEWHERE = {
    "classify": "test_predict.py::test_pictures_and_classes",
    "read_state": "test_predict.py::test_states_are_carried_and_start_as_zeros",
    "write_state": "test_predict.py::test_states_are_carried_and_start_as_zeros",  # coreml_update_state in coremltools
    "cond": "test_operations.py::test_branches_and_loops",
    "while_loop": "test_operations.py::test_branches_and_loops",
    "make_list": "test_operations.py::test_lists",
    "list_write": "test_operations.py::test_lists",
    "list_read": "test_operations.py::test_lists",
    "list_length": "test_operations.py::test_lists",
    "list_gather": "test_operations.py::test_lists",
    "list_scatter": "test_operations.py::test_lists",
    # Here with 8-bit data; coremltools has dtypes below a byte in constants alone.
    "constexpr_blockwise_shift_scale": "test_compressed_weights.py::test_compressed_weights",
    "constexpr_lut_to_dense": "test_compressed_weights.py::test_palettes_of_vectors",
    "constexpr_lut_to_sparse": "test_compressed_weights.py::test_compressed_weights",
    "constexpr_sparse_blockwise_shift_scale": "test_compressed_weights.py::test_compressed_weights",
    "constexpr_sparse_to_dense": "test_compressed_weights.py::test_compressed_weights",
}
NO_CASES = {"classify", "read_state", "write_state", "cond", "while_loop"} | {op for op in ELSEWHERE if "list" in op}
# Operations that end with exit 4. Only experiments ever wrote it, and its type rule in coremltools contradicts its
# documentation.
UNSUPPORTED = {"conv_quantized"}
# Operations of which coremltools, which has no such kernels but folds constants, computes something else in some cases.
OWN_WAY = {
    "argsort": "another order of equal elements", "topk": "another order of equal elements, negates uint8, leaves one out for k = -1",
    "cast": "leaves what is out of range to numpy", "exp2": "leaves what is out of range to numpy",
    "range_1d": "overflows at the ends of int32", "real_div": "divides int32 by 0",
    "concat": "does not interleave", "scatter_along_axis": "knows the mode update alone",
    "gather": "forgets the batch for a negative axis", "slice_by_index": "takes begin for what begin_mask hides",
    "reduce_log_sum_exp": "overflows", "cumsum": "adds up in fp16", "layer_norm": "adds up in fp16", "scaled_dot_product_attention": "divides 0 by 0",
}

# What an older opset takes, too, for something else.
ONLY_SINCE_17 = {"reshape": {"keeps the dimension counted from the right from iOS17 on", "takes 1 for a 0 that x has no dimension for"}}

OPERATIONS = sorted(SSAOpRegistry.core_ops)


@pytest.fixture(scope="module")
def anemone(anemone):
    """Operations are tested here, not what the planner makes of them: test_torch_operations.py runs the fast paths."""
    return anemone.reference()


@pytest.fixture(scope="module")
def ran(anemone):
    """The cases of each operation after they ran."""
    by_op = {op: cases_of(op) for op in OPERATIONS}
    by_target = collections.defaultdict(list)
    for cases in by_op.values():
        for case in cases:
            by_target[case.target].append(case)
    with tempfile.TemporaryDirectory() as folder:
        for target, cases in by_target.items():
            for i in range(0, len(cases), BATCH):
                Batch(target, cases[i:i + BATCH]).run(anemone, pathlib.Path(folder))
    return by_op


@pytest.mark.parametrize("op", [op for op in OPERATIONS if op not in PARTS | UNSUPPORTED | NO_CASES])
def test_operation(ran, op):
    refused = [case for case in ran[op] if (case.error or "").startswith("coremltools: ")]
    wrong = {case.title: case.error for case in ran[op] if case.error is not None and case not in refused}
    assert not wrong
    if op in ELSEWHERE:
        return
    done = [case for case in ran[op] if case.error is None]
    assert done, {case.title: case.error for case in refused}
    seen = set().union(*(case.covered() for case in done))
    wanted = {(parameter, dtype) for parameter, dtypes in dtypes_of(op).items() for dtype in dtypes}
    assert wanted <= seen, f"no case with {sorted(wanted - seen)}"


def samples_for(op, target):
    """A few cases of newer opsets, of different dtypes, for one that has the operation, too."""
    out = {}
    for case in cases_of(op):
        if case.target > target and case.title not in ONLY_SINCE_17.get(op, ()):
            out.setdefault(frozenset(case.covered()), case)
    for case in out.values():
        case.target = target
    return list(out.values())[:8]


@pytest.mark.parametrize("target", [15, 16, 17])
def test_older_opsets(anemone, tmp_path, target):
    """What coremltools builds for an older opset, too, gives the same there, with the defaults that it fills in."""
    cases = [case for op in OPERATIONS if op not in PARTS | UNSUPPORTED and core_class(op, target) is not None
             for case in samples_for(op, target)]
    for i in range(0, len(cases), BATCH):
        Batch(target, cases[i:i + BATCH]).run(anemone, tmp_path)
    refused = [case for case in cases if (case.error or "").startswith("coremltools: ")]
    wrong = {f"{case.op}: {case.title}": case.error for case in cases if case.error is not None and case not in refused}
    assert not wrong and len(refused) < len(cases) / 2


@pytest.mark.parametrize("op", [op for op in OPERATIONS if op not in PARTS | UNSUPPORTED | NO_CASES])
def test_values_that_coremltools_computes(op):
    """Our expected values are those of coremltools, where it has any."""
    different, same = {}, 0
    for case in cases_of(op):
        values = value_of(case)
        if values is None:
            continue
        if any(output.dtype == "fp16" for output in case.outputs):
            case.tolerance = {"abs": 4e-3, "rel": 4e-3}  # it computes in fp16, and rounds after every step
        wrong = case.check(values)
        if wrong is None:
            same += 1
        else:
            different[case.title] = wrong
    if op in OWN_WAY:
        assert different and same
    else:
        assert not different


def test_what_has_no_cases_is_tested_elsewhere():
    for op, place in ELSEWHERE.items():
        file, name = place.split("::")
        assert f"def {name}(" in (pathlib.Path(__file__).parent / file).read_text(), op
    assert NO_CASES | UNSUPPORTED <= set(OPERATIONS) | {"write_state"}


def save(build, inputs, folder, target=18):
    """A program of `build`, which gets the inputs by name and gives a list, with outputs y0, y1, ..."""
    names = {np.float32: types.fp32, np.int32: types.int32}
    placeholders = {k: mb.placeholder(shape=v.shape, dtype=names[v.dtype.type]) for k, v in inputs.items()}
    with Function(placeholders, opset_version=TARGETS[target]) as function:
        made = build(**function.inputs)
        function.set_outputs([mb.identity(x=var, name=f"y{i}") for i, var in enumerate(made)])
    program = Program()
    program.add_function("main", function)
    model = ct.convert(program, convert_to="mlprogram", minimum_deployment_target=TARGETS[target], skip_model_load=True,
                       compute_precision=ct.precision.FLOAT32, pass_pipeline=ct.PassPipeline.EMPTY)
    path = folder / "program.mlpackage"
    model.save(str(path))
    return path


@pytest.mark.parametrize("target", TARGETS)
def test_branches_and_loops(anemone, tmp_path, target):
    def build(x, count):
        is_large = mb.greater(x=mb.reduce_sum(x=x, axes=[0, 1], keep_dims=False), y=np.float32(0))
        branch = mb.cond(pred=is_large, _true_fn=lambda: mb.mul(x=x, y=np.float32(2)), _false_fn=lambda: mb.sub(x=x, y=np.float32(1)))
        i, total = mb.while_loop(
            _cond=lambda i, total: mb.less(x=i, y=mb.squeeze(x=count, axes=[0])),
            _body=lambda i, total: (mb.add(x=i, y=1), mb.add(x=total, y=mb.mul(x=x, y=mb.cast(x=i, dtype="fp32")))),
            loop_vars=(mb.squeeze(x=mb.sub(x=count, y=count), axes=[0]), mb.mul(x=x, y=np.float32(0))))
        return [branch, i, total]

    for x, count in ((np.array([[1, 2], [3, -4]], np.float32), 5), (np.array([[-1, -2], [3, -4]], np.float32), 0)):
        inputs = {"x": x, "count": np.array([count], np.int32)}
        outputs = anemone.predict(save(build, inputs, tmp_path, target), inputs, tmp_path)
        np.testing.assert_array_equal(outputs["y0"], x * 2 if x.sum() > 0 else x - 1)
        assert outputs["y1"] == [count]
        np.testing.assert_array_equal(outputs["y2"], x * sum(range(count)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["fp32", "fp16", "int32", "bool"])
def test_lists(anemone, tmp_path, dtype, target):
    def build(x):
        cast = mb.cast(x=x, dtype=dtype)
        ls = mb.make_list(init_length=2, dynamic_length=True, elem_shape=(3,), dtype=dtype)
        ls = mb.list_scatter(ls=ls, indices=[2, 0, 1], value=cast)
        ls = mb.list_write(ls=ls, index=3, value=mb.squeeze(x=mb.slice_by_index(x=cast, begin=[1, 0], end=[2, 3]), axes=[0]))
        made = [mb.list_read(ls=ls, index=1), mb.list_gather(ls=ls, indices=[3, 0, 2])]
        return [mb.cast(x=var, dtype="fp32") for var in made] + [mb.list_length(ls=ls)]

    x = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 1]], np.float32)
    outputs = anemone.predict(save(build, {"x": x}, tmp_path, target), {"x": x}, tmp_path)
    np.testing.assert_array_equal(outputs["y0"], x[2])
    np.testing.assert_array_equal(outputs["y1"], x[[1, 1, 0]])
    assert outputs["y2"] == [4]


def test_random_numbers_follow_their_distributions(anemone, tmp_path):
    count = 20000

    def build(x):
        shape = [count]
        logits = np.log(np.array([[0.1, 0.2, 0.7]], np.float32))
        return [mb.random_uniform(shape=shape, low=-1.0, high=3.0, seed=5), mb.random_normal(shape=shape, mean=2.0, stddev=0.5, seed=5),
                mb.random_bernoulli(shape=shape, prob=0.3, seed=5), mb.random_categorical(x=logits, size=count, seed=5),
                mb.random_uniform(shape=shape, seed=-1), mb.random_normal(shape=shape), mb.identity(x=x)]

    inputs = {"x": np.zeros(1, np.float32)}
    path = save(build, inputs, tmp_path)
    first, second = (anemone.predict(path, inputs, tmp_path) for _ in range(2))
    for name in ("y0", "y1", "y2", "y3"):
        np.testing.assert_array_equal(first[name], second[name])
    for name in ("y4", "y5"):
        assert (first[name] != second[name]).mean() > 0.99
    uniform, normal, bernoulli, categorical = (first[f"y{i}"] for i in range(4))
    # Five standard errors: a wrong generator is far outside, a right one is inside for all but a few seeds in a million.
    room = 5 / np.sqrt(count)
    assert uniform.min() >= -1 and uniform.max() < 3
    assert abs(uniform.mean() - 1) < room * 4 / np.sqrt(12) and abs(uniform.var() - 16 / 12) < 2 * room
    assert abs(normal.mean() - 2) < room * 0.5 and abs(normal.std() - 0.5) < room * 0.5
    assert abs((np.abs(normal - 2) < 0.5).mean() - 0.6827) < room
    assert set(np.unique(bernoulli)) == {0, 1} and abs(bernoulli.mean() - 0.3) < room * 0.5
    for k, share in enumerate((0.1, 0.2, 0.7)):
        assert abs((categorical == k).mean() - share) < room * 0.5


def test_an_operation_outside_the_set_is_named_before_anything_runs(anemone, tmp_path):
    def build(x):
        weight = np.ones((2, 3, 1, 1), np.uint8)
        scale = np.ones(2, np.float32)
        return [mb.conv_quantized(x=x, weight=weight, quantization_type="linear", quant_scale=scale, quant_bias=scale)]

    x = np.zeros((1, 3, 2, 2), np.float32)
    with pytest.raises(AnemoneError, match=r"exit 4: .*conv_quantized"):
        anemone.predict(save(build, {"x": x}, tmp_path), {"x": x}, tmp_path)


@pytest.mark.parametrize("op", ["fill", "reshape"])
def test_a_tensor_of_unknown_rank_is_named_before_anything_runs(anemone, tmp_path, op):
    def build(x, n):
        made = mb.fill(shape=n, value=np.float32(2), name="wide") if op == "fill" else mb.reshape(x=x, shape=n, name="wide")
        return [mb.reduce_sum(x=mb.reshape(x=made, shape=[-1]), axes=[0], keep_dims=True)]

    x, n = np.ones(4, np.float32), np.array([2, 2], np.int32)
    with Function({"x": mb.placeholder(shape=(4,)), "n": mb.placeholder(shape=(get_new_symbol(),), dtype=types.int32)}, opset_version=TARGETS[17]) as function:
        function.set_outputs([mb.identity(x=var, name=f"y{i}") for i, var in enumerate(build(**function.inputs))])
    program = Program()
    program.add_function("main", function)
    length = ct.TensorType("n", ct.Shape((ct.RangeDim(1, 5, default=2),)), dtype=np.int32)
    model = ct.convert(program, convert_to="mlprogram", minimum_deployment_target=TARGETS[17], skip_model_load=True, inputs=[length],
                       compute_precision=ct.precision.FLOAT32, pass_pipeline=ct.PassPipeline.EMPTY)
    path = tmp_path / "program.mlpackage"
    model.save(str(path))
    with pytest.raises(AnemoneError, match=rf"exit 4: .*expected a fixed number of dimensions.*{op} \"wide\""):
        anemone.predict(path, {"x": x, "n": n}, tmp_path)
