// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/compile_plan.h"

namespace anemone::compiler {

// Fits the options of a plan to systems before iOS 18, whose packages hold one function, no states
// and simpler forms of quantized weights: what is left out or changed becomes a note of the plan.
// kUnsupported, naming the flag, for what has no counterpart. Does nothing from iOS 18 on.
Status fit_to_target(CompilePlan& plan);

}  // namespace anemone::compiler
