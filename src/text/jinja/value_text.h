// SPDX-License-Identifier: Apache-2.0
// Values as text: str(), repr() and json.dumps of Python.
#pragma once

#include <anemone/status.h>

#include <optional>
#include <string>

#include "text/jinja/value.h"

namespace anemone::text::jinja {

std::string integer_text(Int value);
// repr of a float: the shortest digits that read back the same, "1e-07", "10.5", "1.0".
std::string float_text(double value);

// Whether a float is so large (1e20 and above) that printing it in fixed notation takes integers of
// more than 64 bits, and the work that a template is charged for each.
bool has_many_digits(const Value& value);
inline constexpr std::size_t kManyDigitsCost = 60'000;

// These charge their work to `heap`. kInvalidArgument for a value nested too deep or a text above
// output_bytes.
Result<std::string> str(Heap& heap, const Value& value);
Result<std::string> repr(Heap& heap, const Value& value);

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  // of one level; nullopt: one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
Result<std::string> to_json(Heap& heap, const Value& value, const JsonStyle& style);

}  // namespace anemone::text::jinja
