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

// The processor whose speed decides the defaults of a compilation. Any machine runs the artifact.
enum class Processor { kAne, kCpu };
// The Neural Engine on macOS, the CPU elsewhere.
Processor processor_here();

// How the weights of a checkpoint are stored, by their role in the model.
struct Recipe {
  quant::QuantOptions quant = {};  // of every role that is not in by_role
  std::map<models::WeightRole, quant::Scheme> by_role = {};

  quant::QuantOptions options_for(models::WeightRole role) const;
  // Whether the tables of embeddings have a scheme of their own.
  bool has_embedding_scheme() const { return by_role.contains(models::WeightRole::kEmbedding); }
  // "lut4, head int8": the scheme, then the roles that differ.
  std::string description() const;
};

// The recipe of a name: a quant::Scheme for every matrix ("int8", "lut6"), or one of
//   "mixed"  four bits for the MLP, which holds most of the weights, and eight for the rest;
//   "keep"   matrices that the checkpoint holds quantized keep their bits;
//   "auto"   for the CPU the same as "keep"; for the Neural Engine palettes of 6 bits, of 8 for the
//            head, and of the checkpoint's bits for matrices that it holds quantized.
// The Neural Engine takes no scales per block of inputs, so there "keep" gives palettes as well.
// nullopt for an unknown name.
std::optional<Recipe> parse_recipe(std::string_view name, Processor processor = Processor::kCpu);
std::vector<std::string_view> recipe_names();

// The role of a name on the command line: "qkv", "attention-output", "gate-up", "down", "head" or
// "embedding". nullopt for others.
std::optional<models::WeightRole> parse_role(std::string_view name);
std::vector<std::string_view> role_names();

}  // namespace anemone::compiler
