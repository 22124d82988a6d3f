// SPDX-License-Identifier: Apache-2.0
#include "text/unicode.h"

#include <algorithm>
#include <utf8proc.h>
#include <vector>

#include "text/unicode_versions.h"
#include "text/utf8.h"

namespace anemone::text {
namespace {

utf8proc_int32_t as_proc(char32_t value) {
  return static_cast<utf8proc_int32_t>(value);
}

// One character decomposes to at most 18 (U+FDFA in NFKD).
constexpr int kMaxDecomposition = 32;

std::vector<utf8proc_int32_t> decompose(std::string_view text, utf8proc_option_t options) {
  std::vector<utf8proc_int32_t> points;
  points.reserve(text.size());
  utf8proc_int32_t buffer[kMaxDecomposition];
  int boundary = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_code_point(text, i);
    i += static_cast<std::size_t>(point.length);
    const auto count = utf8proc_decompose_char(as_proc(point.value), buffer, kMaxDecomposition,
                                               options, &boundary);
    const bool changes = count != 1 || buffer[0] != as_proc(point.value);
    if (changes && count > 0 && count <= kMaxDecomposition && may_change_in_unicode_9(point.value))
      points.insert(points.end(), buffer, buffer + count);
    else
      points.push_back(as_proc(point.value));
  }
  return points;
}

// Canonical ordering. utf8proc's own is an insertion sort, quadratic on a long run of marks.
void order_marks(std::vector<utf8proc_int32_t>& points) {
  const auto combining_class = [](utf8proc_int32_t point) {
    const auto value = utf8proc_get_property(point)->combining_class;
    return value == 0 || may_change_in_unicode_9(static_cast<char32_t>(point)) ? value : 0;
  };
  for (std::size_t i = 0; i < points.size();) {
    if (points[i] < 0x300 || combining_class(points[i]) == 0) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < points.size() && combining_class(points[end]) != 0) ++end;
    std::stable_sort(points.begin() + static_cast<std::ptrdiff_t>(i),
                     points.begin() + static_cast<std::ptrdiff_t>(end),
                     [&](utf8proc_int32_t a, utf8proc_int32_t b) {
                       return combining_class(a) < combining_class(b);
                     });
    i = end;
  }
}

// Canonical composition by Unicode 9.0, as Hugging Face's tokenizers compose. A code point that was
// added later composes with nothing, and nothing composes across it.
void compose_canonically(std::vector<utf8proc_int32_t>& points, utf8proc_option_t options) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points.size();) {
    std::size_t end = i;
    while (end < points.size() && may_change_in_unicode_9(static_cast<char32_t>(points[end])))
      ++end;
    if (end == i) {
      points[kept++] = points[i++];
      continue;
    }
    const auto count = utf8proc_normalize_utf32(points.data() + i,
                                                static_cast<utf8proc_ssize_t>(end - i), options);
    const auto from = points.begin() + static_cast<std::ptrdiff_t>(i);
    const auto length = std::max<utf8proc_ssize_t>(count, 0);
    if (kept != i)
      std::copy(from, from + length, points.begin() + static_cast<std::ptrdiff_t>(kept));
    kept += static_cast<std::size_t>(length);
    i = end;
  }
  points.resize(kept);
}

}  // namespace

bool is_white_space(char32_t value) {
  if (value < 0x80) return value == ' ' || (value >= 0x9 && value <= 0xD);
  return value == 0x85 || value == 0xA0 || value == 0x1680 ||
         (value >= 0x2000 && value <= 0x200A) || value == 0x2028 || value == 0x2029 ||
         value == 0x202F || value == 0x205F || value == 0x3000;
}

bool is_numeric(char32_t value) {
  if (value < 0x80) return value >= '0' && value <= '9';
  const auto category = utf8proc_category(as_proc(value));
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_NO || is_newer_numeric(value);
}

bool is_word_character(char32_t value) {
  switch (utf8proc_category(as_proc(value))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      break;
  }
  // The symbols that have Other_Alphabetic, and Join_Control.
  return is_newer_word_character(value) || (value >= 0x24B6 && value <= 0x24E9) ||
         (value >= 0x1F130 && value <= 0x1F149) || (value >= 0x1F150 && value <= 0x1F169) ||
         (value >= 0x1F170 && value <= 0x1F189) || value == 0x200C || value == 0x200D;
}

std::size_t leading_space_bytes(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const CodePoint point = decode_code_point(text, at);
    if (!is_white_space(point.value)) break;
    at += static_cast<std::size_t>(point.length);
  }
  return at;
}

std::size_t trailing_space_begin(std::string_view text, std::size_t floor) {
  std::size_t end = text.size();
  while (end > floor) {
    const std::size_t at = last_character(text.substr(0, end));
    if (at < floor || !is_white_space(decode_code_point(text, at).value)) break;
    end = at;
  }
  return end;
}

// Below U+0300 everything is NFC already, and ASCII is in every form.
bool is_surely_normal(std::string_view text, NormalForm form) {
  const unsigned char limit = form == NormalForm::kNfc ? 0xCC : 0x80;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return static_cast<unsigned char>(c) < limit; });
}

// A character of three bytes becomes up to 18 characters of 33 bytes in NFKD, and up to 4 of 9
// bytes in NFD. While a vector grows, its old and its new memory exist together.
std::size_t normal_form_bytes(NormalForm form) {
  return form == NormalForm::kNfkc || form == NormalForm::kNfkd ? 72 : 16;
}

std::string normalize_unicode(std::string_view text, NormalForm form) {
  if (is_surely_normal(text, form)) return std::string(text);
  const bool compose = form == NormalForm::kNfc || form == NormalForm::kNfkc;
  const bool compatible = form == NormalForm::kNfkc || form == NormalForm::kNfkd;
  const int kind = UTF8PROC_STABLE | (compatible ? UTF8PROC_COMPAT : 0);
  std::vector<utf8proc_int32_t> points =
      decompose(text, static_cast<utf8proc_option_t>(kind | UTF8PROC_DECOMPOSE));
  order_marks(points);
  if (compose) compose_canonically(points, static_cast<utf8proc_option_t>(kind | UTF8PROC_COMPOSE));
  std::string out;
  out.reserve(text.size());
  for (const utf8proc_int32_t point : points) append_utf8(static_cast<char32_t>(point), out);
  return out;
}

std::string to_lower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_code_point(text, i);
    i += static_cast<std::size_t>(point.length);
    // U+0130 is the only character whose lower case has two characters whatever surrounds it.
    if (point.value == 0x130)
      out += "i\xCC\x87";
    else
      append_utf8(newer_lower_case(static_cast<char32_t>(utf8proc_tolower(as_proc(point.value)))),
                  out);
  }
  return out;
}

std::string to_upper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_code_point(text, i);
    i += static_cast<std::size_t>(point.length);
    if (point.value == 0xDF)
      out += "SS";
    else
      append_utf8(static_cast<char32_t>(utf8proc_toupper(as_proc(point.value))), out);
  }
  return out;
}

}  // namespace anemone::text
