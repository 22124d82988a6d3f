// SPDX-License-Identifier: Apache-2.0
#include "compiler/recipe.h"

#include <array>

namespace anemone::compiler {
namespace {

using models::WeightRole;

struct RoleName {
  WeightRole role;
  std::string_view name;
};
constexpr std::array<RoleName, 5> kRoles = {{{WeightRole::kAttentionQkv, "qkv"},
                                             {WeightRole::kAttentionOutput, "attention-output"},
                                             {WeightRole::kMlpGateUp, "gate-up"},
                                             {WeightRole::kMlpDown, "down"},
                                             {WeightRole::kHead, "head"}}};

}  // namespace

quant::QuantOptions Recipe::options_for(WeightRole role) const {
  quant::QuantOptions out = quant;
  if (const auto own = by_role.find(role); own != by_role.end()) out.scheme = own->second;
  if (out.scheme == quant::Scheme::kMixed) {
    const bool is_mlp = role == WeightRole::kMlpGateUp || role == WeightRole::kMlpDown;
    out.scheme = is_mlp ? quant::Scheme::kInt4Block : quant::Scheme::kInt8;
  }
  return out;
}

std::string_view role_name(WeightRole role) {
  return kRoles[static_cast<std::size_t>(role)].name;
}

std::optional<WeightRole> parse_role(std::string_view name) {
  for (const RoleName& row : kRoles)
    if (row.name == name) return row.role;
  return std::nullopt;
}

std::vector<std::string_view> role_names() {
  std::vector<std::string_view> names;
  for (const RoleName& row : kRoles) names.push_back(row.name);
  return names;
}

}  // namespace anemone::compiler
