// SPDX-License-Identifier: Apache-2.0
// The tests of Jinja2, such as `defined` in "value is defined".
#pragma once

#include <anemone/status.h>

#include <string_view>

#include "text/jinja/arguments.h"
#include "text/jinja/interpreter.h"

namespace anemone::text::jinja {

struct TestEntry {
  std::string_view name;
  Result<bool> (*call)(Interpreter&, const Value& input, const CallArgs&);
};

// nullptr for an unknown name.
const TestEntry* find_test(std::string_view name);

}  // namespace anemone::text::jinja
