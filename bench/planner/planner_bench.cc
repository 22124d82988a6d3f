// SPDX-License-Identifier: Apache-2.0
// How long it takes to plan published models from their config.json alone: the decisions, and the
// dry run, which builds the graphs of all packages and checks them against the laws of the chip.
// Each plan is checked first: its packages hold all layers, in order.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "compiler/compile_plan.h"
#include "compiler/compiler.h"

namespace anemone::compiler {
namespace {

constexpr int kRuns = 5;

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "bench_planner: %s\n", message.c_str());
  std::exit(1);
}

CompileOptions options() {
  CompileOptions out;
  out.form = default_form(Processor::kAne);
  out.recipe = *parse_recipe("auto", Processor::kAne);
  out.prefill = 0;
  out.dry_run = out.check = true;
  return out;
}

// The graphs of all packages, checked.
CompileReport dry_run(const std::string& model) {
  auto report = compile(model, "", options());
  if (!report.ok()) fail(report.status().message());
  return std::move(report).value();
}

// The decisions alone.
void plan(const std::string& model) {
  const auto checkpoint = checkpoint::open_for_planning(model);
  if (!checkpoint.ok()) fail(checkpoint.status().message());
  if (const auto plan = make_compile_plan(*checkpoint, options()); !plan.ok())
    fail(plan.status().message());
}

void expect_all_layers(const artifact::Manifest& manifest) {
  std::int64_t next = 0;
  for (const artifact::Shard& shard : manifest.shards) {
    if (shard.layers.begin > next) fail("a layer is in no package");
    next = shard.layers.end;
  }
  if (next != manifest.layers) fail("the last layers are in no package");
}

// The median of some runs, in milliseconds.
template <typename Work>
double time_of(const Work& work) {
  std::vector<double> times;
  for (int i = 0; i < kRuns; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    times.push_back(time.count());
  }
  std::ranges::nth_element(times, times.begin() + kRuns / 2);
  return times[kRuns / 2];
}

int run(std::vector<std::string> models) {
  if (models.empty())
    for (const auto& entry : std::filesystem::directory_iterator(std::string(ANEMONE_SOURCE_DIR) +
                                                                 "/tests/compiler/data/shapes"))
      models.push_back(entry.path());
  std::ranges::sort(models);
  std::printf("%-18s %6s %8s %9s %14s\n", "model", "layers", "packages", "plan, ms", "dry run, ms");
  for (const std::string& model : models) {
    const CompileReport report = dry_run(model);
    expect_all_layers(report.manifest);
    std::printf("%-18s %6lld %8zu %9.0f %14.0f\n", std::filesystem::path(model).filename().c_str(),
                static_cast<long long>(report.manifest.layers),
                report.manifest.shards.size() + report.manifest.heads.size(),
                time_of([&] { plan(model); }), time_of([&] { dry_run(model); }));
  }
  return 0;
}

}  // namespace
}  // namespace anemone::compiler

// usage: bench_planner [MODEL...]     folders with a config.json; by default those of the tests
int main(int count, char** arguments) {
  return anemone::compiler::run({arguments + 1, arguments + count});
}
