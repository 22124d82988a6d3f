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
constexpr std::array<RoleName, 6> kRoles = {{{WeightRole::kAttentionQkv, "qkv"},
                                             {WeightRole::kAttentionOutput, "attention-output"},
                                             {WeightRole::kMlpGateUp, "gate-up"},
                                             {WeightRole::kMlpDown, "down"},
                                             {WeightRole::kHead, "head"},
                                             {WeightRole::kEmbedding, "embedding"}}};

}  // namespace

quant::QuantOptions Recipe::options_for(WeightRole role) const {
  quant::QuantOptions out = quant;
  // A small matrix whose rounding would change which experts a token goes through.
  if (role == WeightRole::kRouter) {
    out.scheme = quant::Scheme::kNone;
    return out;
  }
  if (const auto own = by_role.find(role); own != by_role.end()) {
    out.scheme = own->second;
    out.keeps_bits = false;
  }
  return out;
}

std::string Recipe::description() const {
  std::string out(quant.keeps_bits ? "palettes of the checkpoint's bits, else " : "");
  out += quant::scheme_name(quant.scheme);
  for (const RoleName& row : kRoles) {
    const quant::Scheme own = options_for(row.role).scheme;
    // A table of embeddings does not follow the scheme of the matrices, so its own is always said.
    const bool is_own =
        row.role == WeightRole::kEmbedding ? by_role.contains(row.role) : own != quant.scheme;
    if (is_own) out.append(", ").append(row.name).append(" ").append(quant::scheme_name(own));
  }
  return out;
}

Processor processor_here() {
#ifdef __APPLE__
  return Processor::kAne;
#else
  return Processor::kCpu;
#endif
}

std::optional<Recipe> parse_recipe(std::string_view name, Processor processor) {
  const bool is_keep = name == quant::scheme_name(quant::Scheme::kPassthrough);
  if (processor == Processor::kAne && name == kAuto)
    return Recipe{.quant = {.scheme = quant::Scheme::kLut6, .keeps_bits = true},
                  .by_role = {{WeightRole::kHead, quant::Scheme::kLut8}}};
  if (processor == Processor::kAne && is_keep)
    return Recipe{.quant = {.scheme = quant::Scheme::kNone, .keeps_bits = true}};
  if (name == kAuto) return Recipe{.quant = {.scheme = quant::Scheme::kPassthrough}};
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
