// SPDX-License-Identifier: Apache-2.0
#include "cli/label_spans.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace anemone::cli {
namespace {

std::string spans_of(const std::vector<std::string>& labels) {
  std::string out;
  for (const LabelSpan& span : label_spans(labels))
    out += fmt::format("{}{} {}-{}", out.empty() ? "" : ", ", span.label, span.begin, span.end);
  return out;
}

TEST(LabelSpans, FollowEveryScheme) {
  EXPECT_EQ(spans_of({}), "");
  EXPECT_EQ(spans_of({"O", "O"}), "");
  EXPECT_EQ(spans_of({"PER", "PER", "O", "PER", "LOC"}), "PER 0-2, PER 3-4, LOC 4-5");
  EXPECT_EQ(spans_of({"B-PER", "I-PER", "B-PER", "O", "I-LOC"}), "PER 0-2, PER 2-3, LOC 4-5");
  EXPECT_EQ(spans_of({"B-PER", "E-PER", "I-PER", "S-LOC", "S-LOC"}),
            "PER 0-2, PER 2-3, LOC 3-4, LOC 4-5");
  EXPECT_EQ(spans_of({"B-PER", "I-LOC", "L-LOC", "U-LOC"}), "PER 0-1, LOC 1-3, LOC 3-4");
}

}  // namespace
}  // namespace anemone::cli
