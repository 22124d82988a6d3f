// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "artifact/manifest.h"
#include "engine/model/mask_pool.h"
#include "engine/model/step_inputs.h"
#include "exec/executor.h"
#include "tensor/dtype.h"

namespace anemone::engine {

// One function of all packages: what goes into each shard.
struct FunctionPlan {
  static constexpr int kHidden = -1;
  static constexpr int kExperts = -2;

  const artifact::Function* function = nullptr;
  std::int64_t context = 0;   // S
  std::string head_function;  // of the heads, for as many tokens
  std::vector<HostInput> host_inputs;
  // [shard][input of the shard]: index into host_inputs, kHidden or kExperts.
  std::vector<std::vector<int>> ports;
  DType hidden_dtype = DType::kFp16;               // of the first shard's input
  std::vector<std::vector<exec::MaskFact>> facts;  // [shard]: of its inputs that are facts
  std::shared_ptr<MaskPool> masks = std::make_shared<MaskPool>();  // of all steps of the function
};

using Programs = std::vector<std::shared_ptr<const exec::LoadedProgram>>;

// Compares one function of every package with the manifest, name by name and shape by shape, and
// works out what the host has to fill. kCorrupt: "[layers_00_11.mlpackage] expected input cos
// fp16 [1, 1, 64, 32], got fp16 [1, 1, 64, 16] (function prefill)".
Result<FunctionPlan> plan_function(const artifact::Manifest& manifest,
                                   const artifact::Function& function, const Programs& shards,
                                   const Programs& heads);

// kCorrupt when the package of Manifest::embed lacks a function of the heads, or has one of another
// form.
Status check_embed(const artifact::Manifest& manifest, const exec::LoadedProgram& program);

// kCorrupt when a package of experts lacks a function for one of them, or has one of another form.
Status check_expert_packs(const artifact::Manifest& manifest, const artifact::Experts& experts,
                          const Programs& packs);

}  // namespace anemone::engine
