# SPDX-License-Identifier: Apache-2.0
"""coremltools accepts every form of package that `anemone compile` writes, and reads in it what the checkpoint says."""

import json
import shutil

import coremltools as ct
import numpy as np
import pytest
from checkpoints import COMMON, FORMS, write_checkpoint
from package_check import check_package, load_program

# Operations of the language model packages that others publish: what Core ML's converters and ANE runtimes see
# most. What we write stays inside, so that no rarely used operation decides whether a model loads.
COMMON_OPERATIONS = set("""
    const constexpr_blockwise_shift_scale constexpr_lut_to_dense constexpr_affine_dequantize constexpr_sparse_to_dense
    constexpr_lut_to_sparse constexpr_sparse_blockwise_shift_scale constexpr_cast
    linear matmul conv einsum
    layer_norm reduce_mean reduce_sum reduce_sum_square rsqrt softmax scaled_dot_product_attention l2_norm band_part
    add sub mul real_div pow sqrt square exp maximum minimum clip cast select greater greater_equal less less_equal
    equal not_equal logical_and logical_or logical_not sigmoid silu gelu tanh relu softplus cos sin abs floor floor_div
    mod
    reshape transpose expand_dims squeeze concat split stack slice_by_index slice_by_size slice_update gather
    gather_along_axis gather_nd scatter scatter_nd scatter_along_axis tile fill fill_like range_1d shape pad identity
    one_hot cumsum
    read_state write_state
    topk reduce_argmax reduce_max argsort
""".split())
# Operations beyond those: the norm divides by the largest element, so that its squares fit into fp16, and delta nets
# compute softplus without the operation.
OTHER_OPERATIONS = {"inverse", "log"}

PRECISIONS = ("fp16", "fp32")
SCHEMES = ("none", "int8", "int8-channel", "int8-block", "int4-block", "lut4", "lut6", "lut8", "mixed")
GRAPH_FORMS = ("portable", "blend-states", "slice-states")  # the default first
STATES = ["--form", "blend-states"]
PACKED = ["--form", "slice-states"]
# Everything else that `anemone compile --help` offers, on one form of model.
OPTIONS = {
    "one_package": ["--shards", "1"],
    "two_packages": ["--shards", "2"],
    "one_layer_each": ["--shards", "3"],
    "given_ranges": ["--shards", "0:1,1:3"],
    "head_inside": ["--plan", "one-package"],
    "head_inside_packed_states_and_a_tier": [*PACKED, "--plan", "one-package", "--context", "16,64", "--prefill", "8"],
    "decode_only": ["--prefill", "1"],
    "three_functions": ["--draft-width", "4"],
    "prefill_of_two": ["--prefill", "2"],
    "prefill_as_long_as_the_context": ["--context", "16", "--prefill", "16"],
    "prefill_longer_than_the_context": ["--context", "16", "--prefill", "64"],
    "context_of_one": ["--context", "1"],
    "context_of_the_model": ["--context", "64"],
    "context_beyond_the_model": ["--context", "4096"],
    "float_head": ["--no-quant-head"],
    "own_schemes": ["--quant", "int8", "--quant-for", "qkv=int8-block", "--quant-for", "down=none", "--quant-for", "head=int4-block"],
    "uniform_palettes": ["--quant", "lut4", "--lut-mode", "uniform", "--group-size", "0"],
    "one_tier": ["--context", "16,64", "--prefill", "8"],
    "three_tiers": ["--context", "7,16,32,64", "--prefill", "8"],
    "range_dim": [*STATES, "--range-dim", "--prefill", "8"],
    "range_dim_with_a_tier": [*STATES, "--range-dim", "--prefill", "8", "--context", "16,64"],
    "tokens_in_height": ["--layout", "height"],
    "tokens_in_width": [*STATES, "--layout", "width"],
    "states": STATES,
    "packed_states": PACKED,
    "packed_states_and_a_tier": [*PACKED, "--context", "16,64", "--prefill", "8"],
    "states_and_a_tier": [*STATES, "--context", "16,64", "--prefill", "8"],
    "growing_caches": ["--kv-form", "growing"],
    "argmax": ["--argmax"],
    # What a file of --form says.
    "products_apart": ["--form", {"fusing": "apart"}],
    "layer_norms": ["--form", {"norm": "layer-norm"}],
    "square_mlps": ["--form", {"mlp": "square"}],
    "no_embed": ["--form", {"embed": "none"}],
    "all_at_once": [*STATES, "--argmax", "--layout", "width", "--range-dim", "--prefill", "8", "--context", "16,64"],
    "packages_by_size": ["--shards", "1MB"],
    "small_blocks": ["--quant", "int4-block", "--block-size", "8"],
    "no_threshold": ["--quant", "int8-channel", "--quant-threshold", "0"],
    "one_thread": ["--jobs", "1"],
}

seen_operations = set()


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    made = {}

    def get(form, dtype=np.float32):
        if (form, dtype) not in made:
            folder = tmp_path_factory.mktemp("checkpoint") / form
            made[form, dtype] = folder, write_checkpoint(folder, form, dtype)
        return made[form, dtype]

    return get


def compile_model(anemone, checkpoint, tmp_path, *options):
    artifact = tmp_path / "model.anemone"
    form = tmp_path / "form.json"
    form.write_text(json.dumps(next((each for each in options if isinstance(each, dict)), {})))
    anemone("compile", checkpoint, "-o", artifact, *(form if isinstance(each, dict) else each for each in options))
    return artifact, json.loads((artifact / "manifest.json").read_text())


def check_artifact(anemone, artifact, manifest, precision, scheme, options=()):
    packages = sorted(artifact.glob("*.mlpackage"))
    embed = [manifest["embed"]] if "embed" in manifest else []
    assert {p.name for p in packages} == {s["package"] for s in manifest["shards"] + manifest["heads"] + embed}
    assert bool(embed) == (manifest.get("form", {}).get("embed") == "package")
    used = set()
    for package in packages:
        spec, operations = check_package(package)
        assert spec.specificationVersion == {"ios16": 7, "ios17": 8, "ios18": 9}[manifest["target"]]
        # Heads attend to no context: they have no functions for tiers.
        is_head = package.name.startswith(("head", "embed"))
        names = [f["name"] for f in manifest["functions"] if not (is_head and "context" in f)]
        assert sorted(spec.mlProgram.functions) == sorted(names)
        assert spec.description.defaultFunctionName == ("decode" if manifest["target"] == "ios18" else "")
        used |= operations
        assert anemone.inspect(package)["kind"] == "mlpackage"
    has_states = precision == "fp16" and (STATES[1] in options or PACKED[1] in options)
    assert ("read_state" in used) == ("write_state" in used) == has_states
    assert ("constexpr_lut_to_dense" in used) == scheme.startswith("lut")
    scaled = "constexpr_blockwise_shift_scale" if manifest["target"] == "ios18" else "constexpr_affine_dequantize"
    assert (scaled in used) == (scheme != "none" and not scheme.startswith("lut"))
    seen_operations.update(used)


@pytest.mark.combinations
@pytest.mark.parametrize("form,graph,scheme", [(form, *choice) for form in FORMS for choice in zip(GRAPH_FORMS, ("lut6", "int8", "none"))])
def test_each_form_of_model_loads_in_each_form_of_graph(anemone, checkpoint, tmp_path, form, graph, scheme):
    folder, _ = checkpoint(form)
    options = ["--form", graph, "--quant", scheme]
    artifact, manifest = compile_model(anemone, folder, tmp_path, "--context", "16", "--prefill", "4", *options)
    check_artifact(anemone, artifact, manifest, "fp16", scheme, options)
    assert manifest["layers"] == (COMMON | FORMS[form])["num_hidden_layers"]
    outputs = {"portable": 5, "blend-states": 2, "slice-states": 5}[graph]
    assert len(manifest["heads"]) == (outputs if form == "llama_wide_vocabulary" else 1)


@pytest.mark.combinations
@pytest.mark.parametrize("form,target,scheme", [(form, *choice) for form in FORMS
                                                for choice in (("ios16", "int8-channel"), ("ios17", "lut4"))])
def test_packages_for_earlier_systems_load(anemone, checkpoint, tmp_path, form, target, scheme):
    folder, _ = checkpoint(form)
    options = ["--target", target, "--quant", scheme, "--context", "16"]
    artifact, manifest = compile_model(anemone, folder, tmp_path, *options)
    assert manifest["target"] == target
    check_artifact(anemone, artifact, manifest, "fp16", scheme)
    (tmp_path / "flexible").mkdir()
    artifact, manifest = compile_model(anemone, folder, tmp_path / "flexible", *options, "--kv-form", "blend", "--range-dim", "--prefill", "4")
    check_artifact(anemone, artifact, manifest, "fp16", scheme)


# Every pair on one form, and the two that the default (fp16, int8) differs from most on the other architectures.
PAIRS = [("llama_biases", precision, scheme) for precision in PRECISIONS for scheme in SCHEMES] + [
    (form, precision, scheme) for form in ("mistral", "qwen2_sliding", "qwen3_rope_yarn", "smollm3_sliding", "phi3", "hunyuan_v1_dense",
                                           "gemma3", "gemma4", "zaya", "qwen3_next", "qwen3_5", "lfm2", "granite", "olmo2",
                                           "qwen3_moe", "lfm2_moe", "gpt_oss")
    for precision, scheme in (("fp32", "none"), ("fp16", "int8-channel"))]


@pytest.mark.combinations
@pytest.mark.parametrize("form,precision,scheme", PAIRS)
def test_each_precision_and_scheme_loads(anemone, checkpoint, tmp_path, form, precision, scheme):
    folder, _ = checkpoint(form)
    artifact, manifest = compile_model(anemone, folder, tmp_path, "--precision", precision, "--quant", scheme,
                                       "--context", "12", "--prefill", "4", "--shards", "2")
    check_artifact(anemone, artifact, manifest, precision, scheme)


@pytest.mark.combinations
# Every part of a layer with experts in a package of its own: what crosses between them is not the hidden state alone.
@pytest.mark.parametrize("form,precision,options", [
    (form, precision, options) for form in ("qwen3_moe", "lfm2_moe", "zaya", "qwen3_next", "gpt_oss")
    for precision, options in (("fp16", []), ("fp32", STATES), ("fp16", [*STATES, "--range-dim"]))])
def test_parts_of_layers_load(anemone, checkpoint, tmp_path, form, precision, options):
    folder, _ = checkpoint(form)
    artifact, manifest = compile_model(anemone, folder, tmp_path, "--precision", precision, "--context", "12",
                                       "--prefill", "4", "--shards", "1KB", *options)
    assert any("part_end" in shard for shard in manifest["shards"])
    check_artifact(anemone, artifact, manifest, precision, "lut6", options)


@pytest.mark.combinations
@pytest.mark.parametrize("form,precision", [(form, precision) for form in ("qwen3_moe", "lfm2_moe", "zaya", "qwen3_next", "gpt_oss")
                                            for precision in ("fp16", "fp32")])
def test_packs_of_experts_load(anemone, checkpoint, tmp_path, form, precision):
    folder, _ = checkpoint(form)
    artifact, manifest = compile_model(anemone, folder, tmp_path, "--precision", precision, "--context", "12", "--prefill", "4",
                                       "--experts", "packs")
    for shard in manifest["shards"]:
        for pack in shard.get("experts", {"packs": []})["packs"]:
            spec, operations = check_package(artifact / pack["package"])
            assert sorted(spec.mlProgram.functions) == sorted(
                f"expert_{e}_{width}" for e in range(pack["begin"], pack["end"]) for width in shard["experts"]["widths"])
            seen_operations.update(operations)
        check_package(artifact / shard["package"])
    anemone("run", artifact, "--prompt-ids", "1 2 3 4 5", "--max-new", "3", "--greedy", "--ignore-eos", "--json")


# Options that change the shapes of caches or the packages they are in. Caches of fp32 packages are inputs and outputs.
IN_FP32 = ["two_packages", "decode_only", "prefill_of_two", "prefill_as_long_as_the_context", "one_tier",
           "three_tiers", "range_dim", "range_dim_with_a_tier", "tokens_in_width", "states", "states_and_a_tier",
           "packed_states_and_a_tier", "growing_caches", "argmax", "all_at_once", "products_apart", "layer_norms"]
FORM_OPTIONS = ["one_tier", "states_and_a_tier", "packed_states_and_a_tier", "three_tiers", "range_dim", "range_dim_with_a_tier",
                "tokens_in_width", "argmax", "all_at_once", "three_functions", "products_apart", "layer_norms"]


@pytest.mark.combinations
@pytest.mark.parametrize("options,precision", [(o, "fp16") for o in OPTIONS] + [(o, "fp32") for o in IN_FP32])
def test_each_option_loads(anemone, checkpoint, tmp_path, precision, options):
    folder, _ = checkpoint("qwen3")
    artifact, manifest = compile_model(anemone, folder, tmp_path, "--precision", precision, *OPTIONS[options])
    scheme = {"uniform_palettes": "lut4", "small_blocks": "int4-block", "no_threshold": "int8-channel", "own_schemes": "int8"}
    check_artifact(anemone, artifact, manifest, precision, scheme.get(options, "lut6"), OPTIONS[options])
    expected = {"one_package": 1, "two_packages": 2, "given_ranges": 2, "one_layer_each": 3}.get(options, 1)
    assert len(manifest["shards"]) == expected
    # The tier of 7 tokens has no room for a prefill of 8.
    functions = {"decode_only": 1, "context_of_one": 1, "three_functions": 3, "one_tier": 4, "states_and_a_tier": 4,
                 "packed_states_and_a_tier": 4, "head_inside_packed_states_and_a_tier": 4, "three_tiers": 7, "range_dim": 1,
                 "range_dim_with_a_tier": 2, "all_at_once": 2}.get(options, 2)
    assert len(manifest["functions"]) == functions


@pytest.mark.combinations
@pytest.mark.parametrize("options", FORM_OPTIONS)
@pytest.mark.parametrize("form", ["qwen2", "llama_rope_llama3", "llama_untied"])
@pytest.mark.parametrize("precision,scheme", [("fp16", "none"), ("fp16", "lut6"), ("fp16", "int4-block")])
def test_each_form_of_artifact_loads(anemone, checkpoint, tmp_path, form, options, precision, scheme):
    folder, _ = checkpoint(form)
    artifact, manifest = compile_model(anemone, folder, tmp_path, "--precision", precision, "--quant", scheme,
                                       *OPTIONS[options])
    check_artifact(anemone, artifact, manifest, precision, scheme, OPTIONS[options])
    shared = manifest["embedding"]["parts"][0]["file"] != "embedding.bin"
    stored = manifest.get("form", {}).get("embedding") == "stored"
    assert shared == ((scheme == "none" or stored) and (COMMON | FORMS[form]).get("tie_word_embeddings", False))
    for prompt in ([3], list(range(1, 31))):
        anemone("run", artifact, "--prompt-ids", " ".join(map(str, prompt)), "--max-new", "3", "--greedy",
                "--ignore-eos", "--json")


@pytest.mark.combinations
@pytest.mark.parametrize("precision,scheme,dtype", [(p, s, np.float32) for p in PRECISIONS for s in SCHEMES] + [
    ("fp16", "none", np.float16)])
def test_coremltools_reads_the_weights_of_the_checkpoint(anemone, checkpoint, tmp_path, precision, scheme, dtype):
    folder, tensors = checkpoint("qwen2", dtype)
    artifact, _ = compile_model(anemone, folder, tmp_path, "--precision", precision, "--quant", scheme)
    stored = {}
    for package in artifact.glob("*.mlpackage"):
        _, program = load_program(package)
        for function in program.functions.values():
            for op in function.operations:
                if op.op_type == "conv":
                    weight = op.weight.op
                    value = weight.val.val if op.weight.val is not None else weight.materialized_val_inference()
                    previous = stored.setdefault(op.weight.name, (weight, value))
                    np.testing.assert_array_equal(previous[1], value)
    of_layer = [("attention_qkv", ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]),
                ("attention_output", ["self_attn.o_proj"])]
    expected = {f"layer_{i}_{name}_weight": [f"model.layers.{i}.{part}.weight" for part in parts]
                for i in range(2) for name, parts in of_layer}
    expected["head_weight"] = ["model.embed_tokens.weight"]
    assert set(expected) <= set(stored), sorted(stored)
    for name, parts in expected.items():
        op, value = stored[name]
        source = np.concatenate([tensors[part] for part in parts]).astype(np.float64)
        got = np.asarray(value, np.float64).reshape(source.shape)
        # Rounding of the stored float: half an ulp, which stops shrinking below the smallest normal number.
        allowed = np.abs(source) * 2**-11 + 2**-25 if precision == "fp16" else np.abs(source) * 2**-24
        if scheme.startswith("lut"):
            palettes = np.asarray(op.lut.val, np.float64).reshape(op.lut.val.shape[0], -1)
            group = max(rows for rows in range(1, 33) if len(source) % rows == 0)
            assert palettes.shape == (len(source) // group, 2 ** int(scheme[3:]))
            # The nearest value of the palette of the row's group.
            rows = palettes[np.arange(len(source)) // (len(source) // len(palettes))]
            nearest = np.abs(source[:, :, None] - rows[:, None, :]).min(axis=2)
            allowed = nearest * (1 + 1e-6) + 1e-12
        elif scheme != "none":
            largest = 7 if scheme == "int4-block" else 127
            scale = np.asarray(op.scale.val, np.float64).reshape(op.scale.val.shape[:2])
            assert scale.shape == {"int8-channel": (len(source), 1), "int8-block": (len(source), source.shape[1] // 32),
                                   "int4-block": (len(source), source.shape[1] // 32)}.get(scheme, (1, 1))
            assert np.abs(op.data.val.astype(int)).max() == largest
            # Half a step of the code, the scale's own rounding over its steps, and the rounding of their product.
            scale = np.repeat(scale, source.shape[1] // scale.shape[1], axis=1)
            allowed = scale * (0.5 + largest * 2**-10) + allowed
        assert np.all(np.abs(got - source) <= allowed), f"{name}: {np.abs(got - source).max()}"


# Two layers of one kind, and layers of which some have a window, sinks or experts.
@pytest.mark.parametrize("form,options", [("qwen2", ["--target", "ios16", "--quant", "int8-channel"]), ("gemma3", []),
                                          ("lfm2", ["--precision", "fp32"]), ("gpt_oss", [])])
def test_growing_caches_load(anemone, checkpoint, tmp_path, form, options):
    folder, _ = checkpoint(form)
    artifact, manifest = compile_model(anemone, folder, tmp_path, "--context", "16", "--prefill", "4",
                                       "--kv-form", "growing", *options)
    assert manifest["format_version"] == 4
    for shard in manifest["shards"]:
        spec, operations = check_package(artifact / shard["package"])
        seen_operations.update(operations)
        appended = {cache["name"] for cache in shard["caches"] if cache.get("appended")}
        for function in spec.description.functions or [spec.description]:
            for feature in function.input:
                ranges = feature.type.multiArrayType.shapeRange.sizeRanges
                open_axes = [(i, r.lowerBound, r.upperBound) for i, r in enumerate(ranges) if r.lowerBound != r.upperBound]
                if feature.name in appended:
                    assert open_axes[0][:2] == (2, 1) and open_axes[0][2] <= 16
                elif "attention_mask" in feature.name:
                    tokens = feature.type.multiArrayType.shape[2]
                    assert open_axes[0][:2] == (3, tokens + 1) and open_axes[0][2] <= tokens + 16
                else:
                    assert not open_axes, feature.name
    anemone("run", artifact, "--prompt-ids", "1 2 3 4 5", "--max-new", "3", "--greedy", "--ignore-eos", "--json")


def test_coremltools_leaves_a_package_as_it_is(anemone, checkpoint, tmp_path):
    # It rewrites the manifest of each package that it opens.
    folder, _ = checkpoint("qwen2")
    artifact, manifest = compile_model(anemone, folder, tmp_path)
    for shard in manifest["shards"]:
        ct.models.MLModel(str(artifact / shard["package"]), skip_model_load=True)
    anemone("inspect", artifact)


def leave_out_a_parameter(spec):
    function = spec.mlProgram.functions["decode"]
    conv = next(op for op in function.block_specializations["CoreML8"].operations if op.type == "conv")
    del conv.inputs["groups"]


def describe_another_shape(spec):
    spec.description.functions[0].input[0].type.multiArrayType.shape[1] += 1


def describe_another_output(spec):
    spec.description.functions[0].output[0].name = "other"


def write_another_type(spec):
    function = spec.mlProgram.functions["prefill"]
    softmax = next(op for op in function.block_specializations["CoreML8"].operations if op.type == "softmax")
    softmax.outputs[0].type.tensorType.dimensions[3].constant.size += 1


@pytest.mark.parametrize("damage", [leave_out_a_parameter, describe_another_shape, describe_another_output,
                                    write_another_type])
def test_the_check_notices(anemone, checkpoint, tmp_path, damage):
    folder, _ = checkpoint("llama_one_layer")
    artifact, _ = compile_model(anemone, folder, tmp_path)
    package = tmp_path / "damaged.mlpackage"
    shutil.copytree(artifact / "layers_00_00.mlpackage", package)
    spec = ct.utils.load_spec(str(package))
    damage(spec)
    (package / "Data/com.apple.CoreML/model.mlmodel").write_bytes(spec.SerializeToString())
    with pytest.raises(AssertionError):
        check_package(package)


def test_functions_share_their_weights(anemone, checkpoint, tmp_path):
    folder, _ = checkpoint("llama")
    sizes = []
    for prefill in ("1", "8"):
        artifact, _ = compile_model(anemone, folder, tmp_path, "--prefill", prefill, "--shards", "1")
        sizes.append((artifact / "layers_00_01.mlpackage/Data/com.apple.CoreML/weights/weight.bin").stat().st_size)
    assert sizes[0] == sizes[1]


def test_only_common_operations_are_written():
    """Comes last: looks at what the tests above saw."""
    if not {"read_state", "gelu", "relu", "constexpr_blockwise_shift_scale"} <= seen_operations:
        pytest.skip("needs the whole file to run")
    assert seen_operations - COMMON_OPERATIONS == OTHER_OPERATIONS
