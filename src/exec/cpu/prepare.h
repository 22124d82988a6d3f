// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <optional>

#include "exec/cpu/loaded_constants.h"
#include "exec/cpu/prepared_program.h"
#include "exec/executor.h"
#include "ir/program.h"

namespace anemone::exec {

// The tensor that a function output is handed out as: itself, the probabilities where it is the
// dictionary of a classifier, nothing for a string.
std::optional<ir::Type> output_type(const ir::Value& output);

// The interface that the types of a function give by themselves.
Signature signature_of(const ir::Function& function);

// Names, registers, kernels and loaded constants of one function; nothing is planned yet. Its
// program was verified against ops::op_registry(), and outlives the result as the constants do.
Result<PreparedFunction> prepare(const ir::Function& function,
                                 std::shared_ptr<const Signature> signature,
                                 LoadedConstants& constants);

}  // namespace anemone::exec
