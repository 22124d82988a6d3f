// SPDX-License-Identifier: Apache-2.0
#include "exec/runtime_error.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/escape.h"

namespace anemone::exec {

std::string describe(const RuntimeError& error) {
  constexpr std::size_t kMostText = 300;
  constexpr std::size_t kMostLinks = 6;
  std::string out;
  for (std::size_t i = 0; i < std::min(error.chain.size(), kMostLinks); ++i) {
    const RuntimeError::Link& link = error.chain[i];
    out += fmt::format("{}{} {}: {}", i > 0 ? "; " : "", link.domain, link.code,
                       shortened(link.text, kMostText));
  }
  return out;
}

}  // namespace anemone::exec
