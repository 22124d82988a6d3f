// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "text/utf8.h"

namespace anemone::text::jinja {
namespace {

Status bad_operands(std::string_view name, const Value& left, const Value& right) {
  if (left.is_undefined()) return invalid_argument("[chat template] {}", left.undefined_hint());
  if (right.is_undefined()) return invalid_argument("[chat template] {}", right.undefined_hint());
  return invalid_argument("[chat template] unsupported operands for {}: {} and {}", name,
                          left.type_name(), right.type_name());
}

Status overflow() {
  return invalid_argument("[chat template] an integer is out of range");
}

Result<Value> integer_power(Int base, Int exponent) {
  if (exponent < 0)
    return Value::number(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  Int result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return overflow();
  }
  return Value::integer(result);
}

Result<Value> integer_binary(std::string_view name, Int a, Int b) {
  Int result = 0;
  if (name == "+") {
    if (__builtin_add_overflow(a, b, &result)) return overflow();
  } else if (name == "-") {
    if (__builtin_sub_overflow(a, b, &result)) return overflow();
  } else if (name == "*") {
    if (__builtin_mul_overflow(a, b, &result)) return overflow();
  } else if (name == "**") {
    return integer_power(a, b);
  } else {
    if (b == 0) return invalid_argument("[chat template] division by zero");
    if (name == "/") return Value::number(static_cast<double>(a) / static_cast<double>(b));
    if (b == -1) {  // the one quotient that can leave the range
      if (name == "%") return Value::integer(0);
      if (__builtin_sub_overflow(Int(0), a, &result)) return overflow();
      return Value::integer(result);
    }
    // Python rounds towards minus infinity.
    Int quotient = a / b;
    Int remainder = a % b;
    if (remainder != 0 && (remainder < 0) != (b < 0)) {
      --quotient;
      remainder += b;
    }
    result = name == "//" ? quotient : remainder;
  }
  return Value::integer(result);
}

Result<Value> float_binary(std::string_view name, double a, double b) {
  if (name == "+") return Value::number(a + b);
  if (name == "-") return Value::number(a - b);
  if (name == "*") return Value::number(a * b);
  if (name == "**") return Value::number(std::pow(a, b));
  if (b == 0) return invalid_argument("[chat template] division by zero");
  if (name == "/") return Value::number(a / b);
  // Python's rule: the remainder has the sign of the divisor, even when it is zero, and the
  // quotient fits to it.
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder == 0) {
    remainder = std::copysign(0.0, b);
  } else if ((b < 0) != (remainder < 0)) {
    remainder += b;
    quotient -= 1;
  }
  if (name == "%") return Value::number(remainder);
  if (quotient == 0) return Value::number(std::copysign(0.0, a / b));
  const double whole = std::floor(quotient);
  return Value::number(quotient - whole > 0.5 ? whole + 1 : whole);
}

Result<Value> repeat(Interpreter& interpreter, const Value& value, Int count) {
  if (count < 0) count = 0;
  if (const std::string* text = value.as_text()) {
    if (count > 0 &&
        text->size() > interpreter.limits().output_bytes /
                           static_cast<std::size_t>(std::min<Int>(count, Int(1) << 40)))
      return invalid_argument("[chat template] expected a text of at most {} bytes",
                              interpreter.limits().output_bytes);
    std::string out;
    if (!text->empty()) {
      const auto times = static_cast<std::size_t>(count);
      ANEMONE_RETURN_IF_ERROR(interpreter.charge(times * (10 + cost::bytes(text->size()))));
      out.reserve(times * text->size());
      for (std::size_t i = 0; i < times; ++i) out += *text;
    }
    return interpreter.make_text(std::move(out));
  }
  const Sequence& sequence = *value.as_sequence();
  if (count > 0 &&
      sequence.items.size() >
          interpreter.limits().items / static_cast<std::size_t>(std::min<Int>(count, Int(1) << 40)))
    return invalid_argument("[chat template] expected at most {} items",
                            interpreter.limits().items);
  std::vector<Value> items;
  if (!sequence.items.empty()) {
    const auto times = static_cast<std::size_t>(count);
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(times * sequence.items.size() * cost::kItem));
    items.reserve(times * sequence.items.size());
    for (std::size_t i = 0; i < times; ++i)
      items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  }
  return interpreter.make_sequence(std::move(items), sequence.kind);
}

bool is_repeatable(const Value& value) {
  return value.is_text() ||
         (value.as_sequence() != nullptr && value.as_sequence()->kind != SequenceKind::kGenerator);
}

Result<bool> contains(Interpreter& interpreter, const Value& container, const Value& item) {
  if (const std::string* text = container.as_text()) {
    const std::string* part = item.as_text();
    if (part == nullptr) return bad_operands("in", item, container);
    ANEMONE_RETURN_IF_ERROR(interpreter.charge_search(text->size(), part->size()));
    return text->find(*part) != std::string::npos;
  }
  if (const Dict* dict = container.as_dict()) {
    ANEMONE_ASSIGN_OR_RETURN(const Value* found, dict->find(interpreter.heap(), item));
    return found != nullptr;
  }
  if (container.is_undefined()) return false;
  if (Sequence* sequence = container.as_sequence()) {
    const bool is_generator = sequence->kind == SequenceKind::kGenerator;
    for (std::size_t i = sequence->next; i < sequence->items.size(); ++i) {
      if (is_generator) sequence->next = i + 1;
      ANEMONE_ASSIGN_OR_RETURN(const bool same,
                               equal(interpreter.heap(), item, sequence->items[i]));
      if (same) return true;
    }
    ANEMONE_RETURN_IF_ERROR(std::exchange(sequence->end, {}));
    return false;
  }
  return bad_operands("in", item, container);
}

// Python's slice.indices: the first index and how many follow at the step.
struct Range {
  std::int64_t first;
  std::int64_t step;
  std::int64_t count;
};

Result<Range> resolve(std::int64_t length, const Value& start, const Value& stop,
                      const Value& step) {
  const auto integer = [](const Value& value, std::int64_t fallback) -> Result<std::int64_t> {
    if (value.is_none()) return fallback;
    if (value.is_undefined()) return invalid_argument("[chat template] {}", value.undefined_hint());
    if (!value.is_integer())
      return invalid_argument("[chat template] slice indices must be integers, got {}",
                              value.type_name());
    constexpr Int kFar = Int(1) << 40;
    return static_cast<std::int64_t>(std::clamp(value.as_integer(), -kFar, kFar));
  };
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t by, integer(step, 1));
  if (by == 0) return invalid_argument("[chat template] slice step cannot be zero");
  const std::int64_t low = by < 0 ? -1 : 0;
  const std::int64_t high = by < 0 ? length - 1 : length;
  const auto clamp = [&](std::int64_t index) {
    return std::clamp(index < 0 ? index + length : index, low, high);
  };
  ANEMONE_ASSIGN_OR_RETURN(std::int64_t first, integer(start, 0));
  ANEMONE_ASSIGN_OR_RETURN(std::int64_t last, integer(stop, 0));
  first = start.is_none() ? (by < 0 ? high : low) : clamp(first);
  last = stop.is_none() ? (by < 0 ? low : high) : clamp(last);
  const std::int64_t distance = by < 0 ? first - last : last - first;
  const std::int64_t stride = by < 0 ? -by : by;
  return Range{first, by, distance > 0 ? (distance + stride - 1) / stride : 0};
}

}  // namespace

Result<Value> apply_binary(Interpreter& interpreter, std::string_view name, const Value& left,
                           const Value& right) {
  if (left.is_integer() && right.is_integer())
    return integer_binary(name, left.as_integer(), right.as_integer());
  if (left.is_number() && right.is_number())
    return float_binary(name, left.as_number(), right.as_number());
  if (name == "+") {
    if (left.is_text() && right.is_text()) {
      ANEMONE_RETURN_IF_ERROR(
          interpreter.charge(cost::bytes(left.as_text()->size() + right.as_text()->size())));
      return interpreter.make_text(*left.as_text() + *right.as_text());
    }
    const Sequence* a = left.as_sequence();
    const Sequence* b = right.as_sequence();
    if (a != nullptr && b != nullptr && a->kind == b->kind && a->kind != SequenceKind::kGenerator) {
      ANEMONE_RETURN_IF_ERROR(
          interpreter.charge((a->items.size() + b->items.size()) * cost::kItem));
      std::vector<Value> items;
      items.reserve(a->items.size() + b->items.size());
      items = a->items;
      items.insert(items.end(), b->items.begin(), b->items.end());
      return interpreter.make_sequence(std::move(items), a->kind);
    }
  }
  if (name == "*") {
    if (is_repeatable(left) && right.is_integer())
      return repeat(interpreter, left, right.as_integer());
    if (is_repeatable(right) && left.is_integer())
      return repeat(interpreter, right, left.as_integer());
  }
  if (name == "%" && left.is_text()) {
    const Sequence* tuple = right.as_sequence();
    if (tuple != nullptr && tuple->kind == SequenceKind::kTuple)
      return percent_format(interpreter, *left.as_text(), tuple->items, PercentOperand::kTuple);
    return percent_format(interpreter, *left.as_text(), {right}, PercentOperand::kOne);
  }
  return bad_operands(name, left, right);
}

Result<Value> negate(const Value& value) {
  if (value.is_integer()) return integer_binary("-", 0, value.as_integer());
  if (value.is_float()) return Value::number(-value.as_number());
  return bad_operands("-", value, value);
}

Result<bool> less(Interpreter& interpreter, const Value& left, const Value& right, int depth) {
  if (depth > kMaxValueDepth) return bad_operands("<", left, right);
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(cost::kNode));
  if (left.is_integer() && right.is_integer()) return left.as_integer() < right.as_integer();
  if (left.is_number() && right.is_number()) return left.as_number() < right.as_number();
  // Byte order of UTF-8 is the order of code points.
  if (left.is_text() && right.is_text()) {
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(
        cost::compared(std::min(left.as_text()->size(), right.as_text()->size()))));
    return *left.as_text() < *right.as_text();
  }
  const Sequence* a = left.as_sequence();
  const Sequence* b = right.as_sequence();
  if (a == nullptr || b == nullptr || a->kind != b->kind || a->kind == SequenceKind::kGenerator)
    return bad_operands("<", left, right);
  for (std::size_t i = 0; i < a->items.size() && i < b->items.size(); ++i) {
    ANEMONE_ASSIGN_OR_RETURN(const bool same, equal(interpreter.heap(), a->items[i], b->items[i]));
    if (!same) return less(interpreter, a->items[i], b->items[i], depth + 1);
  }
  return a->items.size() < b->items.size();
}

Result<bool> apply_compare(Interpreter& interpreter, std::string_view name, const Value& left,
                           const Value& right) {
  if (name == "==") return equal(interpreter.heap(), left, right);
  if (name == "!=") {
    ANEMONE_ASSIGN_OR_RETURN(const bool same, equal(interpreter.heap(), left, right));
    return !same;
  }
  if (name == "in") return contains(interpreter, right, left);
  if (name == "not in") {
    ANEMONE_ASSIGN_OR_RETURN(const bool found, contains(interpreter, right, left));
    return !found;
  }
  if (name == "<") return less(interpreter, left, right);
  if (name == ">") return less(interpreter, right, left);
  // This is no negation of the opposite comparison: comparisons with NaN are all false.
  ANEMONE_ASSIGN_OR_RETURN(const bool strictly, name == "<=" ? less(interpreter, left, right)
                                                             : less(interpreter, right, left));
  if (strictly) return true;
  return equal(interpreter.heap(), left, right);
}

Result<Value> slice(Interpreter& interpreter, const Value& value, const Value& start,
                    const Value& stop, const Value& step) {
  if (value.is_undefined()) return invalid_argument("[chat template] {}", value.undefined_hint());
  if (const Sequence* sequence = value.as_sequence();
      sequence != nullptr && sequence->kind != SequenceKind::kGenerator) {
    ANEMONE_ASSIGN_OR_RETURN(
        const Range range,
        resolve(static_cast<std::int64_t>(sequence->items.size()), start, stop, step));
    ANEMONE_RETURN_IF_ERROR(
        interpreter.charge(static_cast<std::size_t>(range.count) * cost::kItem));
    std::vector<Value> items;
    items.reserve(static_cast<std::size_t>(range.count));
    for (std::int64_t i = 0; i < range.count; ++i)
      items.push_back(sequence->items[static_cast<std::size_t>(range.first + i * range.step)]);
    return interpreter.make_sequence(std::move(items), sequence->kind);
  }
  const std::string* text = value.as_text();
  if (text == nullptr)
    return invalid_argument("[chat template] '{}' object cannot be sliced", value.type_name());
  std::vector<std::size_t> starts;  // of the characters
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(text->size() * cost::kCharacter));
  for (std::size_t i = 0; i < text->size(); ++i)
    if (((*text)[i] & 0xC0) != 0x80) starts.push_back(i);
  ANEMONE_ASSIGN_OR_RETURN(const Range range,
                           resolve(static_cast<std::int64_t>(starts.size()), start, stop, step));
  starts.push_back(text->size());
  std::string out;
  ANEMONE_RETURN_IF_ERROR(
      interpreter.charge(static_cast<std::size_t>(range.count) * cost::kCharacter));
  for (std::int64_t i = 0; i < range.count; ++i) {
    const auto at = static_cast<std::size_t>(range.first + i * range.step);
    out.append(*text, starts[at], starts[at + 1] - starts[at]);
  }
  return interpreter.make_text(std::move(out));
}

}  // namespace anemone::text::jinja
