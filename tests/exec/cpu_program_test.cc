// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "tests/exec/program_fixture.h"

namespace anemone::exec {
namespace {

using Floats = std::vector<float>;

struct Programs : ProgramFixture {
  void add_doubler(std::string name, float factor) {
    Builder b = function(std::move(name));
    Value* x = b.input("x", Type::tensor(DType::kFp32, {2}));
    Value* y = b.op("mul", {{"x", x}, {"y", Literal::number(factor, DType::kFp32)}}, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  }
  const Tensor x = floats({2}, {1, 2});
};

TEST_F(Programs, RunTheFunctionThatIsNamedAndTheDefaultOtherwise) {
  add_doubler("twice", 2);
  add_doubler("thrice", 3);
  interface.default_function = "thrice";
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(loaded->functions(), (std::vector<std::string>{"twice", "thrice"}));
  EXPECT_EQ(loaded->default_function(), "thrice");
  EXPECT_EQ(run(*loaded, {{"x", x.view()}}, "y"), (Floats{3, 6}));
  EXPECT_EQ(run(*loaded, {{"x", x.view()}}, "y", nullptr, "twice"), (Floats{2, 4}));
  run(*loaded, {{"x", x.view()}}, "y", nullptr, "other");
  EXPECT_EQ(status.message(), "[other] expected one of the functions twice, thrice");
}

TEST_F(Programs, LoadOnlyTheFunctionsThatAreAskedFor) {
  add_doubler("twice", 2);
  add_doubler("thrice", 3);
  const auto loaded = load_program(program, {}, {.functions = {"thrice"}});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ((*loaded)->functions(), (std::vector<std::string>{"thrice"}));
  EXPECT_EQ(load_program(program, {}, {.functions = {"other"}}).status().code(), Code::kNotFound);
}

TEST_F(Programs, UseTheStorageOfEarlierOutputsAgain) {
  add_doubler("main", 2);
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  Outputs outputs;
  ASSERT_TRUE(loaded->run("", {{"x", x.view()}}, outputs, nullptr).ok());
  const std::byte* storage = outputs[0].tensor.view().data;
  ASSERT_TRUE(loaded->run("", {{"x", x.view()}}, outputs, nullptr).ok());
  EXPECT_EQ(outputs[0].tensor.view().data, storage);
  outputs[0].tensor = Tensor(DType::kFp32, {5});
  ASSERT_TRUE(loaded->run("", {{"x", x.view()}}, outputs, nullptr).ok());
  EXPECT_EQ(to_floats(outputs[0].tensor.view()), (Floats{2, 4}));
}

TEST_F(Programs, RunTheWorkOfACallerOnTheirThreads) {
  add_doubler("main", 2);
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{100}}) {
    std::vector<std::atomic<int>> calls(count);
    loaded->for_each(count, [&](std::size_t i) { ++calls[i]; });
    for (const auto& of_one : calls) EXPECT_EQ(of_one, 1);
  }
}

TEST_F(Programs, MayReturnAnInputOrAConstant) {
  Builder b = function();
  Value* in = b.input("x", Type::tensor(DType::kFp32, {2}));
  Value* constant = b.constant(Literal::of(floats({1}, {9})), "nine");
  ASSERT_TRUE(b.finish({in, constant}).ok());
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(run(*loaded, {{"x", x.view()}}, "x"), (Floats{1, 2}));
  EXPECT_EQ(run(*loaded, {{"x", x.view()}}, "nine"), (Floats{9}));
}

TEST_F(Programs, EvaluateConstexprOperationsAtLoad) {
  std::vector<std::byte> bytes = {std::byte{2}, std::byte{0xff}, std::byte{4}, std::byte{8}};
  Tensor data(DType::kInt8, {2, 2});
  std::copy(bytes.begin(), bytes.end(), data.mutable_view().bytes().begin());
  const Literal weight = Literal::of(std::move(data));
  Tensor scale(DType::kFp32, {2, 1});
  store_floats(Floats{0.5f, 2}, scale.mutable_view());
  const Literal scales = Literal::of(std::move(scale));
  for (const char* name : {"decode", "prefill"}) {
    Builder b = function(name);
    Value* in = b.input("x", Type::tensor(DType::kFp32, {1, 2}));
    Value* w = b.constexpr_op("constexpr_blockwise_shift_scale",
                              {{"data", weight}, {"scale", scales}}, "w");
    Value* y = b.op("matmul",
                    {{"x", in},
                     {"y", w},
                     {"transpose_x", Literal::boolean(false)},
                     {"transpose_y", Literal::boolean(true)}},
                    "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  }
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  const Tensor value = floats({1, 2}, {1, 10});
  // Rows [1, -0.5] and [8, 16].
  EXPECT_EQ(run(*loaded, {{"x", value.view()}}, "y", nullptr, "decode"), (Floats{-4, 168}));
  EXPECT_EQ(run(*loaded, {{"x", value.view()}}, "y", nullptr, "prefill"), (Floats{-4, 168}));
}

TEST_F(Programs, FoldConstantArithmeticWithoutChangingTheResult) {
  Builder b = function();
  Value* in = b.input("x", Type::tensor(DType::kFp32, {2}));
  Value* a = b.constant(Literal::of(floats({2}, {1, 2})), "a");
  Value* sum = b.op("add", {{"x", a}, {"y", a}}, "sum");
  Value* more = b.op("add", {{"x", sum}, {"y", a}}, "more");
  Value* y = b.op("mul", {{"x", in}, {"y", more}}, "y");
  ASSERT_TRUE(b.finish({y, sum}).ok()) << b.status().message();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(run(*loaded, {{"x", x.view()}}, "y"), (Floats{3, 12}));
  EXPECT_EQ(run(*loaded, {{"x", x.view()}}, "sum"), (Floats{2, 4}));
}

TEST_F(Programs, WithAnOperationOutsideTheOpSetAreUnsupportedByName) {
  add_doubler("main", 2);
  program->functions()[0]->block->ops.back()->type = "teleport";
  const auto loaded = load_program(program);
  EXPECT_EQ(loaded.status().code(), Code::kUnsupported);
  EXPECT_EQ(loaded.status().message(),
            "[teleport \"y\"] the operation teleport is outside the operation set");
}

TEST_F(Programs, ThatTheVerifierRefusesDoNotLoad) {
  add_doubler("main", 2);
  program->functions()[0]->block->ops.back()->outputs[0]->type = Type::tensor(DType::kFp32, {3});
  EXPECT_EQ(load_program(program).status().code(), Code::kCorrupt);
}

TEST_F(Programs, GiveTheSameBitsOnAnyNumberOfThreads) {
  Builder b = function();
  Value* in = b.input("x", Type::tensor(DType::kFp32, {4, 64}));
  Floats weights(64 * 32);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<float>(i % 17) * 0.37f - 2.0f;
  Value* w = b.constant(Literal::of(floats({64, 32}, weights)), "w");
  Value* y = b.op("matmul",
                  {{"x", in},
                   {"y", w},
                   {"transpose_x", Literal::boolean(false)},
                   {"transpose_y", Literal::boolean(false)}},
                  "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  Floats values(4 * 64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 13) * 0.11f;
  const Tensor value = floats({4, 64}, values);
  options.threads = 1;
  const Floats one = run(*load(), {{"x", value.view()}}, "y");
  options.threads = 3;
  EXPECT_EQ(run(*load(), {{"x", value.view()}}, "y"), one);
}

}  // namespace
}  // namespace anemone::exec
