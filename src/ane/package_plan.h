// SPDX-License-Identifier: Apache-2.0
// How a model is cut into packages, in the user's words: what `compile --plan` and --shards name.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace anemone::ane {

struct PackagePlan {
  std::string layers = "auto";   // as plan_layer_shards() takes it
  std::string experts = "auto";  // as plan_expert_packs() takes it
  // How many packages of heads there are; 0: as few as the limits, or a size for layers, allow.
  std::int64_t heads = 0;
  // The heads are in the package of the last layers, whatever that weighs; then `heads` is 0.
  bool has_head_inside = false;

  bool is_automatic() const {
    return layers == "auto" && experts == "auto" && heads == 0 && !has_head_inside;
  }
  bool operator==(const PackagePlan&) const = default;
};

// Layers by the word of --shards; a size is one for packages of experts and heads, too.
PackagePlan plan_of_shards(std::string_view spec);

struct NamedPlan {
  std::string_view name;
  std::string_view what;  // for people, in one line, with its source
  PackagePlan plan;
};
std::span<const NamedPlan> named_plans();
std::vector<std::string_view> plan_names();

// The plan of that name, or, for "FILE.json", what the file says: an object with "layers" and
// "experts" (each a text or a number of packages) and "heads" (a number of packages, or "inside"
// for has_head_inside), or with "measured" in place of "layers": [{"layers": "0:20", "ms": 33.1},
// ...], of which the ranges that cover all layers in the least time are taken. kInvalidArgument,
// naming the file, for anything else; the errors of read_json_file().
Result<PackagePlan> read_plan(const std::string& name_or_file);

// A package of the layers [begin, end) that was measured.
struct MeasuredRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  double cost = 0;
};
// The ranges that cover [0, the largest end) one after the other at the least total cost, as the
// spec "0:20,20:24"; a shortest path over the borders, O(n log n). kInvalidArgument where none do.
Result<std::string> cheapest_ranges(std::vector<MeasuredRange> measured,
                                    const std::string& subject);

}  // namespace anemone::ane
