// SPDX-License-Identifier: Apache-2.0
// The two ways in which Python formats text: "%d" % x and "{:d}".format(x).
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/escape.h"
#include "text/jinja/number_format.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_tools.h"
#include "text/jinja/value_text.h"
#include "text/utf8.h"

namespace anemone::text::jinja {
namespace {

constexpr int kMaxWidth = 10'000;
constexpr std::size_t kNumberBytes = 250;

Status bad_format(std::string_view format) {
  return invalid_argument("[chat template] unsupported format \"{}\"", shortened(format, 60));
}

// Reads digits; -1 when there are none, -2 when too large.
int read_number(std::string_view text, std::size_t& at) {
  int value = -1;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    value = std::max(value, 0) * 10 + (text[at++] - '0');
    if (value > kMaxWidth) return -2;
  }
  return value;
}

// One field: a number has at most a few hundred digits.
Status charge_field(Interpreter& interpreter, const Value& value, const FormatSpec& spec) {
  const std::size_t bytes = value.is_text() ? value.as_text()->size() : kNumberBytes;
  // Many digits take exact arithmetic.
  const bool has_many = !value.is_text() && (spec.precision > 20 || has_many_digits(value));
  return interpreter.charge((bytes + static_cast<std::size_t>(spec.width)) * cost::kCharacter +
                            (has_many ? kManyDigitsCost : 0));
}

// The part after ":" in a replacement field.
Result<FormatSpec> parse_spec(std::string_view text, bool is_number) {
  FormatSpec spec;
  bool has_fill = false;
  std::size_t at = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  if (!text.empty()) {
    const auto first = static_cast<std::size_t>(decode_code_point(text, 0).length);
    if (first < text.size() && is_align(text[first])) {
      has_fill = true;
      spec.fill = text.substr(0, first);
      spec.align = text[first];
      at = first + 1;
    } else if (is_align(text[0])) {
      spec.align = text[0];
      at = 1;
    }
  }
  if (at < text.size() && (text[at] == '+' || text[at] == ' ' || text[at] == '-'))
    spec.sign = text[at++];
  if (at < text.size() && text[at] == '#') {
    spec.alternate = true;
    ++at;
  }
  if (!has_fill && at < text.size() && text[at] == '0') {
    spec.fill = "0";
    if (spec.align == 0 && is_number) spec.align = '=';
    ++at;
  }
  const int width = read_number(text, at);
  if (at < text.size() && (text[at] == ',' || text[at] == '_')) spec.separator = text[at++];
  if (at < text.size() && text[at] == '.') {
    ++at;
    spec.precision = read_number(text, at);
    if (spec.precision < 0) return bad_format(text);
  }
  if (at < text.size()) spec.kind = text[at++];
  if (width == -2 || at != text.size()) return bad_format(text);
  spec.width = std::max(width, 0);
  return spec;
}

std::string cut(std::string text, int precision) {
  if (precision < 0) return text;
  std::size_t end = 0;
  for (int i = 0; i < precision && end < text.size(); ++i)
    end += static_cast<std::size_t>(decode_code_point(text, end).length);
  return text.substr(0, end);
}

Result<std::string> format_field(Interpreter& interpreter, const Value& value,
                                 std::string_view spec_text) {
  if (spec_text.empty()) return interpreter.to_text(value);
  ANEMONE_ASSIGN_OR_RETURN(const FormatSpec spec, parse_spec(spec_text, value.is_number()));
  ANEMONE_RETURN_IF_ERROR(charge_field(interpreter, value, spec));
  const auto is_one_of = [&](std::string_view kinds) {
    return spec.kind != 0 && kinds.find(spec.kind) != std::string_view::npos;
  };
  if (value.is_integer() && (spec.kind == 0 || is_one_of("dboxX"))) {
    if (spec.precision >= 0 || (spec.separator == ',' && is_one_of("boxX")))
      return bad_format(spec_text);
    return format_integer(value.as_integer(), spec);
  }
  if (value.is_number()) {
    if (spec.alternate || (spec.kind != 0 && !is_one_of("eEfFgG%"))) return bad_format(spec_text);
    return format_float(value.as_number(), spec);
  }
  const bool of_number =
      spec.sign != 0 || spec.alternate || spec.separator != 0 || spec.align == '=';
  if ((spec.kind != 0 && spec.kind != 's') || of_number || !value.is_text())
    return bad_format(spec_text);
  return pad_text(cut(*value.as_text(), spec.precision), spec);
}

// Formats one field of a "%" format, such as "%d". `zeros`: it is padded with zeros where they can
// stand.
Result<std::string> percent_field(Interpreter& interpreter, const Value& value, FormatSpec spec,
                                  bool zeros) {
  if (spec.kind == 's' || spec.kind == 'r') {
    if (spec.align == 0) spec.align = '>';
    ANEMONE_ASSIGN_OR_RETURN(std::string text, spec.kind == 's' ? interpreter.to_text(value)
                                                                : repr(interpreter.heap(), value));
    return pad_text(cut(std::move(text), spec.precision), spec);
  }
  if (spec.kind == 'i' || spec.kind == 'u') spec.kind = 'd';
  const bool integer_form = std::string_view("doxX").find(spec.kind) != std::string_view::npos;
  const bool float_form = std::string_view("eEfFgG").find(spec.kind) != std::string_view::npos;
  if (!integer_form && (!float_form || spec.alternate))
    return bad_format(std::string("%") + spec.kind);
  if (!value.is_number() || (integer_form && spec.kind != 'd' && !value.is_integer()))
    return invalid_argument("[chat template] format %{} needs a number, got {}", spec.kind,
                            value.type_name());
  if (zeros && spec.align == 0) {
    spec.align = '=';
    spec.fill = "0";
  }
  if (!integer_form) return format_float(value.as_number(), spec);
  if (value.is_integer()) return format_integer(value.as_integer(), spec);
  if (!(std::abs(value.as_number()) < 1e38))
    return invalid_argument("[chat template] %{} is out of range", spec.kind);
  return format_integer(static_cast<Int>(value.as_number()), spec);
}

// "name.attribute[index]" of a replacement field.
Result<Value> find_field(Interpreter& interpreter, std::string_view field, const CallArgs& args,
                         std::size_t& automatic) {
  const std::size_t end = std::min(field.find_first_of(".["), field.size());
  const std::string_view first = field.substr(0, end);
  Value value;
  if (first.empty() || (first[0] >= '0' && first[0] <= '9')) {
    std::size_t at = 0;
    const int number = first.empty()
                           ? static_cast<int>(std::min<std::size_t>(automatic++, kMaxWidth))
                           : read_number(first, at);
    if (number < 0 || static_cast<std::size_t>(number) >= args.positional.size())
      return invalid_argument("[chat template] format has no argument {}", shown(first));
    value = args.positional[static_cast<std::size_t>(number)];
  } else {
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(args.named.size() * cost::kItem));
    const auto it = std::find_if(args.named.begin(), args.named.end(),
                                 [&](const auto& named) { return named.first == first; });
    if (it == args.named.end())
      return invalid_argument("[chat template] format has no argument {}", shown(first));
    value = it->second;
  }
  for (std::size_t at = end; at < field.size();) {
    const bool index = field[at] == '[';
    const std::size_t stop =
        std::min(index ? field.find(']', at) : field.find_first_of(".[", at + 1), field.size());
    const std::string_view name = field.substr(at + 1, stop - at - 1);
    std::size_t digits = 0;
    const int number = read_number(name, digits);
    const bool is_number = index && number >= 0 && digits == name.size();
    ANEMONE_ASSIGN_OR_RETURN(value, is_number ? interpreter.get_item(value, Value::integer(number))
                                              : interpreter.get_attribute(value, name));
    at = stop + (index ? 1 : 0);
  }
  return value;
}

}  // namespace

Result<Value> percent_format(Interpreter& interpreter, const std::string& format,
                             const std::vector<Value>& values, PercentOperand operand) {
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(format.size() * cost::kCharacter));
  std::string out;
  std::size_t used = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    if (++i >= format.size()) return invalid_argument("[chat template] incomplete format");
    if (format[i] == '%') {
      out += '%';
      continue;
    }
    FormatSpec spec;
    std::optional<Value> keyed;
    if (format[i] == '(') {
      const auto close = format.find(')', i);
      if (close == std::string::npos || operand != PercentOperand::kOne ||
          values[0].as_dict() == nullptr)
        return bad_format(format);
      ANEMONE_ASSIGN_OR_RETURN(const Value name,
                               interpreter.make_text(format.substr(i + 1, close - i - 1)));
      ANEMONE_ASSIGN_OR_RETURN(keyed, interpreter.get_item(values[0], name));
      i = close + 1;
      used = values.size();
    }
    bool zeros = false;
    for (; i < format.size() && std::string_view("-+ #0").find(format[i]) != std::string_view::npos;
         ++i) {
      if (format[i] == '-') spec.align = '<';
      if (format[i] == '+' || (format[i] == ' ' && spec.sign == 0)) spec.sign = format[i];
      if (format[i] == '#') spec.alternate = true;
      if (format[i] == '0') zeros = true;
    }
    const int width = read_number(format, i);
    if (i < format.size() && format[i] == '.') {
      ++i;
      spec.precision = std::max(read_number(format, i), 0);
    }
    if (width == -2 || i >= format.size()) return bad_format(format);
    spec.width = std::max(width, 0);
    if (i + 1 < format.size() && std::string_view("hlL").find(format[i]) != std::string_view::npos)
      ++i;  // sizes of C, which mean nothing
    spec.kind = format[i];
    if (spec.kind == '%') {
      out += '%';
      continue;
    }
    if (!keyed && used >= values.size())
      return invalid_argument("[chat template] not enough arguments for format string");
    const Value value = keyed ? *keyed : values[used++];
    ANEMONE_RETURN_IF_ERROR(charge_field(interpreter, value, spec));
    ANEMONE_ASSIGN_OR_RETURN(const std::string text,
                             percent_field(interpreter, value, std::move(spec), zeros));
    out += text;
    if (out.size() > interpreter.limits().output_bytes) return bad_format(format);
  }
  const auto may_be_left = [&](const Value& value) {
    const Sequence* sequence = value.as_sequence();
    return operand == PercentOperand::kOne &&
           (value.as_dict() != nullptr || value.is_undefined() ||
            (sequence != nullptr && sequence->kind == SequenceKind::kList));
  };
  if (used < values.size() && !may_be_left(values[used]))
    return invalid_argument("[chat template] not all arguments converted during string formatting");
  return interpreter.make_text(std::move(out));
}

Result<Value> brace_format(Interpreter& interpreter, const std::string& format,
                           const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(format.size() * cost::kCharacter));
  std::string out;
  std::size_t automatic = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    const char c = format[i];
    if (c != '{' && c != '}') {
      out += c;
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == c) {
      out += c;
      ++i;
      continue;
    }
    const auto close = format.find('}', i);
    if (c == '}' || close == std::string::npos)
      return invalid_argument("[chat template] single brace in a format string");
    std::string_view field = std::string_view(format).substr(i + 1, close - i - 1);
    const auto colon = field.find(':');
    const std::string_view spec =
        colon == field.npos ? std::string_view() : field.substr(colon + 1);
    field = field.substr(0, colon);
    const auto mark = field.find('!');
    const std::string_view conversion =
        mark == field.npos ? std::string_view() : field.substr(mark);
    ANEMONE_ASSIGN_OR_RETURN(Value value,
                             find_field(interpreter, field.substr(0, mark), args, automatic));
    if (conversion == "!r") {
      ANEMONE_ASSIGN_OR_RETURN(std::string text, repr(interpreter.heap(), value));
      ANEMONE_ASSIGN_OR_RETURN(value, interpreter.make_text(std::move(text)));
    } else if (!conversion.empty() && conversion != "!s") {
      return bad_format(format);
    }
    ANEMONE_ASSIGN_OR_RETURN(const std::string text, format_field(interpreter, value, spec));
    out += text;
    if (out.size() > interpreter.limits().output_bytes) return bad_format(format);
    i = close;
  }
  return interpreter.make_text(std::move(out));
}

}  // namespace anemone::text::jinja
