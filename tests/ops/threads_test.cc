// SPDX-License-Identifier: Apache-2.0
// Tensors that are big enough to be split: one thread and three write the same bytes.
#include <cstring>
#include <gtest/gtest.h>
#include <random>

#include "kernels/kernel.h"
#include "tests/ops/op_call.h"

namespace anemone::testing {
namespace {

Argument argument(Tensor tensor) {
  Argument out;
  out.type = ir::Type::tensor(tensor.dtype(), tensor.shape());
  out.tensor = std::move(tensor);
  return out;
}

Argument random(DType dtype, Shape shape) {
  Tensor tensor(dtype, std::move(shape));
  std::mt19937 bits(1);
  if (dtype == DType::kFp32) {
    std::normal_distribution<float> normal;
    for (float& value : tensor.mutable_view().as<float>()) value = normal(bits);
  } else {
    const std::span<std::byte> bytes = tensor.mutable_view().bytes();
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(bits());
  }
  return argument(std::move(tensor));
}

template <typename T>
Argument values(Shape shape, std::vector<T> list) {
  return argument(Tensor::from<T>(std::move(shape), list));
}

Argument text(std::string value) {
  Argument out;
  out.type = ir::Type::tensor(DType::kString, {});
  out.text = std::move(value);
  return out;
}

struct Big {
  std::string op;
  std::vector<std::pair<std::string, Argument>> inputs;
  DType dtype;
  Shape shape;
};

// Shared, because gtest copies parameters and tensors are only moved.
using BigCase = std::shared_ptr<const Big>;

template <typename... Inputs>
BigCase big(std::string op, DType dtype, Shape shape, Inputs... inputs) {
  auto out = std::make_shared<Big>();
  out->op = std::move(op);
  out->dtype = dtype;
  out->shape = std::move(shape);
  (out->inputs.push_back(std::move(inputs)), ...);
  return out;
}

std::pair<std::string, Argument> in(std::string name, Argument value) {
  return {std::move(name), std::move(value)};
}

class Threads : public ::testing::TestWithParam<BigCase> {};

TEST_P(Threads, DoNotChangeTheResult) {
  const Big& big = *GetParam();
  Arguments inputs;
  for (const auto& [name, value] : big.inputs) {
    Argument copy;
    copy.type = value.type;
    copy.text = value.text;
    if (value.tensor) copy.tensor = value.tensor->clone();
    inputs[name].push_back(std::move(copy));
  }
  const kernels::Kernel kernel = kernels::find_reference_kernel(big.op);
  ASSERT_NE(kernel, nullptr);
  const std::vector<ir::Type> types = {ir::Type::tensor(big.dtype, big.shape)};
  ThreadPool one(1);
  const CaseCall alone(inputs, types, one);
  const Status status = kernel(alone);
  ASSERT_TRUE(status.ok()) << status.message();
  const std::span<const std::byte> want = TensorView(alone.output(0)).bytes();
  ThreadPool three(3);
  for (int round = 0; round < 3; ++round) {
    const CaseCall together(inputs, types, three);
    ASSERT_TRUE(kernel(together).ok());
    const std::span<const std::byte> got = TensorView(together.output(0)).bytes();
    EXPECT_EQ(std::memcmp(want.data(), got.data(), want.size()), 0) << "round " << round;
  }
}

// Sizes are several times the share that a thread takes at once.
std::vector<BigCase> cases() {
  const auto floats = [](Shape shape) { return random(DType::kFp32, std::move(shape)); };
  const auto axis = [](std::int32_t value) { return values<std::int32_t>({1}, {value}); };
  return {
      big("constexpr_affine_dequantize", DType::kFp32, {300, 700},
          in("quantized_data", random(DType::kInt8, {300, 700})),
          in("zero_point", random(DType::kInt8, {300})), in("scale", floats({300})),
          in("axis", values<std::int32_t>({}, {0}))),
      big("constexpr_blockwise_shift_scale", DType::kFp32, {500, 640},
          in("data", random(DType::kInt4, {500, 640})), in("scale", floats({500, 20})),
          in("offset", random(DType::kInt4, {500, 20}))),
      big("constexpr_lut_to_dense", DType::kFp32, {500, 333},
          in("indices", random(DType::kUInt4, {500, 333})), in("lut", floats({20, 1, 16, 1}))),
      big("constexpr_lut_to_dense", DType::kFp32, {512, 333},
          in("indices", random(DType::kUInt6, {256, 333})), in("lut", floats({8, 1, 64, 2})),
          in("vector_axis", values<std::int32_t>({}, {0}))),
      big("gelu", DType::kFp32, {1, 999, 333}, in("x", floats({1, 999, 333}))),
      big("add", DType::kFp32, {1, 999, 333}, in("x", floats({1, 999, 333})),
          in("y", floats({999, 1}))),
      big("cast", DType::kFp16, {1, 999, 333}, in("x", floats({1, 999, 333}))),
      big("reduce_sum", DType::kFp32, {999}, in("x", floats({999, 333})), in("axes", axis(1))),
      big("reduce_sum", DType::kFp32, {333}, in("x", floats({999, 333})), in("axes", axis(0))),
      big("softmax", DType::kFp32, {999, 333}, in("x", floats({999, 333}))),
      big("layer_norm", DType::kFp32, {999, 333}, in("x", floats({999, 333})),
          in("axes", axis(-1))),
      big("cumsum", DType::kFp32, {999, 333}, in("x", floats({999, 333}))),
      big("transpose", DType::kFp32, {333, 999}, in("x", floats({999, 333})),
          in("perm", values<std::int32_t>({2}, {1, 0}))),
      big("gather", DType::kFp32, {999, 333}, in("x", floats({50, 333})),
          in("indices", values<std::int32_t>({999}, std::vector<std::int32_t>(999, 49)))),
      big("matmul", DType::kFp32, {3, 99, 201}, in("x", floats({3, 99, 133})),
          in("y", floats({3, 133, 201}))),
      big("conv", DType::kFp32, {1, 384, 1, 9}, in("x", floats({1, 256, 1, 9})),
          in("weight", floats({384, 256, 1, 1}))),
      big("conv_transpose", DType::kFp32, {2, 24, 65, 33}, in("x", floats({2, 16, 32, 16})),
          in("weight", floats({16, 24, 3, 3})), in("strides", values<std::int32_t>({2}, {2, 2}))),
      big("avg_pool", DType::kFp32, {2, 24, 97, 98}, in("x", floats({2, 24, 99, 100})),
          in("kernel_sizes", values<std::int32_t>({2}, {3, 3})), in("pad_type", text("valid"))),
      big("resize_bilinear", DType::kFp32, {2, 24, 75, 130}, in("x", floats({2, 24, 50, 60})),
          in("target_size_height", values<std::int32_t>({}, {75})),
          in("target_size_width", values<std::int32_t>({}, {130}))),
      big("random_normal", DType::kFp32, {999, 33},
          in("shape", values<std::int32_t>({2}, {999, 33})),
          in("seed", values<std::int32_t>({}, {7}))),
      big("prelu", DType::kFp32, {3, 40, 999}, in("x", floats({3, 40, 999})),
          in("alpha", floats({40}))),
      big("scaled_dot_product_attention", DType::kFp32, {6, 77, 64},
          in("query", floats({6, 77, 64})), in("key", floats({6, 130, 64})),
          in("value", floats({6, 130, 64}))),
  };
}

INSTANTIATE_TEST_SUITE_P(Big, Threads, ::testing::ValuesIn(cases()),
                         [](const ::testing::TestParamInfo<BigCase>& info) {
                           return info.param->op + "_" + std::to_string(info.index);
                         });

}  // namespace
}  // namespace anemone::testing
