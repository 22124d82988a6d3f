// SPDX-License-Identifier: Apache-2.0
#include "compiler/recipe.h"

#include <array>

namespace anemone::compiler {
namespace {

using models::WeightRole;

constexpr std::string_view kMixed = "mixed";
constexpr std::string_view kAuto = "auto";

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
  // A small matrix whose rounding would change which experts a token goes through.
  if (role == WeightRole::kRouter) {
    out.scheme = quant::Scheme::kNone;
    return out;
  }
  if (const auto own = by_role.find(role); own != by_role.end()) out.scheme = own->second;
  return out;
}

std::string Recipe::description() const {
  std::string out(quant::scheme_name(quant.scheme));
  for (const RoleName& row : kRoles)
    if (const quant::Scheme own = options_for(row.role).scheme; own != quant.scheme)
      out.append(", ").append(row.name).append(" ").append(quant::scheme_name(own));
  return out;
}

std::optional<Recipe> parse_recipe(std::string_view name) {
  if (name == kAuto) return Recipe{.is_auto = true};
  if (name == kMixed)
    return Recipe{.quant = {.scheme = quant::Scheme::kInt8},
                  .by_role = {{WeightRole::kMlpGateUp, quant::Scheme::kInt4Block},
                              {WeightRole::kMlpDown, quant::Scheme::kInt4Block}}};
  const auto scheme = quant::parse_scheme(name);
  if (!scheme) return std::nullopt;
  return Recipe{.quant = {.scheme = *scheme}};
}

std::vector<std::string_view> recipe_names() {
  std::vector<std::string_view> names = quant::scheme_names();
  names.push_back(kMixed);
  names.push_back(kAuto);
  return names;
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
