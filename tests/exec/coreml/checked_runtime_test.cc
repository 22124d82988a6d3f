// SPDX-License-Identifier: Apache-2.0
// Every way of breaking a rule of runtime.h that the double knows, seeded on purpose: it has to
// notice each, and nothing else.
#include "tests/exec/coreml/checked_runtime.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "exec/coreml/arrays.h"
#include "tests/exec/coreml/small_package.h"

namespace anemone::exec::coreml::testing {
namespace {

struct Mutations : ::testing::Test {
  void SetUp() override {
    compiled = compile("a");
    decode = load("decode");
    state = make_state(decode);
  }
  std::string compile(const std::string& name) {
    const std::string package = write_small_package(folder.file(name + ".mlpackage"));
    const std::string target = folder.file(name + ".mlmodelc");
    EXPECT_FALSE(runtime.compile(package, target).has_value());
    return target;
  }
  ModelHandle load(const std::string& function,
                   ComputeUnits units = ComputeUnits::kCpuAndNeuralEngine) {
    auto loaded =
        runtime.load(compiled, {.function = function, .units = units, .display_name = {}});
    EXPECT_TRUE(loaded.ok());
    return loaded.ok() ? *loaded : ModelHandle::kNone;
  }
  StateHandle make_state(ModelHandle model) {
    auto made = runtime.make_state(model);
    EXPECT_TRUE(made.ok());
    return made.ok() ? *made : StateHandle::kNone;
  }
  // Runs with the inputs and backings of the fixture.
  Failure run(ModelHandle model, StateHandle with) {
    return runtime.predict(model, {.inputs = inputs,
                                   .backings = backings,
                                   .state = with,
                                   .take = [&](std::string_view, const Array* array) {
                                     const Array& from =
                                         array != nullptr ? *array : backings[0].array;
                                     Tensor copy(from.dtype, from.shape);
                                     copy_elements(from, array_of(copy.mutable_view()));
                                     taken = to_floats(copy.view());
                                   }});
  }
  // Expects exactly one violation, with this text in it.
  void expect_caught(const Failure& failure, const std::string& text) {
    ASSERT_TRUE(failure.has_value()) << text;
    EXPECT_EQ(failure->chain[0].domain, kMisuseDomain) << describe(*failure);
    ASSERT_EQ(runtime.violations().size(), 1u) << text;
    EXPECT_NE(runtime.violations()[0].find(text), std::string::npos) << runtime.violations()[0];
  }

  anemone::testing::TemporaryFolder folder;
  CheckedRuntime runtime;
  std::string compiled;
  Tensor x = halves({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor sum{DType::kFp16, {1, 2, 3}};
  std::vector<NamedArray> inputs = {{"x", array_of(x.view())}};
  std::vector<NamedArray> backings = {{"sum", array_of(sum.mutable_view())}};
  std::vector<float> taken;
  ModelHandle decode = ModelHandle::kNone;
  StateHandle state = StateHandle::kNone;
};

TEST_F(Mutations, NothingIsWrongWithoutOne) {
  EXPECT_FALSE(run(decode, state).has_value());
  EXPECT_FALSE(run(load("prefill"), state).has_value());
  EXPECT_EQ(taken, (std::vector<float>{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(to_floats(sum.view()), taken);
  EXPECT_TRUE(runtime.violations().empty());
}

TEST_F(Mutations, StateOfAnotherPackage) {
  compiled = compile("b");
  expect_caught(run(load("decode"), state), "state is of another package");
}
TEST_F(Mutations, StateOfOtherUnits) {
  expect_caught(run(load("decode", ComputeUnits::kCpuOnly), state), "other units");
}
TEST_F(Mutations, NoState) {
  expect_caught(run(decode, StateHandle::kNone), "runs without");
}
TEST_F(Mutations, StateForAFunctionWithoutStates) {
  backings.clear();
  expect_caught(run(load("twice"), state), "runs with some");
}
TEST_F(Mutations, StateAfterItsRelease) {
  runtime.release(state);
  expect_caught(run(decode, state), "the state was released");
}
TEST_F(Mutations, StateIsReleasedTwice) {
  runtime.release(state);
  runtime.release(state);
  ASSERT_EQ(runtime.violations().size(), 1u);
}
TEST_F(Mutations, ModelAfterItsRelease) {
  runtime.release(decode);
  expect_caught(run(decode, state), "the model was released");
}
TEST_F(Mutations, HandleThatNobodyGave) {
  expect_caught(run(ModelHandle{99}, state), "the model was released, or is none");
}
TEST_F(Mutations, StateAccessedAfterItsRelease) {
  runtime.release(state);
  expect_caught(runtime.access_state(state, "total", [](const Array&) { FAIL(); }), "released");
}
TEST_F(Mutations, StateOfAnUnknownName) {
  expect_caught(runtime.access_state(state, "other", [](const Array&) { FAIL(); }), "no state");
}

TEST_F(Mutations, TwoPredictionsWithOneState) {
  const ModelHandle prefill = load("prefill");
  Failure inner;
  runtime.in_predict = [&] {
    runtime.in_predict = nullptr;
    inner = run(prefill, state);
  };
  EXPECT_FALSE(run(decode, state).has_value());
  expect_caught(inner, "two predictions at a time with one state");
}
TEST_F(Mutations, TwoPredictionsWithOneModel) {
  const StateHandle other = make_state(decode);
  Failure inner;
  runtime.in_predict = [&] {
    runtime.in_predict = nullptr;
    inner = run(decode, other);
  };
  EXPECT_FALSE(run(decode, state).has_value());
  expect_caught(inner, "two predictions at a time with one model");
}
TEST_F(Mutations, StateIsReadWhileItRuns) {
  Failure inner;
  runtime.in_predict = [&] {
    inner = runtime.access_state(state, "total", [](const Array&) { FAIL(); });
  };
  EXPECT_FALSE(run(decode, state).has_value());
  expect_caught(inner, "accessed while it is in use");
}
TEST_F(Mutations, ModelIsReleasedWhileItRuns) {
  runtime.in_predict = [&] { runtime.release(decode); };
  EXPECT_FALSE(run(decode, state).has_value());
  ASSERT_EQ(runtime.violations().size(), 1u);
}

TEST_F(Mutations, InputIsMissing) {
  inputs.clear();
  expect_caught(run(decode, state), "no value for input x");
}
TEST_F(Mutations, InputComesTwice) {
  inputs.push_back(inputs[0]);
  expect_caught(run(decode, state), "two inputs x");
}
TEST_F(Mutations, InputIsUnknown) {
  inputs[0].name = "z";
  expect_caught(run(decode, state), "no input z");
}
TEST_F(Mutations, InputHasAnotherShape) {
  inputs[0].array.shape = {1, 2, 2};
  expect_caught(run(decode, state), "expected shape [1, 2, 3], got [1, 2, 2]");
}
TEST_F(Mutations, InputHasAnotherType) {
  inputs[0].array.dtype = DType::kInt32;
  expect_caught(run(decode, state), "another type");
}
TEST_F(Mutations, InputHasNoMemory) {
  inputs[0].array.data = nullptr;
  expect_caught(run(decode, state), "no memory");
}
TEST_F(Mutations, InputIsTooSmall) {
  inputs[0].array.bytes = 11;
  expect_caught(run(decode, state), "11 bytes are too few");
}
TEST_F(Mutations, StrideLeadsBehindTheMemory) {
  inputs[0].array.strides[1] = 4;
  expect_caught(run(decode, state), "12 bytes are too few");
}
TEST_F(Mutations, StrideMakesRowsOverlap) {
  inputs[0].array.strides[1] = 2;
  expect_caught(run(decode, state), "stride 2 of axis 1 is too small");
}
TEST_F(Mutations, StrideIsZero) {
  inputs[0].array.strides[2] = 0;
  expect_caught(run(decode, state), "stride 0 of axis 2");
}
TEST_F(Mutations, StrideIsNegative) {
  inputs[0].array.strides[1] = -3;
  expect_caught(run(decode, state), "stride -3 of axis 1");
}
TEST_F(Mutations, StridesOfAnotherRank) {
  inputs[0].array.strides.pop_back();
  expect_caught(run(decode, state), "strides of another rank");
}
TEST_F(Mutations, BackingIsUnknown) {
  backings[0].name = "z";
  expect_caught(run(decode, state), "no output z");
}
TEST_F(Mutations, BackingIsTooSmall) {
  backings[0].array.bytes -= 2;
  expect_caught(run(decode, state), "10 bytes are too few");
}
TEST_F(Mutations, BackingHasAnotherShape) {
  backings[0].array.shape = {1, 3, 2};
  expect_caught(run(decode, state), "another shape");
}
TEST_F(Mutations, BackingIsTheInput) {
  backings[0].array.data = inputs[0].array.data + 2;
  expect_caught(run(decode, state), "backing sum lies in input x");
}

TEST_F(Mutations, RowsAreNotPadded) {
  CheckedRuntime padded({.row_bytes = 64});
  auto model = padded.load(compiled, {.function = "twice", .display_name = {}});
  ASSERT_TRUE(model.ok());
  const Failure failure =
      padded.predict(*model, {.inputs = inputs, .backings = {}, .take = [](auto, const Array*) {}});
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(padded.violations(),
            (std::vector<std::string>{"input x: rows are no multiple of 64 bytes"}));
}
TEST_F(Mutations, TargetOfACompilationExists) {
  expect_caught(runtime.compile(folder.file("a.mlpackage"), compiled), "the target exists");
}
TEST_F(Mutations, PackageIsLoadedWithoutBeingCompiled) {
  const auto loaded =
      runtime.load(folder.file("a.mlpackage"), {.function = {}, .display_name = {}});
  ASSERT_FALSE(loaded.ok());
  expect_caught(loaded.error(), "expected a .mlmodelc");
}
TEST_F(Mutations, UnknownFunctionIsAnErrorOfCoreMl) {
  const auto loaded = runtime.load(compiled, {.function = "other", .display_name = {}});
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(map_error(loaded.error(), "a", "b").cause, Cause::kFunctionName);
  EXPECT_TRUE(runtime.violations().empty());
}
TEST_F(Mutations, WhatIsUnspecifiedAfterAnErrorIsNan) {
  EXPECT_FALSE(run(decode, state).has_value());
  runtime.inject({.call = Fault::Call::kPredict, .error = runtime_error("d", 1, "no")});
  EXPECT_TRUE(run(decode, state).has_value());
  EXPECT_TRUE(std::ranges::all_of(to_floats(sum.view()), [](float v) { return std::isnan(v); }));
  const Failure read = runtime.access_state(state, "total", [](const Array& array) {
    Tensor copy(array.dtype, array.shape);
    copy_elements(array, array_of(copy.mutable_view()));
    EXPECT_TRUE(std::ranges::all_of(to_floats(copy.view()), [](float v) { return std::isnan(v); }));
  });
  EXPECT_FALSE(read.has_value());
}

}  // namespace
}  // namespace anemone::exec::coreml::testing
