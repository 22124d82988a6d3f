// SPDX-License-Identifier: Apache-2.0
// What MIL text counts as letters, whatever the locale says.
#pragma once

#include "base/ascii.h"

namespace anemone::ir {

constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace anemone::ir
