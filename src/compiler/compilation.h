// SPDX-License-Identifier: Apache-2.0
// Carries a compile plan out: packages, embeddings, text files and the manifest.
#pragma once

#include <anemone/status.h>

#include <string>

#include "checkpoint/checkpoint.h"
#include "compiler/compile_plan.h"
#include "compiler/compiler.h"
#include "compiler/journal.h"

namespace anemone::compiler {

// Writes into `folder`, where the journal notes what is begun and what is finished. A null journal
// is a dry run: every graph is built and nothing is written.
Result<CompileReport> run_plan(const checkpoint::Checkpoint& checkpoint, CompilePlan plan,
                               const std::string& folder, Journal* journal,
                               const CompileProgress& progress);

}  // namespace anemone::compiler
