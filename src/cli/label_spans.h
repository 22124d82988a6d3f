// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace anemone::cli {

// Tokens in a row that a model labels as one thing.
struct LabelSpan {
  std::string label;  // without the letter that says where in the span a token is
  std::size_t begin = 0;
  std::size_t end = 0;  // one past the last token
};

// Merges the labels of a text's tokens, one each, into spans. Labels are "O" for nothing, and else
// a name ("PERSON"), which goes on as long as it stays the same, or a name after a letter as the
// schemes IOB2, IOE and BILOU have them: B- and S- (U-) begin a span; I-, E- and L- continue one of
// the same name, or begin one where there is none; E-, L-, S- and U- end it.
std::vector<LabelSpan> label_spans(std::span<const std::string> labels);

}  // namespace anemone::cli
