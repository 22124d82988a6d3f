// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "artifact/form.h"
#include "compiler/recipe.h"

namespace anemone::compiler {

// The form that is compiled when none is named. Products stay whole for the CPU, which streams
// weights of any size alike and pays for each product.
artifact::Form default_form(Processor processor);

}  // namespace anemone::compiler
