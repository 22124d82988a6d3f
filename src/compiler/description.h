// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "artifact/manifest.h"
#include "checkpoint/checkpoint.h"
#include "compiler/compile_plan.h"
#include "compiler/compiler.h"
#include "compiler/source_files.h"
#include "mlpackage/package_writer.h"

namespace anemone::compiler {

// The manifest of a planned artifact, as far as it is known before anything is written: no shards,
// heads, embedding or files. `notes` gets what is left out of it.
artifact::Manifest describe_model(const checkpoint::Checkpoint& checkpoint, const CompilePlan& plan,
                                  std::vector<std::string>& notes);

// A hash of everything that the pieces of an artifact depend on. The version of anemone is part of
// it, since the manifest has it.
std::string fingerprint(const checkpoint::Checkpoint& checkpoint, const CompilePlan& plan,
                        const SourceFiles& source);

// What the experts of a plan cost, which has some.
ExpertsReport describe_experts(const CompilePlan& plan);

// How long the open axes of the inputs of packages may be, by the names of the inputs. The open
// axis of an input that has no name here has the tokens of a step.
struct OpenAxes {
  std::int64_t tokens = 1;                    // of a step, at most
  std::map<std::string, std::int64_t> tails;  // update masks: columns before those of the tokens
  // Caches that grow, and masks over them: the most positions.
  std::map<std::string, std::int64_t> pasts;

  // Adds the inputs of a shard.
  void add(const artifact::Form& form, const artifact::Shard& shard, std::int64_t context);
};

// Sets what callers see of a package whose program is complete: its functions with their
// interfaces, and `text`.
Status describe_package(std::string text, const OpenAxes& axes, mlpackage::Model& model);

}  // namespace anemone::compiler
