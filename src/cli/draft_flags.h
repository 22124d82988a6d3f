// SPDX-License-Identifier: Apache-2.0
// --draft and --draft-ngram, which several subcommands have.
#pragma once

#include <anemone/status.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cli/command.h"
#include "engine/model/model.h"
#include "engine/speculation/speculator.h"

namespace anemone::cli {

struct DraftFlags {
  std::int64_t ngram = 0;  // 0: off
  std::string model;       // empty: none
  bool is_on() const { return ngram > 0 || !model.empty(); }
};

void add_draft_flags(CLI::App& command, DraftFlags& flags);

// Loads the draft model, if there is one, and checks that it fits all of `models`.
Result<engine::SpeculationOptions> load_speculation(
    const DraftFlags& flags, std::span<const std::shared_ptr<const engine::Model>> models,
    const Context& context);

}  // namespace anemone::cli
