// SPDX-License-Identifier: Apache-2.0
// The methods of Python's str, list, tuple and dict.
#pragma once

#include <anemone/status.h>

#include <string_view>

#include "text/jinja/arguments.h"
#include "text/jinja/interpreter.h"

namespace anemone::text::jinja {

using MethodFunction = Result<Value> (*)(Interpreter&, const Value& self, const CallArgs&);
struct MethodEntry {
  std::string_view name;
  MethodFunction call;
};

bool has_method(const Value& self, std::string_view name);
Result<Value> call_method(Interpreter& interpreter, const Value& self, std::string_view name,
                          const CallArgs& args);

// The entry for a kind of value, or nullptr.
const MethodEntry* find_text_method(std::string_view name);
const MethodEntry* find_list_method(std::string_view name);
const MethodEntry* find_dict_method(std::string_view name);

}  // namespace anemone::text::jinja
