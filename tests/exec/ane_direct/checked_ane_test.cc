// SPDX-License-Identifier: Apache-2.0
// Every way of breaking a rule of exec/ane_direct/runtime.h that the double knows, seeded on
// purpose: it has to notice each, and nothing else.
#include "tests/exec/ane_direct/checked_ane.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "exec/ane_direct/loaded_program.h"
#include "exec/ane_direct/text_form.h"
#include "ir/builder.h"
#include "ops/registry.h"
#include "tests/exec/ane_direct/small_kernels.h"

namespace anemone::exec::ane_direct::testing {
namespace {

// Two outputs of different sizes whose alphabetical order is not that of the program.
ir::Program unordered_program() {
  ir::Program program;
  add_build_info(program);
  ir::Builder b(program, ops::op_registry(), "main", ir::Opset::kIOS18);
  ir::Value* wide = b.input("wide", ir::Type::tensor(DType::kFp16, {1, 8, 1, 32}));
  ir::Value* less = b.input("less", ir::Type::tensor(DType::kFp16, {1, 2, 1, 32}));
  ir::Value* q = b.op("add", {{"x", wide}, {"y", wide}}, "q");
  ir::Value* k = b.op("add", {{"x", less}, {"y", less}}, "k");
  EXPECT_TRUE(b.finish({q, k}).ok()) << b.status().message();
  return program;
}

struct Misuse : ::testing::Test {
  void SetUp() override {
    const auto program = kernel_program(small_spec({4}, 6), ir::Opset::kIOS18);
    ASSERT_TRUE(program.ok());
    auto written = write_text(*program);
    ASSERT_TRUE(written.ok());
    text = std::move(*written);
    model = compile();
    EXPECT_FALSE(runtime.load(model, kQos).has_value());
    input = surface(6 * 64);
    output = surface(4 * 64);
  }
  ModelHandle compile() {
    const auto made = runtime.compile(text.mil, text.weights(), kQos);
    EXPECT_TRUE(made.ok()) << made.error().chain[0].text;
    return made.ok() ? *made : ModelHandle::kNone;
  }
  SurfaceHandle surface(std::uint64_t bytes) {
    const auto made = runtime.make_surface(bytes);
    return made.ok() ? *made : SurfaceHandle::kNone;
  }
  Failure run(std::uint32_t qos = kQos) {
    return runtime.evaluate(model, {&input, 1}, {&output, 1}, qos);
  }
  // Expects exactly one violation, with this text in it.
  void expect_caught(const Failure& failure, const std::string& part) {
    ASSERT_TRUE(failure.has_value()) << part;
    EXPECT_EQ(failure->chain[0].domain, kMisuseDomain);
    expect_noticed(part);
  }
  void expect_noticed(const std::string& part) {
    ASSERT_EQ(runtime.violations().size(), 1U) << part;
    EXPECT_NE(runtime.violations()[0].find(part), std::string::npos) << runtime.violations()[0];
  }
  void expect_refused(const Failure& failure, const std::string& part) {
    ASSERT_TRUE(failure.has_value()) << part;
    EXPECT_NE(failure->chain[0].text.find(part), std::string::npos) << failure->chain[0].text;
    EXPECT_TRUE(runtime.violations().empty());
  }
  void expect_not_compiled(const std::string& part) {
    const auto made = runtime.compile(text.mil, text.weights(), kQos);
    ASSERT_FALSE(made.ok()) << part;
    expect_refused(made.error(), part);
  }
  void replace(const std::string& what, const std::string& with) {
    ASSERT_NE(text.mil.find(what), std::string::npos) << what;
    text.mil.replace(text.mil.find(what), what.size(), with);
  }

  CheckedAne runtime;
  ProgramText text;
  ModelHandle model = ModelHandle::kNone;
  SurfaceHandle input = SurfaceHandle::kNone;
  SurfaceHandle output = SurfaceHandle::kNone;
};

TEST_F(Misuse, NothingIsWrongWithoutOne) {
  EXPECT_FALSE(run().has_value());
  EXPECT_FALSE(runtime.unload(model, kQos).has_value());
  EXPECT_FALSE(runtime.load(model, kQos).has_value());
  EXPECT_FALSE(run().has_value());
  EXPECT_FALSE(runtime.unload(model, kQos).has_value());
  runtime.release(model);
  runtime.release(input);
  runtime.release(output);
  EXPECT_TRUE(runtime.violations().empty());
  EXPECT_EQ(runtime.live_models() + runtime.live_surfaces(), 0U);
}

TEST_F(Misuse, InputIsUndersized) {
  input = surface(6 * 64 - 2);
  expect_refused(run(), "status=0x1d : i0_x has 382 bytes of 384");
}
TEST_F(Misuse, OutputIsUndersized) {
  output = surface(4 * 64 - 64);
  expect_refused(run(), "status=0x1d : o00_y has 192 bytes of 256");
}
TEST_F(Misuse, SurfacesAreInAnotherOrder) {
  std::swap(input, output);
  expect_refused(run(), "0x1d");
}
TEST_F(Misuse, SurfacesHaveDifferentSizesForAChipThatWantsOne) {
  runtime.options.needs_equal_surfaces = true;
  expect_refused(run(), "0x1d");
}
TEST_F(Misuse, WhatAFailedRunGivesIsNan) {
  runtime.inject({.call = Fault::Call::kEvaluate, .error = runtime_error("d", 1, "no")});
  EXPECT_TRUE(run().has_value());
  EXPECT_FALSE(runtime
                   .access(output, AneRuntime::Access::kRead,
                           [](std::span<std::byte> memory) {
                             for (const std::byte byte : memory) EXPECT_EQ(byte, std::byte{0x7e});
                           })
                   .has_value());
}

TEST_F(Misuse, RunAfterTheUnload) {
  EXPECT_FALSE(runtime.unload(model, kQos).has_value());
  expect_caught(run(), "the model is not loaded");
}
TEST_F(Misuse, RunBeforeTheLoad) {
  model = compile();
  expect_caught(run(), "the model is not loaded");
}
TEST_F(Misuse, RunAfterTheRelease) {
  EXPECT_FALSE(runtime.unload(model, kQos).has_value());
  runtime.release(model);
  expect_caught(run(), "the model was released");
}
TEST_F(Misuse, HandleThatNobodyGave) {
  model = ModelHandle{99};
  expect_caught(run(), "the model was released, or is none");
}
TEST_F(Misuse, LoadTwice) {
  expect_caught(runtime.load(model, kQos), "loaded already");
}
TEST_F(Misuse, UnloadTwice) {
  EXPECT_FALSE(runtime.unload(model, kQos).has_value());
  expect_caught(runtime.unload(model, kQos), "not loaded");
}
TEST_F(Misuse, ReleaseWhileLoaded) {
  runtime.release(model);
  expect_noticed("released while it is loaded");
}
TEST_F(Misuse, ReleaseTwice) {
  runtime.release(input);
  runtime.release(input);
  expect_noticed("the surface was released");
}
TEST_F(Misuse, SurfaceAfterItsRelease) {
  runtime.release(input);
  expect_caught(run(), "the surface was released");
}
TEST_F(Misuse, AccessAfterTheRelease) {
  runtime.release(input);
  expect_caught(runtime.access(input, AneRuntime::Access::kRead, [](auto) { FAIL(); }),
                "the surface was released");
}
TEST_F(Misuse, SurfaceIsInputAndOutput) {
  output = input;
  expect_caught(run(), "in use, or given twice");
}
TEST_F(Misuse, AnotherNumberOfSurfaces) {
  expect_caught(runtime.evaluate(model, {&input, 1}, {}, kQos), "another number of surfaces");
}
TEST_F(Misuse, QualityThatIsNone) {
  expect_caught(run(64), "quality of service");
}
TEST_F(Misuse, WriteWhereOnlyReadingWasAsked) {
  expect_caught(runtime.access(input, AneRuntime::Access::kRead,
                               [](std::span<std::byte> memory) { memory[0] = std::byte{1}; }),
                "only read");
}
TEST_F(Misuse, TwoRunsOfOneModel) {
  Failure inner;
  const SurfaceHandle other_input = surface(6 * 64);
  const SurfaceHandle other_output = surface(4 * 64);
  runtime.in_evaluate = [&] {
    runtime.in_evaluate = nullptr;
    inner = runtime.evaluate(model, {&other_input, 1}, {&other_output, 1}, kQos);
  };
  EXPECT_FALSE(run().has_value());
  expect_caught(inner, "two evaluations at a time");
}
TEST_F(Misuse, AccessWhileItRuns) {
  Failure inner;
  runtime.in_evaluate = [&] {
    inner = runtime.access(input, AneRuntime::Access::kWrite, [](auto) { FAIL(); });
  };
  EXPECT_FALSE(run().has_value());
  expect_caught(inner, "the surface is in use");
}
TEST_F(Misuse, UnloadWhileItRuns) {
  Failure inner;
  runtime.in_evaluate = [&] { inner = runtime.unload(model, kQos); };
  EXPECT_FALSE(run().has_value());
  expect_caught(inner, "unloaded while it runs");
}
TEST_F(Misuse, SurfaceIsReleasedWhileItRuns) {
  runtime.in_evaluate = [&] { runtime.release(output); };
  EXPECT_FALSE(run().has_value());
  expect_noticed("released while it is in use");
}

TEST_F(Misuse, TextOfTheOtherGeneration) {
  runtime.options.chip = "Apple M2";
  expect_not_compiled("InvalidMILProgram");
}
TEST_F(Misuse, TextThatMixesSyntaxes) {
  replace("program(1.3)", "program(1.0)");
  expect_not_compiled("InvalidMILProgram");
}
TEST_F(Misuse, TextThatIsNone) {
  replace("conv(", "conv((");
  expect_not_compiled("InvalidMILProgram: [model.mil:");
}
TEST_F(Misuse, OutputThatNothingMakes) {
  replace("-> (o00_y)", "-> (o01_y)");
  expect_not_compiled("InvalidMILProgram");
}
TEST_F(Misuse, WeightFileIsAbsent) {
  text.paths.clear();
  text.files.clear();
  expect_not_compiled("no file @model_path/weights/w00.bin");
}
TEST_F(Misuse, WeightFileIsDamaged) {
  text.files[0][64] = std::byte{0};  // the sentinel
  expect_not_compiled("InvalidMILProgram");
}
TEST_F(Misuse, WeightFileOfAnotherSize) {
  replace("[4, 6, 1, 1]> w00", "[4, 5, 1, 1]> w00");
  expect_not_compiled("InvalidMILProgram");
}
TEST_F(Misuse, WeightFileThatNobodyReads) {
  text.paths.push_back("weights/other.bin");
  text.files.push_back(text.files[0]);
  const auto made = runtime.compile(text.mil, text.weights(), kQos);
  ASSERT_FALSE(made.ok());
  expect_caught(made.error(), "no constant lies in weights/other.bin");
}
TEST_F(Misuse, WeightFileBesideItsFolder) {
  text.paths[0] = "w00.bin";
  const auto made = runtime.compile(text.mil, text.weights(), kQos);
  ASSERT_FALSE(made.ok());
  expect_caught(made.error(), "a weight file has the path w00.bin");
}

TEST_F(Misuse, MoreThanAHundredCompilations) {
  runtime.options.most_compiles = 119;
  for (int i = runtime.compiles(); i < 119; ++i) runtime.release(compile());
  const auto made = runtime.compile(text.mil, text.weights(), kQos);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().chain[0].domain, kSilentDomain);
  // Whoever does not count sees a failure without a cause, and still a Status.
  EXPECT_EQ(map_error(made.error(), "k", "cannot compile").status.message(),
            "[k] cannot compile: the Neural Engine gives no cause that is known (anemone.silent 0: "
            "compile gave NO)");
}

// Surfaces in the order of the program, for a chip that goes by the names.
TEST(WrongOrder, OfSurfacesOfOtherSizesIsRefused) {
  TestDevice test;
  const auto device = test.open();
  ASSERT_TRUE(device.ok()) << device.status().message();
  const ir::Program program = unordered_program();
  const auto right = LoadedAneProgram::make(*device, program, "right");
  ASSERT_TRUE(right.ok()) << right.status().message();
  EXPECT_TRUE((*right)->evaluate().ok());
  EXPECT_EQ((*right)->output(0).name, "q");
  EXPECT_EQ((*right)->output(0).rows, 8);
  const auto wrong = LoadedAneProgram::make(*device, program, "wrong",
                                            BindingOptions{.outputs = PortOrder::kDeclared});
  ASSERT_TRUE(wrong.ok());
  test.runtime->inject(
      {.call = Fault::Call::kMakeSurface, .error = runtime_error("d", 1, "none of the same size")});
  // The remedy of equal surfaces would hide it, so that it is not available here.
  EXPECT_FALSE((*wrong)->evaluate().ok());
}

// With equal surfaces a wrong order shows in the values alone: the reason for the comparison of
// every kernel and for names that are the same in both orders.
TEST(WrongOrder, OfEqualSurfacesGivesTheOtherOutput) {
  TestDevice test;
  const auto device = test.open();
  ASSERT_TRUE(device.ok());
  const auto loaded = LoadedAneProgram::make(
      *device, unordered_program(), "wrong",
      BindingOptions{.outputs = PortOrder::kDeclared, .has_equal_surfaces = true});
  ASSERT_TRUE(loaded.ok());
  const std::vector<Half> ones(8 * 32, to_half(1));
  const std::vector<Half> twos(2 * 32, to_half(2));
  EXPECT_TRUE((*loaded)->write(0, {ones.data(), 32, 1}, 0, 32).ok());
  EXPECT_TRUE((*loaded)->write(1, {twos.data(), 32, 1}, 0, 32).ok());
  EXPECT_TRUE((*loaded)->evaluate().ok());
  std::vector<Half> q(8 * 32);
  EXPECT_TRUE((*loaded)->read(0, 0, 32, {q.data(), 32, 1}).ok());
  EXPECT_EQ(to_float(q[0]), 4);  // what belongs to k
}

}  // namespace
}  // namespace anemone::exec::ane_direct::testing
