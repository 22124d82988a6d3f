// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace anemone {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "anemone: internal error: %s does not hold (%s:%d)\n", condition, file,
               line);
  std::abort();
}

}  // namespace anemone
