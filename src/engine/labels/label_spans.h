// SPDX-License-Identifier: Apache-2.0
// What a model that labels tokens found in a text, as every client shows it. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace anemone::engine {

// The most likely label of a token, and its probability (softmax over the labels).
struct ScoredLabel {
  std::size_t label = 0;
  double score = 0;
};
// The most likely label of each token, from the logits [tokens, labels]: the first of several with
// the same logit.
std::vector<ScoredLabel> score_labels(std::span<const float> logits, std::size_t labels);

// Tokens that belong together: a run of one label without its prefix. B-, S- and U- begin a run,
// and E-, L-, S- and U- end one (the schemes BIO, BIOES and BILOU). "O" and an empty name stand for
// no label.
struct LabelSpan {
  std::string label;
  std::size_t first = 0;  // token
  std::size_t count = 0;
  double score = 0;  // mean over its tokens
};
std::vector<LabelSpan> spans_of(std::span<const ScoredLabel> tokens,
                                std::span<const std::string> names);

// Where the tokens of spans are in their text. `pieces` are the bytes of the tokens, empty for
// special ones.
struct LabelledText {
  std::string_view text;
  std::span<const std::string> pieces;
};
// [{"label", "score", "start", "end", "text"}]: start and end in characters of the text, without
// spaces at the edges. They are null where the pieces together are not the text, as a normalizer
// changed it, or where there is none; "text" is what the pieces of the span say then.
Json spans_json(std::span<const LabelSpan> spans, const LabelledText& labelled);

}  // namespace anemone::engine
