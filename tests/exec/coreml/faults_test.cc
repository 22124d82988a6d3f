// SPDX-License-Identifier: Apache-2.0
// Every fault that the double can inject ends in a recovery or in one clear error, and leaves
// nothing behind.
#include <gtest/gtest.h>
#include <vector>

#include "exec/coreml/coreml_executor.h"
#include "tests/exec/coreml/checked_runtime.h"
#include "tests/exec/coreml/small_package.h"

namespace anemone::exec::coreml::testing {
namespace {

using Floats = std::vector<float>;
using Call = Fault::Call;

RuntimeError no_plan() {
  return runtime_error("com.apple.CoreML", 0,
                       "Failed to build the model execution plan with error code: -14.");
}
RuntimeError no_memory() {
  return runtime_error("NSPOSIXErrorDomain", 12, "Cannot allocate memory");
}
RuntimeError full_disk() {
  return {{{"com.apple.CoreML", 0, "functionName must be nil"},
           {"NSPOSIXErrorDomain", 28, "No space left on device"}}};
}

struct Faults : ::testing::Test {
  void SetUp() override {
    write_small_package(package);
    options.cache_folder = folder.file("cache");
  }
  void TearDown() override {
    state.reset();
    program.reset();
    executor.reset();
    EXPECT_EQ(runtime->violations(), std::vector<std::string>());
    EXPECT_EQ(runtime->live_models(), 0);
    EXPECT_EQ(runtime->live_states(), 0);
  }
  void load(bool when_first_run = false) {
    executor = make_coreml_executor(runtime, options);
    auto loaded = executor->load(package, {.functions = {}, .when_first_run = when_first_run});
    status = loaded.status();
    if (loaded.ok()) program = *loaded;
  }
  void make_state() {
    ASSERT_NE(program, nullptr) << status.message();
    auto made = program->make_state();
    ASSERT_TRUE(made.ok()) << made.status().message();
    state = *std::move(made);
  }
  Floats run(const std::string& function, float value = 1) {
    if (program == nullptr) return {};
    const Tensor x = halves({1, 2, 3}, Floats(6, value));
    Outputs outputs;
    status = program->run(function, {{"x", x.view()}}, outputs, state.get());
    return status.ok() ? to_floats(outputs[0].tensor.view()) : Floats();
  }
  void expect_error(Code code, const std::string& start) {
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_TRUE(status.message().starts_with(start)) << status.message();
  }

  anemone::testing::TemporaryFolder folder;
  const std::string package = folder.file("small.mlpackage");
  std::shared_ptr<CheckedRuntime> runtime = std::make_shared<CheckedRuntime>();
  CoreMlOptions options;
  std::unique_ptr<CoreMlExecutor> executor;
  std::shared_ptr<const LoadedProgram> program;
  std::unique_ptr<StateStore> state;
  Status status;
};

TEST_F(Faults, NoPlanOnceIsMendedByCompilingAgain) {
  runtime->inject({.call = Call::kLoad, .error = no_plan()});
  load();
  ASSERT_NE(program, nullptr) << status.message();
  EXPECT_EQ(runtime->compiles(), 2);
  EXPECT_TRUE(executor->notes().empty());
  EXPECT_EQ(run("twice"), Floats(6, 2));
}

TEST_F(Faults, NoPlanForTheChipFallsBackToTheCpuWithANote) {
  runtime->inject({.call = Call::kLoad,
                   .error = no_plan(),
                   .times = -1,
                   .units = {ComputeUnits::kCpuAndNeuralEngine}});
  load();
  ASSERT_NE(program, nullptr) << status.message();
  ASSERT_EQ(executor->notes().size(), 1u);
  EXPECT_TRUE(executor->notes()[0].starts_with("small.mlpackage: runs on the CPU alone, because"))
      << executor->notes()[0];
  for (const auto& [name, units] : runtime->units()) EXPECT_EQ(units, ComputeUnits::kCpuOnly);
  make_state();
  EXPECT_EQ(run("decode"), Floats(6, 1));
  EXPECT_EQ(run("prefill"), Floats(6, 2));
}

TEST_F(Faults, NoPlanWithoutFallbackIsAnError) {
  options.falls_back = false;
  runtime->inject({.call = Call::kLoad, .error = no_plan(), .times = -1});
  load();
  expect_error(Code::kDevice,
               "[small.mlpackage] cannot load function decode: Core ML has no valid plan");
  EXPECT_EQ(runtime->compiles(), 2);
}

TEST_F(Faults, NoPlanForAnyUnitsIsAnError) {
  runtime->inject({.call = Call::kLoad, .error = no_plan(), .times = -1});
  load();
  expect_error(Code::kDevice,
               "[small.mlpackage] cannot load function decode: Core ML has no valid plan");
}

TEST_F(Faults, LateFailureIsFoundByTheWarmUp) {
  runtime->inject({.call = Call::kPredict,
                   .error = no_plan(),
                   .times = -1,
                   .function = "prefill",
                   .units = {ComputeUnits::kCpuAndNeuralEngine}});
  load();
  ASSERT_NE(program, nullptr) << status.message();
  EXPECT_EQ(executor->notes().size(), 1u);
  // The function that was loaded before goes to the same units before it runs with the same states.
  make_state();
  EXPECT_EQ(run("decode"), Floats(6, 1));
  EXPECT_EQ(run("prefill"), Floats(6, 2));
  EXPECT_EQ(runtime->units().at("decode"), ComputeUnits::kCpuOnly);
}

TEST_F(Faults, StatesFollowWhenFunctionsFallBack) {
  // With and without a compilation between.
  for (const RuntimeError& error : {no_plan(), runtime_error("d", 1, "what")}) {
    load(true);
    make_state();
    EXPECT_EQ(run("decode", 3), Floats(6, 3));
    runtime->inject({.call = Call::kLoad,
                     .error = error,
                     .times = -1,
                     .function = "prefill",
                     .units = {ComputeUnits::kCpuAndNeuralEngine}});
    EXPECT_EQ(run("prefill", 4), Floats(6, 7));
    EXPECT_EQ(run("decode", 1), Floats(6, 8));
    EXPECT_EQ(runtime->units().at("decode"), ComputeUnits::kCpuOnly);
    EXPECT_EQ(runtime->live_states(), 1);
    state.reset();
    program.reset();
    runtime->clear_faults();
  }
  EXPECT_EQ(runtime->compiles(), 2);
}

TEST_F(Faults, StatesThatCannotFollowStayAsTheyAre) {
  load(true);
  make_state();
  run("decode", 3);
  runtime->inject({.call = Call::kLoad,
                   .error = no_plan(),
                   .times = 2,
                   .function = "prefill",
                   .units = {ComputeUnits::kCpuAndNeuralEngine}});
  // The warm-up of the new models makes states of its own first.
  runtime->inject({.call = Call::kMakeState, .error = no_memory(), .after = 1});
  run("prefill", 4);
  expect_error(Code::kOutOfMemory, "[small.mlpackage] cannot make states");
  EXPECT_EQ(run("prefill", 4), Floats(6, 7));
  EXPECT_EQ(runtime->live_states(), 1);
}

TEST_F(Faults, MemoryPressureReleasesFunctionsThatDoNotRun) {
  load(true);
  run("twice");
  EXPECT_EQ(runtime->live_models(), 1);
  runtime->inject({.call = Call::kLoad, .error = no_memory(), .function = "decode"});
  make_state();
  EXPECT_EQ(runtime->live_models(), 1);  // "twice" was released
  EXPECT_EQ(run("decode"), Floats(6, 1));
  EXPECT_EQ(run("twice"), Floats(6, 2));  // and loads again
  EXPECT_EQ(runtime->live_models(), 2);
}

TEST_F(Faults, MemoryThatNothingFreesIsAnError) {
  runtime->inject({.call = Call::kLoad, .error = no_memory(), .times = -1});
  load();
  expect_error(Code::kOutOfMemory,
               "[small.mlpackage] cannot load function decode: the system has no memory for it");
}

TEST_F(Faults, MemoryPressureInARunIsRetriedWithoutStatesOnly) {
  load();
  make_state();
  runtime->inject({.call = Call::kPredict, .error = no_memory(), .function = "twice"});
  EXPECT_EQ(run("twice"), Floats(6, 2));
  EXPECT_TRUE(status.ok()) << status.message();
  // Its first prediction is the warm-up: it was released when "twice" had no memory.
  runtime->inject({.call = Call::kPredict, .error = no_memory(), .function = "decode", .after = 1});
  run("decode");
  expect_error(Code::kOutOfMemory, "[small.mlpackage] cannot run function decode");
  // The states are unspecified, NaN here; a reset makes them good again.
  state->reset();
  EXPECT_EQ(run("decode"), Floats(6, 1));
}

TEST_F(Faults, NoPlanInARunIsRetriedWithoutStates) {
  load();
  runtime->inject({.call = Call::kPredict, .error = no_plan(), .function = "twice"});
  EXPECT_EQ(run("twice"), Floats(6, 2));
  EXPECT_EQ(runtime->compiles(), 2);
}

TEST_F(Faults, NoPlanInARunForEverIsAnError) {
  load();
  runtime->inject({.call = Call::kPredict, .error = no_plan(), .times = -1});
  run("twice");
  EXPECT_EQ(status.code(), Code::kDevice) << status.message();
  EXPECT_EQ(runtime->compiles(), 2);
}

TEST_F(Faults, FullDiskSaysSo) {
  runtime->inject({.call = Call::kCompile, .error = full_disk()});
  load();
  expect_error(Code::kIo, "[small.mlpackage] cannot compile: no space left on device; free space");
  runtime->inject({.call = Call::kLoad, .error = full_disk()});
  load();
  expect_error(Code::kIo, "[small.mlpackage] cannot load function decode: no space left on device");
}

TEST_F(Faults, CompiledModelThatCannotBeReadIsMadeAgain) {
  runtime->inject(
      {.call = Call::kFunctions, .error = runtime_error("com.apple.CoreML", 3, "damaged")});
  load();
  ASSERT_NE(program, nullptr) << status.message();
  EXPECT_EQ(runtime->compiles(), 2);
}

TEST_F(Faults, FailuresOfOtherCallsAreErrors) {
  runtime->inject({.call = Call::kDescribe, .error = runtime_error("d", 1, "what")});
  load();
  expect_error(Code::kDevice, "[small.mlpackage] cannot describe function decode");
  load();
  make_state();
  runtime->inject({.call = Call::kAccess, .error = runtime_error("d", 1, "what")});
  EXPECT_EQ(state->read("total").status().code(), Code::kDevice);
  runtime->inject({.call = Call::kAccess, .error = runtime_error("d", 1, "what")});
  state->reset();
  run("decode");
  expect_error(Code::kDevice, "[state total] cannot access");
  state->reset();
  EXPECT_EQ(run("decode"), Floats(6, 1));
  runtime->inject({.call = Call::kMakeState, .error = no_memory()});
  EXPECT_EQ(program->make_state().status().code(), Code::kOutOfMemory);
}

TEST_F(Faults, ExceptionOfCoreMlIsAnErrorOfOurs) {
  load();
  runtime->inject({.call = Call::kPredict, .error = runtime_error("NSException", 0, "nil")});
  run("twice");
  expect_error(Code::kInternal, "[small.mlpackage] cannot run function twice: the call breaks");
}

TEST_F(Faults, MachineWithoutAChipRunsAndSaysSo) {
  runtime->set_machine({"25F71", "VirtualMac2,1", false});
  load();
  ASSERT_NE(program, nullptr) << status.message();
  EXPECT_EQ(
      executor->notes(),
      (std::vector<std::string>{"this machine has no Neural Engine: packages run on the CPU"}));
  EXPECT_EQ(run("twice"), Floats(6, 2));
}

}  // namespace
}  // namespace anemone::exec::coreml::testing
