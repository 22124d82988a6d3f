// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string_view>

#include "text/jinja/value.h"

namespace anemone::text::jinja {

// loop.index, loop.first, loop.previtem ...; undefined for an unknown name and beyond the ends.
Result<Value> loop_attribute(const Loop& loop, std::string_view name);

}  // namespace anemone::text::jinja
