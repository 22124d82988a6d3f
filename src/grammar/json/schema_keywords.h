// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace anemone::grammar {

// The kinds of JSON values, as bits. An integer is a number without a fraction.
enum JsonType : std::uint8_t {
  kNullType = 1,
  kBooleanType = 2,
  kIntegerType = 4,
  kNumberType = 8,
  kStringType = 16,
  kArrayType = 32,
  kObjectType = 64,
};
using JsonTypes = std::uint8_t;
inline constexpr JsonTypes kAllTypes = 127;

// "[schema POINTER] ..." for messages.
std::string schema_subject(const std::string& pointer);
// `pointer` and one more step, escaped as RFC 6901 has it.
std::string child_pointer(const std::string& pointer, std::string_view key);

// Refuses keywords that cannot be honoured.
Status check_keywords(const Json& schema, const std::string& pointer);
// The keyword limits the values of a schema, and grammars follow it. All others say nothing about
// values (annotations, definitions, unknown ones), or are refused.
bool is_followed(std::string_view keyword);
// The types that `type` allows; all without it. With kNumberType, kIntegerType is set too.
Result<JsonTypes> types_of(const Json& schema, const std::string& pointer);
JsonTypes type_of_value(const Json& value);

}  // namespace anemone::grammar
