// SPDX-License-Identifier: Apache-2.0
// The page that `anemone check --html` writes: one file that a browser shows without a network.
#pragma once

#include <string_view>

namespace anemone::cli {

// The page is the head, the report as JSON and the four parts of its script. The script reads the
// JSON from the element around it, so every `<` of the JSON has to be written as \u003c.
extern const std::string_view kCheckPageHead;
extern const std::string_view kCheckPageStart;
extern const std::string_view kCheckPageGraph;
extern const std::string_view kCheckPageMeasured;
extern const std::string_view kCheckPageEnd;

}  // namespace anemone::cli
