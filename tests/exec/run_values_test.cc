// SPDX-License-Identifier: Apache-2.0
// Errors that only a run can find: values and shapes that contradict the plan, and sizes that no
// machine has. tests/ops/engines_test.cc walks the values of every operation.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/exec/fusion_fixture.h"
#include "tests/support/sanitized.h"

namespace anemone::exec {
namespace {

struct RunValues : FusionFixture {
  static constexpr std::int64_t kChannels = 16;

  // The rows of x that `flags` mark: how many is known when they are counted.
  static Value* marked_rows(Builder& b, Value* x, Value* flags) {
    Value* found =
        b.op("squeeze", {{"x", b.op("non_zero", {{"x", flags}})}, {"axes", Literal::int32s({1})}});
    return b.op("gather", {{"x", x},
                           {"indices", found},
                           {"axis", Literal::int32(0)},
                           {"batch_dims", Literal::int32(0)},
                           {"validate_indices", Literal::boolean(false)}});
  }

  // Runs as planned and as the reference, which must end alike.
  Status run_both(const Inputs& inputs) {
    Status last;
    for (const bool is_reference : {true, false}) {
      SCOPED_TRACE(is_reference ? "reference" : "planned");
      const auto loaded = load_as(options.isa, is_reference);
      if (loaded == nullptr) return last;
      Outputs outputs;
      const Status status = loaded->run("", inputs, outputs, nullptr);
      if (!is_reference) {
        EXPECT_EQ(status.code(), last.code()) << status.message() << " / " << last.message();
      }
      last = status;
    }
    return last;
  }
};

TEST_F(RunValues, MoreRowsThanTheProgramDeclaresAreRefused) {
  for (const bool is_linear : {true, false}) {
    program = std::make_shared<Program>();
    Builder b = function();
    Value* x = b.input("x", half({6, kChannels}));
    Value* flags = b.input("flags", Type::tensor(DType::kInt32, {6}));
    Value* rows = marked_rows(b, x, flags);
    Value* y = is_linear ? b.op("linear", {{"x", rows},
                                           {"weight", random_literal({kChannels, kChannels}, 0.3f)},
                                           {"bias", random_literal({kChannels})}})
                         : b.op("softmax", {{"x", rows}, {"axis", Literal::int32(-1)}});
    y->type.shape = {2, kChannels};
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
    const Tensor input = random({6, kChannels});
    const Tensor two = ints({6}, {0, 1, 0, 0, 1, 0}), five = ints({6}, {1, 1, 0, 1, 1, 1});
    EXPECT_TRUE(run_both({{"x", input.view()}, {"flags", two.view()}}).ok());
    EXPECT_EQ(run_both({{"x", input.view()}, {"flags", five.view()}}).code(), Code::kCorrupt);
  }
}

TEST_F(RunValues, OperandsOfAnOpenShapeAreComparedWithTheOthers) {
  Builder b = function();
  Value* x = b.input("x", half({6, kChannels}));
  Value* flags = b.input("flags", Type::tensor(DType::kInt32, {6}));
  Value* data = b.input("data", half({4, kChannels}));
  Value* indices = b.input("indices", Type::tensor(DType::kInt32, {3}));
  Value* y = b.op("scatter", {{"data", data},
                              {"indices", indices},
                              {"updates", marked_rows(b, x, flags)},
                              {"axis", Literal::int32(0)},
                              {"mode", Literal::text("add")},
                              {"validate_indices", Literal::boolean(true)}});
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  ASSERT_TRUE(is_static(y->type.shape));
  const Tensor input = random({6, kChannels}), table = random({4, kChannels});
  const Tensor at = ints({3}, {0, 3, 1});
  const Tensor three = ints({6}, {0, 1, 0, 1, 1, 0}), one = ints({6}, {0, 0, 0, 0, 1, 0});
  Inputs inputs = {
      {"x", input.view()}, {"flags", three.view()}, {"data", table.view()}, {"indices", at.view()}};
  EXPECT_TRUE(run_both(inputs).ok());
  inputs[1].tensor = one.view();
  EXPECT_EQ(run_both(inputs).code(), Code::kCorrupt);
}

TEST_F(RunValues, AnInputThatAPackageDescribesMoreWidelyHasTheShapeOfTheProgram) {
  Builder b = function();
  Value* x = b.input("x", half({4}));
  Value* z = b.input("z", half({4}));
  ASSERT_TRUE(b.finish({b.op("add", {{"x", x}, {"y", z}}, "y")}).ok()) << b.status().message();
  Signature signature;
  for (const char* name : {"x", "z"}) {
    Feature& feature = signature.inputs.emplace_back();
    feature.name = name;
    feature.dtype = DType::kFp16;
    feature.shape = {kDynamic};
  }
  Feature& output = signature.outputs.emplace_back();
  output.name = "y";
  output.dtype = DType::kFp16;
  output.shape = {4};
  interface.signatures.emplace("main", signature);
  const Tensor four = random({4}), two = random({2});
  for (const bool is_reference : {true, false}) {
    const auto loaded = load_as(options.isa, is_reference);
    ASSERT_NE(loaded, nullptr);
    Outputs outputs;
    EXPECT_TRUE(loaded->run("", {{"x", four.view()}, {"z", four.view()}}, outputs, nullptr).ok());
    EXPECT_FALSE(loaded->run("", {{"x", two.view()}, {"z", two.view()}}, outputs, nullptr).ok());
  }
}

struct MemoryLimits : ProgramFixture {
  // [n, 1024] fp32 filled with ones, and their sum.
  void build() {
    Builder b = function();
    Value* n = b.input("n", Type::tensor(DType::kInt32, {2}));
    Value* filled =
        b.op("fill", {{"shape", n}, {"value", Literal::number(1, DType::kFp32)}}, "filled");
    Value* sum = b.op(
        "reduce_sum",
        {{"x", filled}, {"axes", Literal::int32s({0, 1})}, {"keep_dims", Literal::boolean(false)}},
        "sum");
    ASSERT_TRUE(b.finish({sum}).ok()) << b.status().message();
  }
  Status fill(const LoadedProgram& loaded, std::int32_t n, std::int32_t m) {
    const Tensor shape = ints({2}, {n, m});
    run(loaded, {{"n", shape.view()}}, "sum");
    return status;
  }
};

TEST_F(MemoryLimits, ASizeBeyondThemEndsTheRunThatAsksForIt) {
  build();
  options.memory_bytes = 1 << 20;
  for (const bool is_reference : {true, false}) {
    options.is_reference = is_reference;
    const auto loaded = load();
    ASSERT_NE(loaded, nullptr);
    for (int round = 0; round < 3; ++round) {
      EXPECT_TRUE(fill(*loaded, 128, 1024).ok()) << status.message();
      EXPECT_EQ(fill(*loaded, 257, 1024).code(), Code::kOutOfMemory) << status.message();
      EXPECT_NE(status.message().find("[fill \"filled\"]"), std::string::npos) << status.message();
      // Nothing that an earlier run took is lost for this one.
      EXPECT_TRUE(fill(*loaded, 240, 1024).ok()) << status.message();
    }
  }
}

// 2 TB, which systems hand out that count on nobody writing to them.
TEST_F(MemoryLimits, AreThoseOfTheMachineByDefault) {
  build();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(fill(*loaded, 1 << 19, 1 << 20).code(), Code::kOutOfMemory) << status.message();
}

TEST_F(MemoryLimits, HoldForEveryOperationThatDataSizes) {
  options.memory_bytes = 1 << 20;
  Builder b = function();
  Value* n = b.input("n", Type::tensor(DType::kInt32, {1}));
  Value* count = b.op("squeeze", {{"x", n}});
  Value* zero = b.constant(Literal::int32(0), "zero");
  Value* one = b.constant(Literal::int32(1), "one");
  Value* range = b.op("range_1d", {{"start", zero}, {"end", count}, {"step", one}}, "range");
  Value* tiled = b.op("tile", {{"x", b.constant(Literal::int32s({1, 2, 3}), "x")}, {"reps", n}});
  Value* hot = b.op("one_hot", {{"indices", b.constant(Literal::int32s({0, 1}), "indices")},
                                {"one_hot_vector_size", count}});
  Value* drawn = b.op("random_uniform", {{"shape", n}});
  ASSERT_TRUE(b.finish({range, tiled, hot, drawn}).ok()) << b.status().message();
  // Each asked for by itself, as the first output that fails ends the run.
  for (Value* output : {range, tiled, hot, drawn}) {
    program->functions()[0]->block->outputs = {output};
    const auto loaded = load();
    ASSERT_NE(loaded, nullptr);
    for (const std::int32_t size : {1 << 20, std::numeric_limits<std::int32_t>::max()}) {
      const Tensor given = ints({1}, {size});
      run(*loaded, {{"n", given.view()}}, output->name);
      EXPECT_EQ(status.code(), Code::kOutOfMemory) << output->name << ": " << status.message();
    }
    const Tensor few = ints({1}, {5});
    run(*loaded, {{"n", few.view()}}, output->name);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

// What a kernel works with is no value of the run; the system refuses it here.
// Whether a process keeps its limit of addresses. One in an emulator does not, and cannot start
// itself anew either.
bool keeps_address_limit() {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit = {1 << 20, 1 << 20};
    const bool is_set = ::setrlimit(RLIMIT_AS, &limit) == 0;
    const void* const more =
        ::mmap(nullptr, std::size_t{1} << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::_exit(is_set && more == MAP_FAILED ? 0 : 1);
  }
  int status = 1;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

TEST_F(MemoryLimits, AKernelThatGetsNoMemoryEndsItsRun) {
  if (testing::kIsSanitized) GTEST_SKIP() << "sanitizers need all addresses for themselves";
  if (!keeps_address_limit()) GTEST_SKIP() << "processes keep no limit of addresses here";
  Builder b = function();
  Value* n = b.input("n", Type::tensor(DType::kInt32, {1}));
  Value* filled =
      b.op("fill", {{"shape", n}, {"value", Literal::number(1, DType::kFp32)}}, "filled");
  Value* order = b.op("argsort", {{"x", filled}, {"axis", Literal::int32(0)}});
  Value* y = b.op(
      "reduce_max",
      {{"x", order}, {"axes", Literal::int32s({0})}, {"keep_dims", Literal::boolean(true)}}, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  const auto run_with_little = [&] {
    const auto loaded = load();
    if (loaded == nullptr) std::exit(2);
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    // Enough for both values of the run, not for the positions and elements that argsort sorts.
    const rlim_t most = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (160u << 20);
    const rlimit limit = {most, most};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) std::exit(3);
    const Tensor many = ints({1}, {16 << 20}), few = ints({1}, {4});
    run(*loaded, {{"n", many.view()}}, "y");
    if (status.code() != Code::kOutOfMemory) {
      std::fprintf(stderr, "%s\n", status.message().c_str());
      std::exit(4);
    }
    run(*loaded, {{"n", few.view()}}, "y");
    std::exit(status.ok() ? 0 : 5);
  };
#ifdef __linux__
  // In a process that starts anew: in a copy of this one, memory that earlier tests have freed
  // would count as used and serve all the same.
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  for (const int threads : {1, 2}) {
    options.threads = threads;
    EXPECT_EXIT(run_with_little(), ::testing::ExitedWithCode(0), "");
  }
#else
  static_cast<void>(run_with_little);
#endif
}

}  // namespace
}  // namespace anemone::exec
