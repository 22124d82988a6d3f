// SPDX-License-Identifier: Apache-2.0
// Packages that answer what is contested about the chip: each probe differs from another one in one
// thing, so that a Mac can tell what the thing costs. docs/probe-results.md says what a Mac writes.
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/form.h"
#include "exec/executor.h"

namespace anemone::probe {

// How large the packages are. Core ML leaves small ones to the CPU whatever their form, so only
// tests and the selftest may use others than these.
struct Sizes {
  std::int64_t layers = 8;        // of compiled models
  std::int64_t graph_layers = 4;  // of graphs that are built here
  std::int64_t hidden = 1024;
  std::int64_t intermediate = 4096;
  std::int64_t heads = 16;
  std::int64_t kv_heads = 4;
  std::int64_t context = 512;
  std::int64_t window = 128;      // of layers that attend to the last positions only
  std::int64_t tokens = 64;       // of prefill
  std::int64_t head_unit = 1024;  // a head "16k" wide has 16 times as many outputs

  std::int64_t head_dim() const { return hidden / heads; }
};

// What is written for a probe. Probes of the same build share their packages.
struct Build {
  // kModel: a Qwen2 of random weights that the compiler writes in a form. The others are graphs of
  // random weights (graphs.h).
  enum class Kind { kModel, kStates, kNotch, kHead, kTaps, kSoftplus, kRange };
  Kind kind = Kind::kModel;
  // kModel: of compiler::recipe_names().
  std::string_view quant = "int8-channel";
  artifact::Form form = {.cache = artifact::CacheForm::kReadOnly};
  bool has_windows = false;  // kModel: the upper half of the layers attends to Sizes::window
  int functions = 1;         // 1: decode; 2: prefill, too; 4: both with a smaller context, too
  // Others: which one of the alternatives; kHead: thousands of outputs; kStates: states, 0 for two
  // per layer.
  int variant = 0;
  int parts = 1;  // kHead: convolutions that share the outputs

  bool operator==(const Build&) const = default;
};

// One row of the table.
struct Probe {
  std::string_view id;
  std::string_view question;
  std::string_view source;   // who measured what, and who disagrees
  std::string_view differs;  // from the probe that it is to be compared with
  Build build = {};
};
std::span<const Probe> probes();
// The probes of these ids, all for none. kInvalidArgument for an id that there is not.
Result<std::vector<Probe>> choose(const std::vector<std::string>& ids);

struct Options {
  Sizes sizes = {};
  std::uint64_t seed = 1;
  int threads = 0;                            // 0: default_thread_count()
  const std::atomic<bool>* cancel = nullptr;  // may be null; outlives the call
};

struct PlannedProbe {
  std::string_view id;
  std::uint64_t bytes = 0;            // of its packages' weights
  std::string_view packages_of = {};  // the id of the earlier probe whose packages it shares
};
struct ProbePlan {
  std::vector<PlannedProbe> probes;
  std::uint64_t total_bytes = 0;  // shared packages count once
};
// What write_probes() would write; reads and writes nothing but small files.
Result<ProbePlan> plan_probes(const std::vector<Probe>& chosen, const Options& options);

// Called before each probe: how many are done, how many there are, and which one comes.
using OnProbe = std::function<void(std::size_t done, std::size_t total, std::string_view id)>;

// Writes `output`: the packages of each build in a folder with the id of its first probe, inputs of
// each function and what `executor` gives for them from zero states, probe.json, which lists them
// by probe, and probe.swift, which runs them on a Mac. kInvalidArgument where `output` is there and
// is not an empty folder; after an error what was written is deleted. The same seed and sizes give
// the same bytes on one instruction set.
Status write_probes(const std::vector<Probe>& chosen, const std::string& output,
                    const Options& options, exec::Executor& executor,
                    const OnProbe& on_probe = nullptr);

}  // namespace anemone::probe
