// SPDX-License-Identifier: Apache-2.0
// Whether an executor computes what it should: models of random weights in the forms that the
// compiler writes, made on the spot, through the executor under test and through a reference. Where
// numbers differ, the first operation that computes something else is looked for. Nothing is read
// but what is written here, so that it runs anywhere.
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "engine/model/model.h"
#include "exec/executor.h"
#include "exec/placement.h"
#include "probe/probe.h"
#include "selftest/function_check.h"

namespace anemone::selftest {

// Relative errors (difference.h) up to these pass. Rounding of fp16 alone stays well below; what
// others reported as wrong numbers of the chip has errors of 0.5 and more.
inline constexpr double kTolerance = 0.05;

// A model that is checked: which form, which stored weights, which sizes.
struct Build {
  std::string form;   // of ane::form_names()
  std::string quant;  // of quant_names()
  bool is_large = false;
};
// The kinds of weights that builds have.
std::vector<std::string_view> quant_names();
// Every form with every kind of weights; the large ones after the small ones.
std::vector<Build> all_builds(bool has_large);
// Small ones compute in a moment, but Core ML leaves them to the CPU. The large ones have 4 layers
// of 1,024 channels in a package.
probe::Sizes sizes_of(const Build& build);

struct Options {
  std::vector<Build> builds;
  std::uint64_t seed = 1;
  int threads = 0;      // of the compiler; 0: as many as this process may use
  std::string scratch;  // a folder that is there, for what is made; the caller deletes it
  // Tells the placement of a loaded model. May be null: the executor does not say.
  std::function<Result<exec::Placement>(const engine::Model&)> place = {};
  // Deletes what the tested executor keeps on the disk of packages that are not loaded: called
  // after each build, and after each cut of a function that differs. May be null.
  std::function<void()> forget = {};
  // Before each build. May be null.
  std::function<void(std::size_t done, std::size_t total, std::string_view build)> progress = {};
  const std::atomic<bool>* cancel = nullptr;  // may be null; outlives the call
};

struct FunctionResult {
  std::string package;
  std::string function;
  double error = 0;     // the largest of its outputs and states
  std::string failure;  // the executor's error
  std::optional<FirstDifference> first;

  bool passed() const { return failure.empty() && error <= kTolerance; }
};

struct BuildResult {
  Build build;
  std::vector<FunctionResult> functions;
  double logits_error = 0;  // of a prompt in several steps and of some tokens after it
  std::string failure;      // the executor's error in that; empty: none
  std::optional<exec::Placement> placement;
  std::string placement_failure;  // where the executor could not tell it
  double decode_ms = 0;           // median of a step of one token; 0: not run

  bool passed() const;
};

struct Results {
  std::string executor;
  std::string reference;
  std::uint64_t seed = 0;
  std::vector<BuildResult> builds;

  bool passed() const;
};

// Runs all builds. Numbers that differ and errors of the tested executor are in the results; the
// call fails where a model cannot be made or the reference does not run it, and with kCancelled.
Result<Results> run(const Pair& pair, const Options& options);

// For people: a line per build, then a paragraph for each that did not pass.
std::string report_text(const Results& results);
// {"format": 1, "anemone", "executor", "reference", "seed", "tolerance", "builds": [...]}.
Json report_json(const Results& results);

}  // namespace anemone::selftest
