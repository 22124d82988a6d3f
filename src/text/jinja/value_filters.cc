// SPDX-License-Identifier: Apache-2.0
// Filters that convert a single value.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/parse_number.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_tools.h"
#include "text/jinja/value_text.h"

namespace anemone::text::jinja {
namespace {

constexpr std::size_t kParseCost = 40;     // of a byte of JSON
constexpr std::size_t kParsedBytes = 32;   // of memory that a byte of JSON takes at most
constexpr std::size_t kPrintCost = 3'000;  // of a number with few digits

Result<Value> filter_default(Interpreter&, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("default", args, {"default_value", "boolean"}));
  const bool missing = input.is_undefined() || (bound.flag(1, false) && !input.truthy());
  if (!missing) return input;
  return bound.has(0) ? bound[0] : Value::text("");
}

Result<Value> filter_tojson(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(
      const BoundArgs bound,
      BoundArgs::bind("tojson", args, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ensure_ascii = bound.flag(0, false);
  style.sort_keys = bound.flag(3, false);
  if (bound.has(1) && !bound[1].is_none()) {
    if (const std::string* text = bound[1].as_text()) {
      ANEMONE_RETURN_IF_ERROR(interpreter.charge(cost::bytes(text->size())));
      style.indent = *text;
    } else {
      ANEMONE_ASSIGN_OR_RETURN(const std::int64_t width, bound.integer(1, 0));
      if (width > 100)
        return invalid_argument("[chat template] tojson expected an indent of at most 100, got {}",
                                width);
      style.indent = std::string(static_cast<std::size_t>(width < 0 ? 0 : width), ' ');
    }
    style.item_separator.assign(1, ',');
  }
  if (bound.has(2) && !bound[2].is_none()) {
    ANEMONE_ASSIGN_OR_RETURN(const std::vector<Value> pair, interpreter.iterate(bound[2]));
    if (pair.size() != 2 || !pair[0].is_text() || !pair[1].is_text())
      return invalid_argument("[chat template] tojson expected two texts as separators");
    ANEMONE_RETURN_IF_ERROR(
        interpreter.charge(cost::bytes(pair[0].as_text()->size() + pair[1].as_text()->size())));
    style.item_separator = *pair[0].as_text();
    style.key_separator = *pair[1].as_text();
  }
  ANEMONE_ASSIGN_OR_RETURN(std::string text, to_json(interpreter.heap(), input, style));
  return interpreter.make_text(std::move(text));
}

// Jinja2 has no such filter, but the servers that render templates with one give it to them: a text
// is read as JSON, any other value stays as it is. Templates of models with tools use it on the
// arguments of a call, which clients send as a text.
Result<Value> filter_fromjson(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("from_json", args, {}).status());
  if (input.is_undefined()) return invalid_argument("[chat template] {}", input.undefined_hint());
  const std::string* text = input.as_text();
  if (text == nullptr) return input;
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(text->size() * kParseCost));
  Heap& heap = interpreter.heap();
  const std::size_t bytes = (text->size() + 8) * kParsedBytes;
  ANEMONE_RETURN_IF_ERROR(heap.take(bytes));
  const Result<Json> json = parse_json(*text, "chat template", {.max_memory = bytes});
  // What a request sends decides: no fault of the template's source.
  Result<Value> value =
      json.ok() ? heap.from_json(*json) : invalid_argument("{}", json.status().message());
  heap.give_back(bytes);
  return value;
}

// The integer that all of `text` spells, or nullopt.
std::optional<Int> parse_integer(std::string_view text, int base) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.size() > 2 && text[0] == '0') {
    const char kind = static_cast<char>(text[1] | 0x20);
    if ((base == 16 && kind == 'x') || (base == 8 && kind == 'o') || (base == 2 && kind == 'b'))
      text.remove_prefix(2);
  }
  if (text.empty()) return std::nullopt;
  Int value = 0;
  for (const char c : text) {
    if (c == '_') continue;
    int digit = -1;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'z') digit = c - 'a' + 10;
    if (c >= 'A' && c <= 'Z') digit = c - 'A' + 10;
    if (digit < 0 || digit >= base || __builtin_mul_overflow(value, Int(base), &value) ||
        __builtin_add_overflow(value, Int(digit), &value))
      return std::nullopt;
  }
  return negative ? -value : value;
}

std::optional<double> parse_float(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return parse_number<double>(text);
}

Result<Value> filter_int(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("int", args, {"default", "base"}));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t base, bound.integer(1, 10));
  const Value fallback = bound.has(0) ? bound[0] : Value::integer(0);
  if (input.is_undefined()) return invalid_argument("[chat template] {}", input.undefined_hint());
  if (input.is_integer()) return Value::integer(input.as_integer());
  std::optional<double> number;
  if (input.is_float()) number = input.as_number();
  if (const std::string* raw = input.as_text()) {
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(raw->size() * 2 * cost::kCharacter));
    const std::string_view text = strip(*raw, std::nullopt, true, true);
    if (base < 2 || base > 36) return fallback;
    if (const auto value = parse_integer(text, static_cast<int>(base)))
      return Value::integer(*value);
    number = parse_float(text);
  }
  if (!number || !(std::abs(*number) < 1e37)) return fallback;
  return Value::integer(static_cast<Int>(*number));
}

Result<Value> filter_float(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("float", args, {"default"}));
  if (input.is_undefined()) return invalid_argument("[chat template] {}", input.undefined_hint());
  if (input.is_number()) return Value::number(input.as_number());
  if (const std::string* text = input.as_text()) {
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(text->size() * 2 * cost::kCharacter));
    if (const auto number = parse_float(strip(*text, std::nullopt, true, true)))
      return Value::number(*number);
  }
  return bound.has(0) ? bound[0] : Value::number(0);
}

Result<Value> filter_abs(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("abs", args, {}).status());
  if (!input.is_number())
    return invalid_argument("[chat template] abs expected a number, got {}", input.type_name());
  if (input.as_number() < 0) return negate(input);
  return apply_binary(interpreter, "+", input, Value::integer(0));
}

Result<Value> filter_round(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("round", args, {"precision", "method"}));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t precision, bound.integer(0, 0));
  ANEMONE_ASSIGN_OR_RETURN(const std::string method, bound.text(interpreter.heap(), 1, "common"));
  if (!input.is_number() || precision < -300 || precision > 300)
    return invalid_argument("[chat template] round expected a number, got {}", input.type_name());
  if (input.is_integer() && method == "common") return Value::integer(input.as_integer());
  const double number = input.as_number();
  if (method == "common") {
    // Correctly rounded in decimal, half to even, as Python's round().
    if (precision < 0) {
      const double scale = std::pow(10.0, static_cast<double>(-precision));
      return Value::number(std::nearbyint(number / scale) * scale);
    }
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(
        precision > 20 || has_many_digits(input) ? kManyDigitsCost : kPrintCost));
    const std::string text = fmt::format("{:.{}f}", number, precision);
    return Value::number(parse_float(text).value_or(number));
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  // Python rounds to an integer, which has no negative zero.
  if (method == "ceil") return Value::number((std::ceil(number * scale) + 0.0) / scale);
  if (method == "floor") return Value::number((std::floor(number * scale) + 0.0) / scale);
  return invalid_argument("[chat template] round expected common, ceil or floor, got {}", method);
}

Result<Value> filter_attr(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("attr", args, {"name"}, 1));
  ANEMONE_ASSIGN_OR_RETURN(const std::string name, bound.text(interpreter.heap(), 0, ""));
  // Attributes alone: the entries of a dict do not count.
  if (input.as_dict() != nullptr && input.as_dict()->find(name) != nullptr)
    return interpreter.heap().undefined(
        fmt::format("'dict object' has no attribute '{}'", shown(name)));
  return interpreter.get_attribute(input, name);
}

constexpr FilterEntry kValueFilters[] = {
    {"default", filter_default},   {"d", filter_default},   {"tojson", filter_tojson},
    {"int", filter_int},           {"float", filter_float}, {"abs", filter_abs},
    {"round", filter_round},       {"attr", filter_attr},   {"from_json", filter_fromjson},
    {"fromjson", filter_fromjson},
};

}  // namespace

std::span<const FilterEntry> value_filters() {
  return kValueFilters;
}

}  // namespace anemone::text::jinja
