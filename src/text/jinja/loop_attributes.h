// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string_view>

#include "text/jinja/value.h"

namespace anemone::text::jinja {

class Interpreter;

// loop.index, loop.first, loop.previtem ...; undefined for an unknown name and beyond the ends.
// Those that depend on what follows ask for it: the error of the item that they come to.
Result<Value> loop_attribute(Interpreter& interpreter, Loop& loop, std::string_view name);

}  // namespace anemone::text::jinja
