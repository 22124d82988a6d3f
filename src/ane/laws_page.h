// SPDX-License-Identifier: Apache-2.0
// docs/ane-laws.md, rendered from the rows, so that the page and what `anemone check` looks for are
// one text.
#pragma once

#include <string>

namespace anemone::ane {

// All laws() as Markdown, by severity: what is so, who measured or stated it, what speaks against
// it, and what to do. Thread-safe.
std::string laws_page();

}  // namespace anemone::ane
