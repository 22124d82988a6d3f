// SPDX-License-Identifier: Apache-2.0
// Runs coreml_runtime.mm, and the executor above it, against the fake Core ML (tools/ci/objcxx).
// Exits with 1 and a line per failed check.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sanitizer/allocator_interface.h>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "exec/coreml/coreml_executor.h"
#include "exec/coreml/error_map.h"
#include "exec/coreml/residency.h"
#include "exec/coreml/runtime.h"
#include "tensor/tensor.h"
#include "tests/exec/coreml/apple/fake_coreml.h"

namespace {

using namespace anemone;
using namespace anemone::exec;
using namespace anemone::exec::coreml;
using anemone::exec::coreml::testing::fake_coreml;
using anemone::exec::coreml::testing::FakeCoreMl;
using Floats = std::vector<float>;

std::atomic<int> failures = 0;
void check(bool holds, const char* text, int line) {
  if (holds) return;
  std::fprintf(stderr, "runtime_check.cc:%d: %s does not hold\n", line, text);
  ++failures;
}
#define CHECK(condition) check((condition), #condition, __LINE__)

Floats run(const LoadedProgram& program, const char* function, float value, StateStore* states,
           Status* status = nullptr) {
  Tensor x(DType::kFp16, {1, 2, 3});
  store_floats(Floats(6, value), x.mutable_view());
  Outputs outputs;
  const Status done = program.run(function, {{"x", x.view()}}, outputs, states);
  if (status != nullptr) *status = done;
  return done.ok() ? to_floats(outputs[0].tensor.view()) : Floats();
}

void check_runtime(const std::string& folder, const std::string& package) {
  const auto runtime = make_coreml_runtime();
  CHECK(runtime != nullptr);
  const MachineInfo machine = runtime->machine();
  CHECK(machine.os_build == "25F71" && machine.hardware == "Mac16,10" && machine.has_neural_engine);
  const std::string compiled = folder + "/direct.mlmodelc";
  CHECK(!runtime->compile(package, compiled));
  CHECK(std::filesystem::exists(compiled));
  const Failure missing = runtime->compile(folder + "/none.mlpackage", folder + "/none.mlmodelc");
  CHECK(missing && missing->chain.size() == 2 && missing->chain[1].code == 28);
  CHECK(missing && map_error(*missing, "a", "b").cause == Cause::kDiskFull);
  const auto names = runtime->functions(compiled);
  CHECK(names.ok() && (*names).size() == 3);
  CHECK(!runtime->functions(folder + "/none.mlmodelc").ok());
  const auto info = runtime->describe(compiled, "decode");
  CHECK(info.ok() && (*info).inputs.size() == 1 && (*info).inputs[0].name == "x");
  CHECK(info.ok() && (*info).inputs[0].shape == (Shape{1, 2, 3}));
  CHECK(info.ok() && (*info).states.size() == 1 && (*info).states[0].dtype == DType::kFp16);
  CHECK(!runtime->describe(compiled, "none").ok());
  // Handles that were released, or never given.
  const auto model = runtime->load(compiled, {.function = "decode"});
  CHECK(model.ok());
  const auto state = runtime->make_state(*model);
  CHECK(state.ok());
  const auto nothing = [](const Array&) {};
  const Failure unknown = runtime->access_state(*state, "none", nothing);
  CHECK(unknown && unknown->chain[0].domain == kExceptionDomain);
  runtime->release(*state);
  runtime->release(*model);
  CHECK(!runtime->make_state(*model).ok());
  const Failure released = runtime->access_state(*state, "total", nothing);
  CHECK(released && released->chain[0].domain == kMisuseDomain);
  CHECK(runtime->predict(*model, {.inputs = {}, .take = nullptr}).has_value());
}

void check_executor(const std::string& folder, const std::string& package) {
  auto executor = make_coreml_executor(make_coreml_runtime(), {.cache_folder = folder + "/cache"});
  const auto loaded = executor->load(package, {});
  CHECK(loaded.ok());
  if (!loaded.ok()) {
    std::fprintf(stderr, "%s\n", loaded.status().message().c_str());
    return;
  }
  const LoadedProgram& program = **loaded;
  auto one = std::move(*program.make_state());
  auto two = std::move(*program.make_state());
  CHECK(run(program, "decode", 1, one.get()) == Floats(6, 1));
  CHECK(run(program, "prefill", 2, one.get()) == Floats(6, 3));
  CHECK(run(program, "decode", 7, two.get()) == Floats(6, 7));
  CHECK(run(program, "twice", 4, nullptr) == Floats(6, 8));
  // States are copied between sequences.
  const auto saved = one->read("total");
  CHECK(saved.ok() && to_floats(saved->view()) == Floats(6, 3));
  CHECK(saved.ok() && two->write("total", saved->view()).ok());
  CHECK(run(program, "decode", 1, two.get()) == Floats(6, 4));
  one->reset();
  CHECK(run(program, "decode", 1, one.get()) == Floats(6, 1));

  Status status;
  fake_coreml().trouble = FakeCoreMl::Trouble::kException;
  run(program, "twice", 1, nullptr, &status);
  CHECK(status.code() == Code::kInternal);
  CHECK(status.message().find("NSInvalidArgumentException: nil where") != std::string::npos);
  fake_coreml().trouble = FakeCoreMl::Trouble::kError;
  run(program, "decode", 1, one.get(), &status);
  CHECK(status.code() == Code::kIo);
  CHECK(status.message().find("NSPOSIXErrorDomain 28: No space left") != std::string::npos);
  CHECK(run(program, "twice", 1, nullptr) == Floats(6, 2));

  const auto plan = compute_plan(program, "twice");
  CHECK(plan.ok() && plan->size() == 2);
  const PredictedOperation predicted{"y", "conv", Device::kNeuralEngine, ""};
  if (plan.ok()) CHECK(join(*plan, {&predicted, 1}).verdict == Verdict::kResident);

  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      auto own = std::move(*program.make_state());
      for (int k = 1; k <= 20; ++k) {
        CHECK(run(program, "decode", 1, own.get()) == Floats(6, static_cast<float>(k)));
        CHECK(run(program, "twice", 1, own.get()) == Floats(6, 2));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// A long answer is thousands of predictions: none of them may leave memory behind. Each round runs
// predictions of both kinds and reads a state; memory of the heap is compared between rounds, after
// one in which caches of the system and of the executor fill.
void check_memory(const std::string& folder, const std::string& package) {
  constexpr int kRounds = 3;
  constexpr int kPredictions = 500;  // in a round
  // The fake, GNUstep and the allocator keep a little; one array per prediction would be 100 kB.
  constexpr std::size_t kSlack = 16 << 10;
  auto executor = make_coreml_executor(make_coreml_runtime(), {.cache_folder = folder + "/cache"});
  const auto loaded = executor->load(package, {});
  CHECK(loaded.ok());
  if (!loaded.ok()) return;
  auto states = std::move(*(*loaded)->make_state());
  std::size_t before = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kPredictions / 2; ++i) {
      states->reset();
      CHECK(run(**loaded, "decode", 1, states.get()) == Floats(6, 1));
      CHECK(run(**loaded, "twice", 2, nullptr) == Floats(6, 4));
    }
    CHECK(states->read("total").ok());
    const std::size_t now = __sanitizer_get_current_allocated_bytes();
    if (round > 0) {
      std::printf("memory after %d predictions: %+lld bytes\n", round * kPredictions,
                  static_cast<long long>(now) - static_cast<long long>(before));
      CHECK(now <= before + kSlack);
    } else {
      before = now;
    }
  }
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "anemone-objcxx-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  const std::string package = folder + "/small.mlpackage";
  if (!make_directories(package).ok() || !write_file(package + "/Manifest.json", "{}").ok())
    return 1;
  FakeCoreMl& fake = fake_coreml();
  check_runtime(folder, package);
  // With its outputs in the caller's memory, elsewhere, and in memory with padded rows.
  for (const bool uses_backings : {true, false})
    for (const int row : {3, 32}) {
      fake.uses_backings = uses_backings;
      fake.row_elements = row;
      check_executor(folder, package);
    }
  fake.row_elements = 3;
  check_memory(folder, package);
  // A pool around every call: nothing that Core ML made outlives the executor.
  CHECK(fake.live_arrays == 0);
  CHECK(fake.live_models == 0);
  CHECK(fake.live_states == 0);
  std::filesystem::remove_all(folder);
  std::printf("runtime_check: %d failures\n", failures.load());
  return failures == 0 ? 0 : 1;
}
