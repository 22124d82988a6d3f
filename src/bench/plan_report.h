// SPDX-License-Identifier: Apache-2.0
// --explain: the plan of a function for people and programs, steps of one kind together.
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/manifest.h"
#include "base/json.h"
#include "engine/model/model.h"
#include "exec/executor.h"
#include "exec/profile.h"

namespace anemone::bench {

// The plan of one function of several packages that run one after the other.
class PlanReport {
 public:
  explicit PlanReport(std::string title) : title_(std::move(title)) {}

  // Adds the steps of a package; `package` is its name in the report. kInvalidArgument for a
  // program of an executor that does not explain itself, kNotFound for an unknown function.
  Status add(std::string package, const exec::LoadedProgram& program, std::string_view function);

  // Adds the experts after the shard that was added last, for steps of `tokens` tokens. Each step
  // of an expert stands once per package, with the cost of all experts of the package in one run of
  // the shard: the mean of the timed runs, or, before there are any, the share of the experts that
  // the tokens may activate. `packs`: the loaded packages, in the order of experts.packs.
  Status add_experts(const artifact::Experts& experts,
                     std::span<const std::shared_ptr<const exec::LoadedProgram>> packs,
                     std::int64_t tokens);

  // "title: 123 steps of 987 operations, ...", the kinds with the most costly first, and then the
  // `worst` most costly steps. Costs are those of one run; times are there after timed runs
  // (exec::set_timed) only.
  std::string text(std::size_t worst = 5) const;
  // {"title", "runs", "arena_bytes", "value_bytes", "kinds": [...], "steps": [...]}: see
  // docs/guide/bench.md.
  Json json() const;

 private:
  struct Item {
    std::string package;
    std::string kind;  // "projection int8"
    std::string operation;
    bool is_fused = false;
    std::int64_t count = 1;
    std::int64_t weight_bytes = 0;
    std::int64_t state_bytes = 0;
    std::int64_t flops = 0;
    double seconds = 0;  // of one run
  };
  using Items = std::vector<Item>;
  Status add_memory(const exec::LoadedProgram& program, std::string_view function);
  // The item of a step, without its costs.
  static Item item_of(const std::string& package, const exec::PlanStep& step);
  using Rows = std::vector<std::vector<std::string>>;

  Items kinds() const;
  static void sort(Items& items);
  static Item total_of(const Items& items);
  std::vector<std::string> cells(const Item& item, double all_seconds) const;

  const std::string title_;
  Items steps_;
  exec::ExpertsOfLayers experts_;
  exec::PlanMemory memory_;  // of all packages; experts of one run one after the other
  std::int64_t views_ = 0;
  std::int64_t runs_ = 0;
};

// The report of a model: the shards of `plan`, and one function of the heads.
Result<PlanReport> report_of(const engine::Model& model, std::string title,
                             const engine::FunctionPlan& plan, const std::string& head_function);
// Times the steps of all runs from now on, from zero, or no longer: see exec::set_timed.
Status set_timed(const engine::Model& model, bool is_timed);
Status set_timed(const exec::LoadedProgram& program, bool is_timed);

// Rows as columns of equal width, two spaces between them, numbers to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows, std::string_view indent,
                    std::size_t left_columns);

}  // namespace anemone::bench
