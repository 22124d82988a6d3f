// SPDX-License-Identifier: Apache-2.0
// Hugging Face tokenizers match with Oniguruma; we match with PCRE2. The two agree on a large
// common part and differ in details (\s and U+180E, \w, scripts, class operations). This translates
// the common part and refuses the rest, so that no pattern can mean something else here.
#pragma once

#include <anemone/status.h>

#include <string>
#include <string_view>

namespace anemone::text {

// The PCRE2 pattern (UTF, UCP) that means what Oniguruma takes `pattern` for. kUnsupported names
// the construct otherwise.
Result<std::string> translate_oniguruma(std::string_view pattern);

// Gives a pattern as messages show it, shortened() to 200 bytes.
std::string shown_pattern(std::string_view pattern);

}  // namespace anemone::text
