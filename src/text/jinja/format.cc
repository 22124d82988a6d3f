// SPDX-License-Identifier: Apache-2.0
// The two ways in which Python formats text: "%d" % x and "{:d}".format(x).
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_forms.h"
#include "text/utf8.h"

namespace anemone::text::jinja {
namespace {

constexpr int kMaxWidth = 10'000;
constexpr std::size_t kNumberBytes = 250;

struct Spec {
  std::string fill = " ";
  char align = 0;  // < > ^ =; 0: by kind
  char sign = '-';
  bool alternate = false;
  bool grouped = false;
  int width = 0;
  int precision = -1;
  char kind = 0;
};

Status bad_format(std::string_view format) {
  return invalid_argument("[chat template] unsupported format \"{}\"", format.substr(0, 60));
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

std::string group_digits(std::string text) {
  std::size_t end = text.find_first_of(".e");
  if (end == std::string::npos) end = text.size();
  const std::size_t begin = !text.empty() && text[0] == '-' ? 1 : 0;
  for (std::size_t at = end; at > begin + 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string pad(std::string text, const Spec& spec, bool is_number) {
  const std::size_t length = count_code_points(text);
  const auto width = static_cast<std::size_t>(spec.width);
  if (length >= width) return text;
  const std::size_t missing = width - length;
  const char align = spec.align != 0 ? spec.align : (is_number ? '>' : '<');
  std::size_t left = align == '<' ? 0 : (align == '^' ? missing / 2 : missing);
  std::string before;
  std::string after;
  for (std::size_t i = 0; i < missing; ++i) (i < left ? before : after) += spec.fill;
  const bool has_sign = !text.empty() && (text[0] == '-' || text[0] == '+');
  if (align == '=' && has_sign) return text.substr(0, 1) + before + text.substr(1);
  return before + text + after;
}

Result<std::string> format_number(const Value& value, const Spec& spec) {
  std::string text;
  if (spec.kind == 'd' || spec.kind == 'i' || spec.kind == 'u' ||
      (spec.kind == 0 && value.is_integer())) {
    Int number = 0;
    if (value.is_integer()) {
      number = value.as_integer();
    } else {
      if (!(std::abs(value.as_number()) < 1e18)) return bad_format("%d");
      number = static_cast<Int>(value.as_number());
    }
    text = integer_text(number);
  } else if (spec.kind == 'x' || spec.kind == 'X' || spec.kind == 'o' || spec.kind == 'b') {
    if (!value.is_integer()) return bad_format(std::string(1, spec.kind));
    const Int number = value.as_integer();
    const unsigned base = spec.kind == 'o' ? 8 : (spec.kind == 'b' ? 2 : 16);
    auto rest = number < 0 ? -static_cast<unsigned __int128>(number)
                           : static_cast<unsigned __int128>(number);
    const char* digits = spec.kind == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    do {
      text.insert(text.begin(), digits[static_cast<std::size_t>(rest % base)]);
      rest /= base;
    } while (rest != 0);
    if (spec.alternate) text = std::string("0") + spec.kind + text;
    if (number < 0) text.insert(0, 1, '-');
  } else {
    const double number = value.as_number();
    const int precision = std::min(spec.precision < 0 ? 6 : spec.precision, 100);
    switch (spec.kind) {
      case 'f':
      case 'F':
        text = fmt::format("{:.{}f}", number, precision);
        break;
      case 'e':
        text = fmt::format("{:.{}e}", number, precision);
        break;
      case 'E':
        text = fmt::format("{:.{}E}", number, precision);
        break;
      case 'g':
      case 'G':
        text = fmt::format("{:.{}g}", number, precision);
        break;
      case '%':
        text = fmt::format("{:.{}f}%", number * 100, precision);
        break;
      case 0:
        text = spec.precision < 0 ? float_text(number) : fmt::format("{:.{}g}", number, precision);
        break;
      default:
        return bad_format(std::string(1, spec.kind));
    }
  }
  if (spec.grouped) text = group_digits(std::move(text));
  if (spec.sign != '-' && !text.starts_with('-')) text.insert(0, 1, spec.sign);
  return text;
}

// One field: a number has at most a few hundred digits.
Status charge_field(Interpreter& interpreter, const Value& value, const Spec& spec) {
  const std::size_t bytes = value.is_text() ? value.as_text()->size() : kNumberBytes;
  // Many digits take exact arithmetic.
  const bool has_many = !value.is_text() && (spec.precision > 20 || has_many_digits(value));
  return interpreter.charge((bytes + static_cast<std::size_t>(spec.width)) * cost::kCharacter +
                            (has_many ? kManyDigitsCost : 0));
}

// The part after ":" in a replacement field.
Result<Spec> parse_spec(std::string_view text) {
  Spec spec;
  std::size_t at = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  if (!text.empty()) {
    const auto first = static_cast<std::size_t>(decode_code_point(text, 0).length);
    if (first < text.size() && is_align(text[first])) {
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
  if (at < text.size() && text[at] == '0') {
    if (spec.align == 0) {
      spec.align = '=';
      spec.fill = "0";
    }
    ++at;
  }
  const int width = read_number(text, at);
  if (at < text.size() && text[at] == ',') {
    spec.grouped = true;
    ++at;
  }
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
  ANEMONE_ASSIGN_OR_RETURN(const Spec spec, parse_spec(spec_text));
  ANEMONE_RETURN_IF_ERROR(charge_field(interpreter, value, spec));
  // As in Python: no precision for integers, no integer forms of other numbers.
  const bool integer_form =
      spec.kind != 0 && std::string_view("dxXob").find(spec.kind) != std::string_view::npos;
  if (value.is_integer() && spec.precision >= 0 && (spec.kind == 0 || integer_form))
    return bad_format(spec_text);
  if (value.is_float() && integer_form) return bad_format(spec_text);
  if (value.is_number() && !(value.is_bool() && spec.kind == 0)) {
    ANEMONE_ASSIGN_OR_RETURN(std::string text, format_number(value, spec));
    return pad(std::move(text), spec, true);
  }
  if ((spec.kind != 0 && spec.kind != 's') || !value.is_text()) return bad_format(spec_text);
  return pad(cut(*value.as_text(), spec.precision), spec, false);
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
      return invalid_argument("[chat template] format has no argument {}", first);
    value = args.positional[static_cast<std::size_t>(number)];
  } else {
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(args.named.size() * cost::kItem));
    const auto it = std::find_if(args.named.begin(), args.named.end(),
                                 [&](const auto& named) { return named.first == first; });
    if (it == args.named.end())
      return invalid_argument("[chat template] format has no argument {}", first);
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
                             const std::vector<Value>& values) {
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
    Spec spec;
    std::optional<Value> keyed;
    if (format[i] == '(') {
      const auto close = format.find(')', i);
      if (close == std::string::npos || values.size() != 1 || values[0].as_dict() == nullptr)
        return bad_format(format);
      ANEMONE_ASSIGN_OR_RETURN(const Value name,
                               interpreter.make_text(format.substr(i + 1, close - i - 1)));
      ANEMONE_ASSIGN_OR_RETURN(keyed, interpreter.get_item(values[0], name));
      i = close + 1;
      used = values.size();
    }
    for (; i < format.size() && std::string_view("-+ #0").find(format[i]) != std::string_view::npos;
         ++i) {
      if (format[i] == '-') spec.align = '<';
      if (format[i] == '+' || format[i] == ' ') spec.sign = format[i];
      if (format[i] == '#') spec.alternate = true;
      if (format[i] == '0' && spec.align == 0) {
        spec.align = '=';
        spec.fill = "0";
      }
    }
    const int width = read_number(format, i);
    if (i < format.size() && format[i] == '.') {
      ++i;
      spec.precision = std::max(read_number(format, i), 0);
    }
    if (width == -2 || i >= format.size()) return bad_format(format);
    spec.width = std::max(width, 0);
    if (spec.align == 0) spec.align = '>';
    spec.kind = format[i];
    if (!keyed && used >= values.size())
      return invalid_argument("[chat template] not enough arguments for format string");
    const Value value = keyed ? *keyed : values[used++];
    ANEMONE_RETURN_IF_ERROR(charge_field(interpreter, value, spec));
    std::string text;
    if (spec.kind == 's') {
      ANEMONE_ASSIGN_OR_RETURN(text, interpreter.to_text(value));
      text = cut(std::move(text), spec.precision);
    } else if (spec.kind == 'r') {
      ANEMONE_ASSIGN_OR_RETURN(text, repr(interpreter.heap(), value));
    } else if (value.is_number() && spec.kind != '%') {
      ANEMONE_ASSIGN_OR_RETURN(text, format_number(value, spec));
    } else {
      return invalid_argument("[chat template] format %{} needs a number, got {}", spec.kind,
                              value.type_name());
    }
    out += pad(std::move(text), spec, true);
    if (out.size() > interpreter.limits().output_bytes) return bad_format(format);
  }
  // Dicts and lists may be left, as in Python.
  const Sequence* left = used < values.size() ? values[used].as_sequence() : nullptr;
  const bool is_list = values.size() == 1 && left != nullptr && left->kind == SequenceKind::kList;
  if (used < values.size() && values[used].as_dict() == nullptr && !is_list)
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
