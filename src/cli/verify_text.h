// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace anemone::cli {

// What `anemone verify` reads when no text is given: prose, talk, facts, arithmetic, code, data and
// several languages, some four hundred tokens in a vocabulary of today. A change of it changes
// every verdict, so it changes only with the format of the manifest.
std::string_view verify_text();

}  // namespace anemone::cli
