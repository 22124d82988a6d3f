// SPDX-License-Identifier: Apache-2.0
// Programs with tens of thousands of inputs, outputs and states. If each is searched for among all
// others, a test here takes a minute.
#include <algorithm>
#include <ctime>
#include <fmt/format.h>

#include "tests/exec/program_fixture.h"
#include "tests/support/sanitized.h"

namespace anemone::exec {
namespace {

constexpr int kMany = testing::kIsSanitized ? 10'000 : 80'000;

struct ManyFeatures : ProgramFixture {
  ~ManyFeatures() override {
    // Time of this process alone, whatever runs beside it.
    EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, testing::kIsSanitized ? 100 : 20);
  }
  std::vector<Value*> make_inputs(Builder& b, const Type& type) {
    std::vector<Value*> out;
    for (int i = 0; i < kMany; ++i)
      out.push_back(b.input(fmt::format("feature_number_{}", i), type));
    return out;
  }
  std::clock_t start = std::clock();
};

TEST_F(ManyFeatures, AreFoundInTimeAsInputsAndOutputs) {
  Builder b = function();
  const auto values = make_inputs(b, Type::tensor(DType::kFp32, {1}));
  ASSERT_TRUE(b.finish(values).ok()) << b.status().message();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  const Tensor two = floats({1}, {2});
  Inputs inputs;
  for (const Value* value : values) inputs.push_back({value->name, two.view()});
  // A caller may give the inputs in any order.
  std::ranges::reverse(inputs);
  Outputs outputs;
  for (int i = 0; i < 2; ++i) {
    status = loaded->run("", inputs, outputs, nullptr);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(outputs.size(), static_cast<std::size_t>(kMany));
    std::ranges::reverse(outputs);
  }
  inputs.push_back(inputs.front());
  status = loaded->run("", inputs, outputs, nullptr);
  EXPECT_EQ(status.message(),
            fmt::format("[feature_number_{}] expected one value, got two", kMany - 1));
  inputs.back().name = "another";
  status = loaded->run("", inputs, outputs, nullptr);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_LT(status.message().size(), 10'000U);
  inputs.pop_back();
  inputs.pop_back();
  status = loaded->run("", inputs, outputs, nullptr);
  EXPECT_EQ(status.message(), "[feature_number_0] expected a value of fp32 [1], got none");
}

TEST_F(ManyFeatures, AreFoundInTimeAsStates) {
  Builder b = function();
  Value* x = b.input("x", Type::tensor(DType::kFp16, {1}));
  const auto states = make_inputs(b, Type::state(DType::kFp16, {1}));
  b.write_state(states.back(), x, "write");
  ASSERT_TRUE(b.finish({x}).ok()) << b.status().message();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  const auto store = loaded->make_state();
  ASSERT_TRUE(store.ok()) << store.status().message();
  Tensor three(DType::kFp16, {1});
  store_floats(std::vector<float>{3}, three.mutable_view());
  EXPECT_EQ(run(*loaded, {{"x", three.view()}}, "x", store->get()), std::vector<float>{3})
      << status.message();
  for (const Value* state : states) {
    const auto value = (*store)->read(state->name);
    ASSERT_TRUE(value.ok()) << value.status().message();
    ASSERT_EQ(to_floats(value->view()).front(), state == states.back() ? 3.0F : 0.0F);
  }
}

// Each product looks like the end of an attention over the one state.
TEST_F(ManyFeatures, AreFoundInTimeAsUsesOfOneState) {
  Builder b = function();
  const Type half = Type::tensor(DType::kFp16, {1, 1, 1, 1});
  Value* mask = b.input("mask", half);
  Value* tokens = b.input("tokens", half);
  Value* state = b.input("cache", Type::state(DType::kFp16, {1, 1, 1, 1}));
  Value* axes = b.constant(Literal::int32s({-1}), "axes");
  Value* yes = b.constant(Literal::boolean(true), "yes");
  Value* no = b.constant(Literal::boolean(false), "no");
  Value* shape = b.constant(Literal::int32s({1, 1, 1, 1}), "shape");
  Value* written = b.op("reduce_sum", {{"x", mask}, {"axes", axes}, {"keep_dims", yes}});
  Value* keep = b.op("sub", {{"x", Literal::number(1, DType::kFp16)}, {"y", written}});
  Value* kept = b.op("mul", {{"x", b.read_state(state, "before")}, {"y", keep}});
  Value* after = b.op(
      "add", {{"x", kept},
              {"y", b.op("matmul",
                         {{"x", mask}, {"y", tokens}, {"transpose_x", no}, {"transpose_y", no}})}});
  b.write_state(state, after, "write");
  std::vector<Value*> outputs;
  for (int i = 0; i < kMany; ++i) {
    Value* mixed = b.op(
        "matmul", {{"x", mask}, {"y", after}, {"transpose_x", no}, {"transpose_y", no}}, "mixed");
    outputs.push_back(b.op("reshape", {{"x", mixed}, {"shape", shape}}, "out"));
  }
  ASSERT_TRUE(b.finish(std::move(outputs)).ok()) << b.status().message();
  EXPECT_NE(load(), nullptr);
}

}  // namespace
}  // namespace anemone::exec
