// SPDX-License-Identifier: Apache-2.0
#include "ane/package_plan.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "ane/shard_plan.h"
#include "base/error.h"
#include "base/json.h"

namespace anemone::ane {
namespace {

// Plans of packages that their authors ran, most of them on an M4 Max. Some packages exceed the
// numbers of layers or bytes of limits.h, which are safe on every chip. docs/guide/form.md says who
// the sources are.
const NamedPlan kPlans[] = {
    {"phi-4-mini-20-4-6-2",
     "packages of 20, 4, 6 and 2 layers, 4 of heads: 17.2 tokens per second, the fastest that was "
     "measured (ane-book)",
     {.layers = "0:20,20:24,24:30,30:32", .heads = 4}},
    {"phi-4-mini-11x3",
     "10 packages of 3 layers and one of 2, 4 of heads: 13 to 14 tokens per second (ane-book)",
     {.layers = "0:3,3:6,6:9,9:12,12:15,15:18,18:21,21:24,24:27,27:30,30:32", .heads = 4}},
    {"hy-mt-6x5",
     "6 packages of 5 layers and one of 2, 2 of heads (ane-book)",
     {.layers = "0:5,5:10,10:15,15:20,20:25,25:30,30:32", .heads = 2}},
    {"zaya1-by-layer",
     "a package for each layer, 3 of heads (ane-book)",
     {.layers = "each", .heads = 3}},
    {"lfm2-halves",
     "a package for each layer and 2 for its experts, 2 of heads; with --experts packs (ane-book)",
     {.layers = "each", .experts = "2", .heads = 2}},
    {"gemma-4-8-packs",
     "a package for each layer and 8 for its experts; with --experts packs (ane-book)",
     {.layers = "each", .experts = "8"}},
    {"privacy-filter-packs",
     "a package for each expert; with --experts packs (emilio)",
     {.experts = "each"}},
    {"one-package",
     "all layers and the head in one package, whose run gives the logits of its tokens (Aion)",
     {.layers = "1", .has_head_inside = true}},
};

// A text, or a number of packages.
Result<std::string> spec_of(const Json& value, std::string_view field, const std::string& file) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_unsigned()) return std::to_string(value.get<std::uint64_t>());
  return invalid_argument("[{}] expected \"{}\" to be a text or a whole number of packages, got {}",
                          file, field, value.dump());
}

Result<std::vector<MeasuredRange>> measured_of(const Json& list, const std::string& file) {
  const auto error = [&] {
    return invalid_argument(
        "[{}] expected \"measured\" to be a list of {{\"layers\": \"0:20\", \"ms\": 33.1}}, got "
        "another value",
        file);
  };
  if (!list.is_array()) return error();
  std::vector<MeasuredRange> out;
  for (const Json& item : list) {
    const Json* layers = item.is_object() ? json_member(item, "layers") : nullptr;
    const Json* ms = item.is_object() ? json_member(item, "ms") : nullptr;
    if (layers == nullptr || !layers->is_string() || ms == nullptr || !ms->is_number())
      return error();
    const auto& text = layers->get_ref<const std::string&>();
    const auto range = parse_range(text);
    const double cost = ms->get<double>();
    if (!range || !(cost >= 0)) return error();
    out.push_back({range->begin, range->end, cost});
  }
  return out;
}

}  // namespace

PackagePlan plan_of_shards(std::string_view spec) {
  PackagePlan plan{.layers = std::string(spec)};
  if (spec.ends_with('B')) plan.experts = plan.layers;  // a size, such as 500MB
  return plan;
}

std::span<const NamedPlan> named_plans() {
  return kPlans;
}

std::vector<std::string_view> plan_names() {
  std::vector<std::string_view> names;
  for (const NamedPlan& each : kPlans) names.push_back(each.name);
  return names;
}

Result<std::string> cheapest_ranges(std::vector<MeasuredRange> measured,
                                    const std::string& subject) {
  struct Best {
    double cost = 0;
    std::int64_t begin = 0;  // of the last range
  };
  // The cheapest way to each border. No range that is still to come ends where this one begins,
  // because they are sorted by their ends: the way to its begin is final. Of ways with equal costs
  // the one whose last range begins first is taken, in whatever order the file has them.
  std::map<std::int64_t, Best> best{{0, {}}};
  std::ranges::sort(measured, [](const MeasuredRange& a, const MeasuredRange& b) {
    return std::tie(a.end, a.begin) < std::tie(b.end, b.begin);
  });
  std::int64_t layers = 0;
  for (const MeasuredRange& range : measured) {
    layers = std::max(layers, range.end);
    const auto from = best.find(range.begin);
    if (from == best.end()) continue;
    const double cost = from->second.cost + range.cost;
    const auto [to, is_new] = best.try_emplace(range.end, Best{cost, range.begin});
    if (!is_new && cost < to->second.cost) to->second = {cost, range.begin};
  }
  if (layers == 0 || !best.contains(layers))
    return invalid_argument(
        "[{}] expected measured ranges of layers that follow each other from 0 to the largest end, "
        "{}, got none that do",
        subject, layers);
  std::vector<std::string> ranges;
  for (std::int64_t end = layers; end > 0; end = best[end].begin)
    ranges.push_back(fmt::format("{}:{}", best[end].begin, end));
  std::ranges::reverse(ranges);
  return fmt::format("{}", fmt::join(ranges, ","));
}

Result<PackagePlan> read_plan(const std::string& name_or_file) {
  if (!name_or_file.ends_with(".json")) {
    const auto it = std::ranges::find(kPlans, name_or_file, &NamedPlan::name);
    if (it != std::end(kPlans)) return it->plan;
    return invalid_argument("[--plan] expected a JSON file or one of {}, got \"{}\"",
                            fmt::join(plan_names(), ", "), name_or_file);
  }
  ANEMONE_ASSIGN_OR_RETURN(const Json json, read_json_file(name_or_file));
  if (!json.is_object())
    return invalid_argument("[{}] expected an object of fields, got {}", name_or_file,
                            json.type_name());
  PackagePlan plan;
  bool has_measured = false;
  for (const auto& [field, value] : json.items()) {
    if (field == "layers") {
      ANEMONE_ASSIGN_OR_RETURN(plan.layers, spec_of(value, field, name_or_file));
    } else if (field == "experts") {
      ANEMONE_ASSIGN_OR_RETURN(plan.experts, spec_of(value, field, name_or_file));
    } else if (field == "heads") {
      plan.has_head_inside = value == "inside";
      if (plan.has_head_inside) continue;
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMaxHeads)
        return invalid_argument(
            "[{}] expected \"heads\" to be a number from 0 to {} or \"inside\", got {}",
            name_or_file, kMaxHeads, value.dump());
      plan.heads = value.get<std::int64_t>();
    } else if (field == "measured") {
      has_measured = true;
      ANEMONE_ASSIGN_OR_RETURN(const auto measured, measured_of(value, name_or_file));
      ANEMONE_ASSIGN_OR_RETURN(plan.layers, cheapest_ranges(measured, name_or_file));
    } else {
      return invalid_argument(
          "[{}] expected the fields layers, experts, heads and measured, got \"{}\"", name_or_file,
          field);
    }
  }
  if (has_measured && json_member(json, "layers") != nullptr)
    return invalid_argument("[{}] expected \"layers\" or \"measured\", got both", name_or_file);
  return plan;
}

}  // namespace anemone::ane
