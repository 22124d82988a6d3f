// SPDX-License-Identifier: Apache-2.0
// No operation is without tests, and the operations of language models are there.
#include "ops/registry.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "kernels/kernel.h"

namespace anemone::testing {
namespace {

// The interpreter runs these operations itself, without a kernel. They take or give lists, blocks
// or class labels, which a data file cannot hold, so tests/exec tests them.
constexpr std::array<std::string_view, 9> kInterpreted = {
    "classify",     "cond",       "list_gather", "list_length", "list_read",
    "list_scatter", "list_write", "make_list",   "while_loop"};
// The interpreter runs these as well; their data files hold types only.
constexpr std::array<std::string_view, 3> kTypesOnly = {"const", "read_state", "write_state"};

// What packages of language models are made of.
constexpr std::string_view kLanguageModels[] = {
    // weights
    "const", "constexpr_blockwise_shift_scale", "constexpr_lut_to_dense",
    "constexpr_affine_dequantize", "constexpr_sparse_to_dense", "constexpr_lut_to_sparse",
    "constexpr_sparse_blockwise_shift_scale", "constexpr_cast",
    // linear algebra
    "linear", "matmul", "conv", "einsum",
    // norms and attention
    "layer_norm", "reduce_mean", "reduce_sum", "reduce_sum_square", "rsqrt", "softmax",
    "scaled_dot_product_attention", "l2_norm", "band_part",
    // elementwise
    "add", "sub", "mul", "real_div", "pow", "sqrt", "square", "exp", "maximum", "minimum", "clip",
    "cast", "select", "greater", "greater_equal", "less", "less_equal", "equal", "not_equal",
    "logical_and", "logical_or", "logical_not", "sigmoid", "silu", "gelu", "tanh", "relu",
    "softplus", "cos", "sin", "abs", "floor", "floor_div", "mod",
    // shape and index
    "reshape", "transpose", "expand_dims", "squeeze", "concat", "split", "stack", "slice_by_index",
    "slice_by_size", "slice_update", "gather", "gather_along_axis", "gather_nd", "scatter",
    "scatter_nd", "scatter_along_axis", "tile", "fill", "fill_like", "range_1d", "shape", "pad",
    "identity", "one_hot", "cumsum",
    // state
    "read_state", "write_state",
    // sampling heads
    "topk", "reduce_argmax", "reduce_max", "argsort"};

template <typename Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool has_data(std::string_view op) {
  return std::filesystem::exists(ANEMONE_SOURCE_DIR "/tests/ops/data/" + std::string(op) + ".json");
}

TEST(OpRegistryTest, every_operation_has_a_data_file_or_is_interpreted) {
  for (const std::string_view op : ops::op_registry().names())
    EXPECT_NE(has_data(op), contains(kInterpreted, op)) << op;
}

TEST(OpRegistryTest, every_interpreted_operation_is_in_the_registry) {
  for (const std::string_view op : kInterpreted)
    EXPECT_NE(ops::op_registry().find(op), nullptr) << op;
}

TEST(OpRegistryTest, every_operation_has_a_kernel_or_is_interpreted) {
  for (const std::string_view op : ops::op_registry().names()) {
    const bool is_interpreted = contains(kInterpreted, op) || contains(kTypesOnly, op);
    EXPECT_NE(kernels::find_reference_kernel(op) != nullptr, is_interpreted) << op;
  }
}

TEST(OpRegistryTest, every_operation_of_language_models_is_there) {
  for (const std::string_view op : kLanguageModels) {
    EXPECT_NE(ops::op_registry().find(op), nullptr) << op;
    EXPECT_TRUE(kernels::find_reference_kernel(op) != nullptr || contains(kTypesOnly, op)) << op;
  }
}

TEST(OpRegistryTest, names_are_sorted_and_find_their_schemas) {
  const auto names = ops::op_registry().names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const std::string_view name : names) EXPECT_EQ(ops::op_registry().find(name)->name, name);
}

TEST(OpRegistryTest, an_unknown_operation_has_neither_schema_nor_kernel) {
  EXPECT_EQ(ops::op_registry().find("no_such_operation"), nullptr);
  EXPECT_EQ(kernels::find_reference_kernel("no_such_operation"), nullptr);
}

}  // namespace
}  // namespace anemone::testing
