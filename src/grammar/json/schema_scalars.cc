// SPDX-License-Identifier: Apache-2.0
// Numbers and strings.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/escape.h"
#include "grammar/json/number_range.h"
#include "grammar/json/schema_compiler.h"
#include "grammar/json/string_formats.h"
#include "grammar/notation/regex_grammar.h"

namespace anemone::grammar {
namespace {

constexpr std::int64_t kMaxListed = 20'000;  // multiples within bounds, which are written out
constexpr std::uint32_t kMaxDivisor = 1000;

// Stricter of an inclusive and an exclusive bound.
Result<NumberRange> range_of(const Json& schema, const std::string& pointer) {
  NumberRange range;
  for (const char* keyword : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
    const auto found = schema.find(keyword);
    if (found == schema.end()) continue;
    const std::string at = child_pointer(pointer, keyword);
    if (!found->is_number())
      return parse_error("[{}] expected a number, got {}", schema_subject(at), found->type_name());
    const auto bound = decimal_of(*found);
    if (!bound)
      return unsupported(
          "[{}] expected a bound of at most 18 digits before and after the decimal point, got {}",
          schema_subject(at), shortened(dump_json(*found), 100));
    const std::string_view name = keyword;
    const bool is_exclusive = name.substr(0, 9) == "exclusive";
    const bool is_lower = name == "minimum" || name == "exclusiveMinimum";
    const char* other = is_lower ? "minimum" : "maximum";
    if (is_exclusive && schema.contains(other)) {
      const Json& inclusive = schema[other];
      if (is_lower ? inclusive > *found : inclusive < *found) continue;
    }
    (is_lower ? range.least : range.most) = *bound;
    (is_lower ? range.excludes_least : range.excludes_most) = is_exclusive;
  }
  return range;
}

}  // namespace

Result<NodeId> SchemaCompiler::numbers(const Json& schema, JsonTypes types,
                                       const std::string& pointer) {
  ANEMONE_ASSIGN_OR_RETURN(const NumberRange range, range_of(schema, pointer));
  if (is_empty(range)) return builder_.never();
  const bool is_bounded = range.least || range.most;
  const bool is_integer = (types & kNumberType) == 0;
  const auto multiple = schema.find("multipleOf");
  if (multiple == schema.end()) {
    if (!is_bounded) return is_integer ? rules_.integer() : rules_.number();
    return rule(pointer,
                is_integer ? integers_within(builder_, range) : numbers_within(builder_, range));
  }
  const std::string at = child_pointer(pointer, "multipleOf");
  const auto divisor = decimal_of(*multiple);
  if (!multiple->is_number() || !divisor || divisor->is_negative || divisor->is_zero())
    return parse_error("[{}] expected a number above 0 of at most 18 digits, got {}",
                       schema_subject(at), shortened(dump_json(*multiple), 100));
  if (divisor->fraction.empty()) {
    // Multiples of an integer are integers.
    if (divisor->whole == 1)
      return is_bounded ? rule(pointer, integers_within(builder_, range)) : rules_.integer();
    if (!is_bounded && divisor->whole <= kMaxDivisor)
      return rule(pointer, multiples_of(builder_, static_cast<std::uint32_t>(divisor->whole)));
    const IntegerSpan span = integer_span(range);
    const auto step = static_cast<std::int64_t>(divisor->whole);
    const std::int64_t first = span.first / step + (span.first > 0 && span.first % step != 0);
    const std::int64_t last = span.last / step - (span.last < 0 && span.last % step != 0);
    if (last - first >= kMaxListed)
      return unsupported("[{}] expected at most {} multiples within the bounds, got more",
                         schema_subject(at), kMaxListed);
    std::vector<std::string> all;
    for (std::int64_t i = first; i <= last; ++i) all.push_back(std::to_string(i * step));
    return builder_.literals(std::move(all));
  }
  const bool is_power = divisor->whole == 0 && divisor->fraction.back() == '1' &&
                        divisor->fraction.find_first_not_of('0') == divisor->fraction.size() - 1;
  if (!is_power || is_bounded)
    return unsupported("[{}] expected an integer, or 0.1, 0.01, ... without bounds, got {}",
                       schema_subject(at), shortened(dump_json(*multiple), 100));
  if (is_integer) return rules_.integer();
  const NodeId digit = builder_.bytes(ByteSet::range('0', '9'));
  return builder_.sequence(
      {rules_.integer(),
       builder_.optional(builder_.sequence(
           {builder_.literal("."), builder_.repeat(digit, 1, divisor->fraction.size())}))});
}

Result<NodeId> SchemaCompiler::strings(const Json& schema, const std::string& pointer) {
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t least, count_of(schema, "minLength", 0, pointer));
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t most,
                           count_of(schema, "maxLength", kUnbounded, pointer));
  const bool has_length = least > 0 || most != kUnbounded;
  const auto pattern = schema.find("pattern");
  const auto format = schema.find("format");
  if ((pattern != schema.end()) + (format != schema.end()) + has_length > 1)
    return unsupported(
        "[{}] expected one of pattern, format and a length, got more, which a grammar cannot "
        "combine",
        schema_subject(pointer));
  if (pattern != schema.end()) {
    const std::string at = child_pointer(pointer, "pattern");
    if (!pattern->is_string())
      return parse_error("[{}] expected a text, got {}", schema_subject(at), pattern->type_name());
    ANEMONE_ASSIGN_OR_RETURN(const NodeId inside,
                             regex_node(builder_, pattern->get_ref<const std::string&>(), false,
                                        rules_.form(), schema_subject(at)));
    return rule(at, rules_.quoted(inside));
  }
  if (format != schema.end()) {
    const std::string at = child_pointer(pointer, "format");
    const auto known =
        format->is_string() ? format_pattern(format->get_ref<const std::string&>()) : std::nullopt;
    if (!known)
      return unsupported("[{}] expected a format that is supported ({}), got {}",
                         schema_subject(at), format_names(), shortened(dump_json(*format), 100));
    ANEMONE_ASSIGN_OR_RETURN(const NodeId inside,
                             regex_node(builder_, *known, true, rules_.form(), schema_subject(at)));
    return rule(at, rules_.quoted(inside));
  }
  if (!has_length) return rules_.string();
  if (least > most) return builder_.never();
  return rule(pointer, rules_.quoted(builder_.repeat(rules_.character(), least, most)));
}

}  // namespace anemone::grammar
