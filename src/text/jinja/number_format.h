// SPDX-License-Identifier: Apache-2.0
// Numbers and texts laid out by a format specification of Python, be it of "%8.2f" or of "{:8.2f}".
#pragma once

#include <anemone/status.h>

#include <string>

#include "text/jinja/value.h"

namespace anemone::text::jinja {

struct FormatSpec {
  std::string fill = " ";
  char align = 0;          // < > ^ =; 0: by kind
  char sign = 0;           // '+' or ' ' for numbers that are not negative
  bool alternate = false;  // 0x; floats have no such form here
  char separator = 0;      // between groups of digits
  int width = 0;
  int precision = -1;
  char kind = 0;
};

// Left where the specification does not say.
std::string pad_text(const std::string& text, const FormatSpec& spec);
// The kinds d b o x X; a precision is the least number of digits.
Result<std::string> format_integer(Int number, const FormatSpec& spec);
// The kinds e E f F g G %; 0: as short as reads back the same, or to the precision.
Result<std::string> format_float(double number, const FormatSpec& spec);

}  // namespace anemone::text::jinja
