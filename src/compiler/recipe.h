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

// What an artifact is compiled for. Any machine runs it either way.
enum class Processor { kAne, kCpu };
// The one that runs artifacts on this machine: the Neural Engine on macOS.
Processor processor_here();

// How the weights of a checkpoint are stored, by what they do.
struct Recipe {
  quant::QuantOptions quant = {};
  // Roles with a scheme of their own.
  std::map<models::WeightRole, quant::Scheme> by_role = {};

  quant::QuantOptions options_for(models::WeightRole role) const;
  // "lut4, head int8": the scheme, then the roles that differ.
  std::string description() const;
};

// The scheme of that name for everything, or one of
//   "mixed"  four bits for the MLP, which holds most of the weights, and eight for the rest
//   "auto"   for the Neural Engine palettes of 6 bits, of 8 for the head, and of the checkpoint's
//            bits for matrices that it holds quantized; for the CPU what "keep" stands for
// The Neural Engine takes no scales per block of inputs, so "keep" stands for palettes there, too.
std::optional<Recipe> parse_recipe(std::string_view name, Processor processor = Processor::kCpu);
std::vector<std::string_view> recipe_names();

// The role with that name on the command line: "qkv", "attention-output", "gate-up", "down",
// "head".
std::optional<models::WeightRole> parse_role(std::string_view name);
std::vector<std::string_view> role_names();

}  // namespace anemone::compiler
