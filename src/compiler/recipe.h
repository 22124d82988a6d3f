// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/weights.h"
#include "quant/scheme.h"

namespace anemone::compiler {

// How the weights of a checkpoint are stored, by what they do.
struct Recipe {
  // The scheme is kPassthrough for checkpoints that hold quantized matrices (decided by
  // make_compile_plan).
  bool is_auto = false;
  quant::QuantOptions quant = {};
  // Roles with a scheme of their own.
  std::map<models::WeightRole, quant::Scheme> by_role = {};

  quant::QuantOptions options_for(models::WeightRole role) const;
  // "lut4, head int8": the scheme, then the roles that differ.
  std::string description() const;
};

// The scheme of that name for everything; "auto": int8, or what a quantized checkpoint has;
// "mixed": four bits for the MLP, which holds most of the weights, and eight for the rest.
std::optional<Recipe> parse_recipe(std::string_view name);
std::vector<std::string_view> recipe_names();

// The role with that name on the command line: "qkv", "attention-output", "gate-up", "down",
// "head".
std::optional<models::WeightRole> parse_role(std::string_view name);
std::vector<std::string_view> role_names();

}  // namespace anemone::compiler
