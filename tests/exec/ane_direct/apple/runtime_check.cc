// SPDX-License-Identifier: Apache-2.0
// Runs ane_runtime.mm, and the kernels above it, against the fake private classes
// (tools/ci/objcxx). Exits with 1 and a line per failed check.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "exec/ane_direct/text_form.h"
#include "tests/exec/ane_direct/apple/fake_ane.h"
#include "tests/exec/ane_direct/small_kernels.h"

namespace {

using namespace anemone;
using namespace anemone::exec;
using namespace anemone::exec::ane_direct;
using namespace anemone::exec::ane_direct::testing;
using Trouble = FakeAne::Trouble;
namespace fs = std::filesystem;

int failures = 0;
void check(bool holds, const char* text, int line) {
  if (holds) return;
  std::fprintf(stderr, "runtime_check.cc:%d: %s does not hold\n", line, text);
  ++failures;
}
#define CHECK(condition) check((condition), #condition, __LINE__)

// Folders of models in the temporary folder.
int folders() {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(temporary_folder()))
    if (entry.path().filename().string().starts_with("anemone-fake-ane-")) ++count;
  return count;
}

void check_handles() {
  const auto runtime = make_ane_runtime();
  CHECK(runtime != nullptr && runtime->chip() == "Apple M4 Max");
  const auto program = kernel_program(small_spec({4}, 6), ir::Opset::kIOS18);
  const auto text = write_text(*program);
  const auto compile = [&] { return runtime->compile(text->mil, text->weights(), kQos); };
  const auto model = compile();
  const auto twin = compile();  // of the same text, in the same folder
  CHECK(model.ok() && twin.ok() && folders() == 1);
  CHECK(!runtime->load(*model, kQos));
  const auto input = runtime->make_surface(384);
  const auto output = runtime->make_surface(256);
  CHECK(input.ok() && output.ok());
  const Failure written = runtime->access(*input, AneRuntime::Access::kWrite, [](auto memory) {
    std::ranges::fill(memory, std::byte{0});
  });
  CHECK(!written);
  const Failure read = runtime->access(*input, AneRuntime::Access::kRead, [](auto memory) {
    CHECK(memory.size() == 384);
    CHECK(std::ranges::count(memory, std::byte{0}) == 384);
  });
  CHECK(!read);
  CHECK(!runtime->evaluate(*model, {&*input, 1}, {&*output, 1}, kQos));
  const Failure swapped = runtime->evaluate(*model, {&*output, 1}, {&*input, 1}, kQos);
  CHECK(swapped && map_error(*swapped, "k", "a").cause == Cause::kSurface);
  runtime->release(*twin);
  CHECK(folders() == 1);
  CHECK(!runtime->unload(*model, kQos));
  const Failure unloaded = runtime->evaluate(*model, {&*input, 1}, {&*output, 1}, kQos);
  CHECK(unloaded && unloaded->chain[0].text == "the model is not loaded");
  runtime->release(*model);
  CHECK(folders() == 0);
  const Failure released = runtime->load(*model, kQos);
  CHECK(released && released->chain[0].domain == kMisuseDomain);
  runtime->release(*input);
  const Failure gone =
      runtime->access(*input, AneRuntime::Access::kRead, [](auto) { CHECK(false); });
  CHECK(gone && gone->chain[0].domain == kMisuseDomain);
  runtime->release(*output);
  // A compilation that fails leaves no folder.
  const auto wrong = runtime->compile("program(1.3)", {}, kQos);
  CHECK(!wrong.ok() && map_error(wrong.error(), "k", "a").cause == Cause::kText);
  for (const Trouble trouble : {Trouble::kException, Trouble::kNoReason}) {
    fake_ane().trouble = trouble;
    const auto failed = compile();
    CHECK(!failed.ok());
    CHECK(!failed.ok() && failed.error().chain[0].domain ==
                              (trouble == Trouble::kException ? "NSException" : kSilentDomain));
  }
}

void check_kernels(const char* chip) {
  fake_ane().ane.options.chip = chip;
  CompileBudget budget;
  const auto device = Device::open(make_ane_runtime(), {.budget = &budget, .load_pause_ms = 0});
  CHECK(device.ok());
  if (!device.ok()) {
    std::fprintf(stderr, "%s\n", device.status().message().c_str());
    return;
  }
  const std::vector<std::int64_t> rows = {4, 9};
  const KernelSpec spec = small_spec(rows, 6, true);
  const auto kernel = Kernel::make(*device, small_spec(rows, 6, true));
  CHECK(kernel.ok());
  if (!kernel.ok()) {
    std::fprintf(stderr, "%s\n", kernel.status().message().c_str());
    return;
  }
  for (int round = 0; round < 20; ++round) {
    const Tensor x = sixteenths({6, 35}, static_cast<std::uint32_t>(round));
    Tensor q(DType::kFp16, {4, 35});
    Tensor k(DType::kFp16, {9, 35});
    const Columns<Half> outputs[] = {{q.mutable_view().as<Half>().data(), 35, 1},
                                     {k.mutable_view().as<Half>().data(), 35, 1}};
    CHECK((*kernel)->run({x.view().as<Half>().data(), 35, 1}, 35, outputs).ok());
    CHECK(to_floats(q.view()) == product(spec.matrices[0], x));
    CHECK(to_floats(k.view()) == product(spec.matrices[1], x));
  }
  fake_ane().trouble = Trouble::kNoReason;
  const Tensor x = sixteenths({6, 1}, 1);
  Tensor y(DType::kFp16, {13, 1});
  Half* data = y.mutable_view().as<Half>().data();
  const Columns<Half> outputs[] = {{data, 1, 1}, {data + 4, 1, 1}};
  const Status failed = (*kernel)->run({x.view().as<Half>().data(), 1, 1}, 1, outputs);
  CHECK(failed.code() == Code::kDevice);
}

}  // namespace

int main() {
  FakeAne& fake = fake_ane();
  check_handles();
  for (const char* chip : {"Apple M1", "Apple M4 Max"}) check_kernels(chip);
  // What the check did wrong on purpose.
  for (const std::string& each : fake.ane.violations()) CHECK(each == "the model is not loaded");
  CHECK(fake.ane.violations().size() == 1);
  CHECK(fake.live_models == 0);
  CHECK(fake.live_surfaces == 0);
  CHECK(fake.locks == 0);
  CHECK(folders() == 0);
  std::printf("runtime_check of the Neural Engine: %d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
