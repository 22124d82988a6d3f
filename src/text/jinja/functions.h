// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "text/jinja/interpreter.h"

namespace anemone::text::jinja {

// Defines the global functions: namespace, raise_exception, range, strftime_now, dict.
Status add_functions(Interpreter& interpreter);

}  // namespace anemone::text::jinja
