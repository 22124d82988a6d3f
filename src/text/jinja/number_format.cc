// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/number_format.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "text/jinja/value_text.h"
#include "text/utf8.h"

namespace anemone::text::jinja {
namespace {

constexpr int kMaxPrecision = 100;

// A number in the parts between which padding goes.
struct NumberParts {
  std::string head;    // sign, 0x
  std::string digits;  // before the point
  std::string tail;
};

std::string padded(const std::string& head, const std::string& body, char align,
                   const FormatSpec& spec) {
  const std::size_t length = count_code_points(head) + count_code_points(body);
  const auto width = static_cast<std::size_t>(spec.width);
  if (length >= width) return head + body;
  const std::size_t missing = width - length;
  const std::size_t left = align == '<' ? 0 : (align == '^' ? missing / 2 : missing);
  std::string before;
  std::string after;
  for (std::size_t i = 0; i < missing; ++i) (i < left ? before : after) += spec.fill;
  return align == '=' ? head + before + body : before + head + body + after;
}

std::string grouped(const std::string& digits, std::size_t group, char separator) {
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % group == 0) out += separator;
    out += digits[i];
  }
  return out;
}

std::string sign_of(const FormatSpec& spec) {
  return spec.sign == '+' || spec.sign == ' ' ? std::string(1, spec.sign) : std::string();
}

std::string lay_out(NumberParts parts, const FormatSpec& spec) {
  if (parts.head.empty()) parts.head = sign_of(spec);
  const char align = spec.align != 0 ? spec.align : '>';
  if (spec.separator != 0) {
    const bool decimal =
        std::string_view("boxX").find(spec.kind) == std::string_view::npos || spec.kind == 0;
    const std::size_t group = decimal ? 3 : 4;
    const std::string digits = parts.digits;
    parts.digits = grouped(digits, group, spec.separator);
    // Zeros of the padding are grouped, too, and no separator comes first.
    const std::size_t others = parts.head.size() + parts.tail.size();
    if (align == '=' && spec.fill == "0" &&
        others + parts.digits.size() < static_cast<std::size_t>(spec.width)) {
      const std::size_t room = static_cast<std::size_t>(spec.width) - others;
      // n digits take n + (n - 1) / group characters.
      const std::size_t count = (room * group + 1 + group) / (group + 1);
      parts.digits = grouped(std::string(count - std::min(count, digits.size()), '0') + digits,
                             group, spec.separator);
    }
  }
  return padded(parts.head, parts.digits + parts.tail, align, spec);
}

Status check_precision(const FormatSpec& spec) {
  if (spec.precision <= kMaxPrecision) return ok_status();
  return invalid_argument("[chat template] a number is formatted with at most {} digits, got {}",
                          kMaxPrecision, spec.precision);
}

// A precision without a kind: like g, but with a digit after the point or an exponent.
std::string general(double number, int precision) {
  std::string text = fmt::format("{:.{}g}", number, precision);
  if (!std::isfinite(number) || text.find_first_of(".e") != std::string::npos) return text;
  const auto digits = static_cast<int>(text.size()) - (text.starts_with('-') ? 1 : 0);
  if (digits < precision) return text + ".0";
  text = fmt::format("{:.{}e}", number, std::max(precision, 1) - 1);
  const std::size_t exponent = text.find('e');
  std::size_t end = exponent;
  if (text.find('.') != std::string::npos) {
    while (text[end - 1] == '0') --end;
    if (text[end - 1] == '.') --end;
  }
  return text.substr(0, end) + text.substr(exponent);
}

}  // namespace

std::string pad_text(const std::string& text, const FormatSpec& spec) {
  return padded({}, text, spec.align != 0 ? spec.align : '<', spec);
}

Result<std::string> format_integer(Int number, const FormatSpec& spec) {
  ANEMONE_RETURN_IF_ERROR(check_precision(spec));
  NumberParts parts;
  if (number < 0) parts.head = '-';
  const bool decimal = spec.kind == 0 || spec.kind == 'd';
  if (decimal) {
    parts.digits = integer_text(number).substr(parts.head.size());
  } else {
    if (parts.head.empty()) parts.head = sign_of(spec);
    if (spec.alternate) parts.head += std::string("0") + spec.kind;
    const unsigned base = spec.kind == 'o' ? 8 : (spec.kind == 'b' ? 2 : 16);
    const char* digits = spec.kind == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    auto rest = static_cast<unsigned __int128>(number);
    if (number < 0) rest = -rest;
    do {
      parts.digits += digits[static_cast<std::size_t>(rest % base)];
      rest /= base;
    } while (rest != 0);
    std::reverse(parts.digits.begin(), parts.digits.end());
  }
  const auto least = static_cast<std::size_t>(std::max(spec.precision, 0));
  if (parts.digits.size() < least) parts.digits.insert(0, least - parts.digits.size(), '0');
  return lay_out(std::move(parts), spec);
}

Result<std::string> format_float(double number, const FormatSpec& spec) {
  ANEMONE_RETURN_IF_ERROR(check_precision(spec));
  if (std::isnan(number)) number = std::abs(number);  // without a sign
  std::string text;
  if (spec.kind == 0) {
    text = spec.precision < 0 ? float_text(number) : general(number, spec.precision);
  } else {
    const bool percent = spec.kind == '%';
    const char kind = percent ? 'f' : spec.kind;
    const int precision = spec.precision < 0 ? 6 : spec.precision;
    const std::string form = fmt::format("{{:.{}{}}}", precision, kind);
    text = fmt::format(fmt::runtime(form), percent ? number * 100 : number);
    if (percent) text += '%';
  }
  NumberParts parts;
  if (text.starts_with('-')) parts.head = '-';
  const std::size_t begin = parts.head.size();
  const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
  parts.digits = text.substr(begin, end - begin);
  parts.tail = text.substr(end);
  return lay_out(std::move(parts), spec);
}

}  // namespace anemone::text::jinja
