// SPDX-License-Identifier: Apache-2.0
#include "bench/plan_report.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/progress.h"
#include "exec/profile.h"

namespace anemone::bench {
namespace {

std::string bytes_cell(std::int64_t bytes) {
  return bytes == 0 ? "-" : format_bytes(static_cast<std::uint64_t>(bytes));
}

// Billions, thousands: "1.23 G".
std::string count_cell(double value) {
  if (value <= 0) return "-";
  if (value >= 1e9) return fmt::format("{:.2f} G", value * 1e-9);
  if (value >= 1e6) return fmt::format("{:.2f} M", value * 1e-6);
  return fmt::format("{:.2f} k", value * 1e-3);
}

// A package may name its operations anything; what a terminal could obey is left out.
std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return text;
}

double milliseconds(double seconds) {
  return std::round(seconds * 1e7) * 1e-4;
}

}  // namespace

std::string aligned(const std::vector<std::vector<std::string>>& rows, std::string_view indent,
                    std::size_t left_columns) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - row[i].size(), ' ');
      if (i > 0) line += "  ";
      line += i < left_columns ? row[i] + gap : gap + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

PlanReport::Item PlanReport::item_of(const std::string& package, const exec::PlanStep& step) {
  Item item;
  item.package = package;
  item.kind = step.form.empty() ? step.name : step.name + " " + step.form;
  item.operation = step.operation;
  item.is_fused = step.is_fused;
  return item;
}

Status PlanReport::add(std::string package, const exec::LoadedProgram& program,
                       std::string_view function) {
  ANEMONE_ASSIGN_OR_RETURN(auto steps, exec::explain(program, function));
  ANEMONE_RETURN_IF_ERROR(add_memory(program, function));
  for (exec::PlanStep& step : steps) {
    experts_.apply(step);
    if (step.is_view) {
      ++views_;
      continue;
    }
    runs_ = std::max(runs_, step.runs);
    Item& item = steps_.emplace_back(item_of(package, step));
    item.weight_bytes = step.weight_bytes;
    item.state_bytes = step.state_bytes;
    item.flops = step.flops;
    if (step.runs > 0) item.seconds = step.seconds / static_cast<double>(step.runs);
  }
  return {};
}

Status PlanReport::add_memory(const exec::LoadedProgram& program, std::string_view function) {
  ANEMONE_ASSIGN_OR_RETURN(const auto memory, exec::explain_memory(program, function));
  memory_.arena_bytes += memory.arena_bytes;
  memory_.value_bytes += memory.value_bytes;
  return {};
}

Status PlanReport::add_experts(const artifact::Experts& experts,
                               std::span<const std::shared_ptr<const exec::LoadedProgram>> packs,
                               std::int64_t tokens) {
  const double share = std::min(
      1.0, static_cast<double>(experts.active * tokens) / static_cast<double>(experts.count));
  const auto scaled = [](std::int64_t cost, double factor) {
    return static_cast<std::int64_t>(std::llround(static_cast<double>(cost) * factor));
  };
  for (std::size_t p = 0; p < packs.size(); ++p) {
    const artifact::ExpertPack& pack = experts.packs[p];
    const std::size_t first = steps_.size();
    for (std::int64_t e = pack.begin; e < pack.end; ++e) {
      const std::string function = artifact::expert_function(e, experts.width_for(tokens));
      ANEMONE_ASSIGN_OR_RETURN(auto steps, exec::explain(*packs[p], function));
      std::erase_if(steps, [](const exec::PlanStep& step) { return step.is_view; });
      if (e == pack.begin) ANEMONE_RETURN_IF_ERROR(add_memory(*packs[p], function));
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const exec::PlanStep& step = steps[i];
        if (first + i == steps_.size()) {
          Item& added = steps_.emplace_back(item_of(pack.package, step));
          added.kind = "expert " + added.kind;
        }
        Item& item = steps_[first + i];
        const double runs =
            runs_ > 0 ? static_cast<double>(step.runs) / static_cast<double>(runs_) : share;
        item.weight_bytes += scaled(step.weight_bytes, runs);
        item.flops += scaled(step.flops, runs);
        if (runs_ > 0) item.seconds += step.seconds / static_cast<double>(runs_);
      }
    }
  }
  return {};
}

// Sorts by time; before there are times, by the bytes that have to be read.
void PlanReport::sort(Items& items) {
  std::ranges::stable_sort(items, std::ranges::greater(), [](const Item& item) {
    return std::tuple(item.seconds, item.weight_bytes + item.state_bytes, item.flops);
  });
}

PlanReport::Item PlanReport::total_of(const Items& items) {
  Item out;
  out.kind = "all";
  out.count = 0;
  for (const Item& item : items) {
    out.count += item.count;
    out.weight_bytes += item.weight_bytes;
    out.state_bytes += item.state_bytes;
    out.flops += item.flops;
    out.seconds += item.seconds;
  }
  return out;
}

PlanReport::Items PlanReport::kinds() const {
  Items out;
  for (const Item& step : steps_) {
    auto it = std::ranges::find_if(out, [&](const Item& item) {
      return item.kind == step.kind && item.is_fused == step.is_fused;
    });
    if (it == out.end()) {
      out.push_back(step);
      continue;
    }
    ++it->count;
    it->weight_bytes += step.weight_bytes;
    it->state_bytes += step.state_bytes;
    it->flops += step.flops;
    it->seconds += step.seconds;
  }
  sort(out);
  return out;
}

std::vector<std::string> PlanReport::cells(const Item& item, double all_seconds) const {
  std::vector<std::string> out = {bytes_cell(item.weight_bytes), bytes_cell(item.state_bytes),
                                  count_cell(static_cast<double>(item.flops))};
  if (runs_ == 0) return out;
  const auto rate = [&](double amount) {
    return amount > 0 && item.seconds > 0 ? fmt::format("{:.1f}", amount * 1e-9 / item.seconds)
                                          : std::string("-");
  };
  out.push_back(fmt::format("{:.3f}", item.seconds * 1e3));
  out.push_back(fmt::format("{:.1f} %", all_seconds > 0 ? 100 * item.seconds / all_seconds : 0));
  out.push_back(rate(static_cast<double>(item.weight_bytes)));
  // Attention computes as much as it is asked for, which is less than it could be.
  out.push_back(rate(item.state_bytes > 0 ? 0 : static_cast<double>(item.flops)));
  return out;
}

std::string PlanReport::text(std::size_t worst) const {
  const Items groups = kinds();
  const Item total = total_of(groups);
  const auto fused = std::ranges::count_if(steps_, [](const Item& item) { return item.is_fused; });
  std::string out = fmt::format("{}: {} steps, {} of them fused, {} more are views", title_,
                                steps_.size(), fused, views_);
  out += runs_ > 0 ? fmt::format("; mean of {} run{}\n", runs_, runs_ == 1 ? "" : "s") : "\n";
  out += fmt::format("  {} of values lie in {}\n", bytes_cell(memory_.value_bytes),
                     bytes_cell(memory_.arena_bytes));
  std::vector<std::string> heading = {"weights", "states", "flops"};
  if (runs_ > 0) heading.insert(heading.end(), {"ms", "share", "GB/s", "GFLOP/s"});

  Rows rows = {{"step", "fused", "count"}};
  rows.front().insert(rows.front().end(), heading.begin(), heading.end());
  const auto add_row = [&](std::vector<std::string> row, const Item& item) {
    for (std::string& cell : cells(item, total.seconds)) row.push_back(std::move(cell));
    rows.push_back(std::move(row));
  };
  for (const Item& item : groups)
    add_row({printable(item.kind), item.is_fused ? "yes" : "no", std::to_string(item.count)}, item);
  add_row({total.kind, "", std::to_string(total.count)}, total);
  out += aligned(rows, "  ", 2);

  Items steps = steps_;
  sort(steps);
  if (steps.size() > worst) steps.resize(worst);
  if (steps.empty()) return out;
  rows = {{"most costly", "operation", "package"}};
  rows.front().insert(rows.front().end(), heading.begin(), heading.end());
  for (const Item& item : steps)
    add_row({printable(item.kind), printable(item.operation), printable(item.package)}, item);
  return out + "\n" + aligned(rows, "  ", 3);
}

Json PlanReport::json() const {
  const auto figures = [this](Json out, const Item& item) {
    out["fused"] = item.is_fused;
    out["weight_bytes"] = item.weight_bytes;
    out["state_bytes"] = item.state_bytes;
    out["flops"] = item.flops;
    if (runs_ > 0) out["ms"] = milliseconds(item.seconds);
    return out;
  };
  Json kinds_json = Json::array();
  for (const Item& item : kinds())
    kinds_json.push_back(figures({{"kind", item.kind}, {"count", item.count}}, item));
  Json steps_json = Json::array();
  for (const Item& item : steps_)
    steps_json.push_back(figures(
        {{"package", item.package}, {"operation", item.operation}, {"kind", item.kind}}, item));
  return {{"title", title_},
          {"runs", runs_},
          {"views", views_},
          {"arena_bytes", memory_.arena_bytes},
          {"value_bytes", memory_.value_bytes},
          {"kinds", std::move(kinds_json)},
          {"steps", std::move(steps_json)}};
}

Result<PlanReport> report_of(const engine::Model& model, std::string title,
                             const engine::FunctionPlan& plan, const std::string& head_function) {
  const artifact::Manifest& manifest = model.manifest();
  PlanReport report(std::move(title));
  for (std::size_t s = 0; s < manifest.shards.size(); ++s) {
    ANEMONE_RETURN_IF_ERROR(
        report.add(manifest.shards[s].package, model.shard(s), plan.function->name));
    // A flexible function is explained for steps of one token.
    if (const auto& experts = manifest.shards[s].experts)
      ANEMONE_RETURN_IF_ERROR(report.add_experts(
          *experts, model.expert_packs(s), plan.function->is_flexible ? 1 : plan.function->tokens));
  }
  for (std::size_t p = 0; p < model.head_packages().size(); ++p)
    ANEMONE_RETURN_IF_ERROR(
        report.add(model.head_packages()[p].front().package, model.head_program(p), head_function));
  return report;
}

Status set_timed(const exec::LoadedProgram& program, bool is_timed) {
  return exec::set_timed(program, is_timed);
}

Status set_timed(const engine::Model& model, bool is_timed) {
  const artifact::Manifest& manifest = model.manifest();
  for (std::size_t s = 0; s < manifest.shards.size(); ++s) {
    ANEMONE_RETURN_IF_ERROR(exec::set_timed(model.shard(s), is_timed));
    for (const auto& pack : model.expert_packs(s))
      ANEMONE_RETURN_IF_ERROR(exec::set_timed(*pack, is_timed));
  }
  for (std::size_t p = 0; p < model.head_packages().size(); ++p)
    ANEMONE_RETURN_IF_ERROR(exec::set_timed(model.head_program(p), is_timed));
  return {};
}

}  // namespace anemone::bench
