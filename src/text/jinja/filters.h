// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <span>
#include <string_view>

#include "text/jinja/arguments.h"
#include "text/jinja/interpreter.h"

namespace anemone::text::jinja {

using FilterFunction = Result<Value> (*)(Interpreter&, const Value& input, const CallArgs&);
struct FilterEntry {
  std::string_view name;
  FilterFunction call;
};

// nullptr for an unknown name.
const FilterEntry* find_filter(std::string_view name);

// The groups that find_filter looks through.
std::span<const FilterEntry> text_filters();
std::span<const FilterEntry> sequence_filters();
std::span<const FilterEntry> selection_filters();
std::span<const FilterEntry> value_filters();

}  // namespace anemone::text::jinja
