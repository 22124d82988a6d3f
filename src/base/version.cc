// SPDX-License-Identifier: Apache-2.0
#include "base/version.h"

namespace anemone {

std::string_view version() {
  return ANEMONE_VERSION;
}

}  // namespace anemone
