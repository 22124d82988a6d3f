// SPDX-License-Identifier: Apache-2.0
// Runs whose last tokens are padding: products with weights leave those out.
#include <limits>
#include <string>

#include "tests/exec/fusion_fixture.h"

namespace anemone::exec {
namespace {

constexpr std::int64_t kColumns = 64;
constexpr std::int64_t kRows = 96;
constexpr std::int64_t kTokens = 24;

// Where the channels of a token are.
enum class Order { kHeight, kWidth, kLast };

struct Padding : FusionFixture {
  static Shape shape_of(Order order, std::int64_t channels) {
    if (order == Order::kLast) return {1, kTokens, channels};
    return order == Order::kWidth ? Shape{1, channels, 1, kTokens} : Shape{1, channels, kTokens, 1};
  }

  Value* weights(Builder& b, Order order, bool is_int8) {
    const Shape shape =
        order == Order::kLast ? Shape{kRows, kColumns} : Shape{kRows, kColumns, 1, 1};
    if (!is_int8) return b.constant(random_literal(shape, 0.25f), "weights");
    Tensor data(DType::kInt8, shape);
    for (std::byte& byte : data.mutable_view().bytes())
      byte = static_cast<std::byte>(engine() >> 9);
    Shape scale(shape.size(), 1);
    scale[0] = kRows;
    return b.constexpr_op(
        "constexpr_blockwise_shift_scale",
        {{"data", Literal::of(std::move(data))}, {"scale", random_literal(scale, 0x1p-9f)}},
        "weights");
  }

  void build(Order order, bool is_int8) {
    program = std::make_shared<Program>();
    Builder b = function();
    Value* x = b.input("x", half(shape_of(order, kColumns)));
    Value* w = weights(b, order, is_int8);
    Value* bias = b.constant(random_literal({kRows}), "bias");
    Value* y = b.op(order == Order::kLast ? "linear" : "conv",
                    {{"x", x}, {"weight", w}, {"bias", bias}}, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  }

  // Element c of token t.
  static std::size_t at(Order order, std::int64_t channels, std::int64_t c, std::int64_t t) {
    return static_cast<std::size_t>(order == Order::kLast ? t * channels + c : c * kTokens + t);
  }
};

// The padding of x is no number, and would be none in y if it were multiplied.
TEST_F(Padding, IsNotMultiplied) {
  for (const Order order : {Order::kHeight, Order::kWidth, Order::kLast})
    for (const bool is_int8 : {false, true}) {
      build(order, is_int8);
      const Tensor x = random(shape_of(order, kColumns));
      for (const kernels::simd::Isa isa : kernels::simd::supported_isas()) {
        SCOPED_TRACE(std::string(kernels::simd::isa_name(isa)));
        const auto loaded = load_as(isa, false);
        ASSERT_NE(loaded, nullptr);
        ASSERT_EQ(fused(*loaded), std::vector<std::string>{"projection"});
        const auto whole = run(*loaded, {{"x", x.view()}}, "y");
        ASSERT_TRUE(status.ok()) << status.message();

        const std::vector<std::int64_t> counts = {1, 5, 19, kTokens};
        std::vector<Tensor> padded;
        std::vector<Inputs> inputs;
        std::vector<StepFacts> facts;
        for (const std::int64_t count : counts) {
          auto values = to_floats(x.view());
          for (std::int64_t t = count; t < kTokens; ++t)
            for (std::int64_t c = 0; c < kColumns; ++c)
              values[at(order, kColumns, c, t)] = std::numeric_limits<float>::quiet_NaN();
          padded.emplace_back(DType::kFp16, x.view().shape);
          store_floats(values, padded.back().mutable_view());
          facts.push_back({.position = 0, .count = count, .tokens = kTokens, .masks = {}});
        }
        for (const Tensor& tensor : padded) inputs.push_back({{"x", tensor.view()}});
        std::vector<Outputs> outputs(counts.size());
        std::vector<BatchItem> items;
        for (std::size_t i = 0; i < counts.size(); ++i)
          items.push_back({&inputs[i], &outputs[i], nullptr, &facts[i]});
        const Status batch = loaded->run_batch("", items);
        ASSERT_TRUE(batch.ok()) << batch.message();
        for (std::size_t i = 0; i < counts.size(); ++i) {
          const auto got = to_floats(find_output(outputs[i], "y")->view());
          for (std::int64_t t = 0; t < kTokens; ++t)
            for (std::int64_t r = 0; r < kRows; ++r)
              ASSERT_EQ(got[at(order, kRows, r, t)],
                        t < counts[i] ? whole[at(order, kRows, r, t)] : 0)
                  << "token " << t << " of " << counts[i] << ", row " << r;
        }
      }
    }
}

TEST_F(Padding, OfMoreOrLessThanTheRunIsRefused) {
  build(Order::kHeight, false);
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  const Tensor x = random(shape_of(Order::kHeight, kColumns));
  const Inputs inputs = {{"x", x.view()}};
  for (const std::int64_t count : {std::int64_t{-1}, std::int64_t{0}, kTokens + 1}) {
    Outputs outputs;
    const StepFacts facts = {.position = 0, .count = count, .tokens = kTokens};
    const BatchItem item = {&inputs, &outputs, nullptr, &facts};
    const Status refused = loaded->run_batch("", {&item, 1});
    EXPECT_EQ(refused.code(), Code::kInvalidArgument);
    EXPECT_EQ(refused.message(),
              "[step] expected 1 to 24 real tokens, got " + std::to_string(count));
  }
}

}  // namespace
}  // namespace anemone::exec
