// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <optional>

#include "exec/cpu/cpu_executor.h"
#include "exec/cpu/cpu_program.h"
#include "ir/program.h"

namespace anemone::exec {

// The tensor that a function output is handed out as: itself, the probabilities where it is the
// dictionary of a classifier, nothing for a string.
std::optional<ir::Type> output_type(const ir::Value& output);

// The interface that the types of a function give by themselves.
Signature signature_of(const ir::Function& function);

// load_program() with threads and a memory limit that other programs share.
Result<std::shared_ptr<const LoadedProgram>> load_with(std::shared_ptr<const ir::Program> program,
                                                       const ProgramInterface& interface,
                                                       const LoadOptions& options,
                                                       std::shared_ptr<SharedResources> shared);

}  // namespace anemone::exec
