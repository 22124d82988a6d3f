// SPDX-License-Identifier: Apache-2.0
#include "compiler/target.h"

#include <fmt/ranges.h>

#include "base/error.h"

namespace anemone::compiler {
namespace {

Status fit_recipe(CompilePlan& plan, std::string_view system) {
  Recipe& recipe = plan.options.recipe;
  std::vector<quant::Scheme> schemes = {recipe.quant.scheme};
  // The host looks the embeddings up: no package has them.
  for (const auto& [role, scheme] : recipe.by_role)
    if (role != models::WeightRole::kEmbedding) schemes.push_back(scheme);
  bool has_palettes = recipe.quant.keeps_bits;
  for (const quant::Scheme scheme : schemes) {
    switch (scheme) {
      case quant::Scheme::kNone:
      case quant::Scheme::kInt8:
      case quant::Scheme::kInt8Channel:
        break;
      case quant::Scheme::kLut4:
      case quant::Scheme::kLut6:
      case quant::Scheme::kLut8:
        has_palettes = true;
        break;
      case quant::Scheme::kInt8Block:
      case quant::Scheme::kInt4Block:
      case quant::Scheme::kPassthrough:
        return unsupported(
            "[--quant] expected none, int8, int8-channel, lut4, lut6 or lut8 for {}, got {}: "
            "weights with a scale per block of inputs need iOS 18",
            system, quant::scheme_name(scheme));
    }
  }
  if (has_palettes && recipe.quant.group_size != 0) {
    recipe.quant.group_size = 0;
    plan.notes.push_back(
        fmt::format("{} has one palette per matrix, not one per group of channels: int8-channel "
                    "has a smaller error",
                    system));
  }
  return {};
}

}  // namespace

Status fit_to_target(CompilePlan& plan) {
  CompileOptions& options = plan.options;
  if (options.target >= ir::Opset::kIOS18) return {};
  const std::string_view system = ir::opset_target(options.target);
  if (options.form.has_packed_caches())
    return unsupported(
        "[--kv-form] expected readonly, growing or blend for {}, got slice: slice updates need "
        "iOS 18",
        system);
  if (options.form.has_expert_packs())
    return unsupported(
        "[--experts] expected dense for {}, got packs: several functions in a package need iOS 18",
        system);
  ANEMONE_RETURN_IF_ERROR(fit_recipe(plan, system));
  if (!options.tiers.empty()) {
    plan.notes.push_back(fmt::format("{} has one function per package: contexts {} left out",
                                     system, fmt::join(options.tiers, ", ")));
    options.tiers.clear();
  }
  if (plan.config.classifies() || options.range_dim) return {};
  if (options.draft_width != 0) {
    plan.notes.push_back(fmt::format("{} has one function per package: draft width {} left out",
                                     system, options.draft_width));
    options.draft_width = 0;
  }
  if (options.prefill != 1) {
    plan.notes.push_back(
        fmt::format("{} has one function per package: prompts are read token by token; --range-dim "
                    "with --kv-form blend reads up to {} at once",
                    system, options.prefill));
    options.prefill = 1;
  }
  return {};
}

}  // namespace anemone::compiler
