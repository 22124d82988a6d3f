// SPDX-License-Identifier: Apache-2.0
#include "engine/labels/label_spans.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "text/tools/blanks.h"
#include "text/utf8.h"

namespace anemone::engine {
namespace {

// "B-" of "B-name"; empty where there is no such prefix.
std::string_view prefix_of(std::string_view label) {
  constexpr std::string_view kPrefixes = "BIESLU";
  const bool has_prefix =
      label.size() > 2 && label[1] == '-' && kPrefixes.find(label[0]) != kPrefixes.npos;
  return label.substr(0, has_prefix ? 2 : 0);
}

bool is_inside_character(std::string_view text, std::size_t at) {
  return at < text.size() && (text[at] & 0xc0) == 0x80;
}

// Bytes of a character after its first one. Ids of the client make any bytes, so that more of them
// may stand in a row.
constexpr int kMaxInnerBytes = 3;

// The bytes of a part, without spaces at its edges and with whole characters.
std::pair<std::size_t, std::size_t> trimmed(std::string_view text, std::size_t begin,
                                            std::size_t end) {
  for (int i = 0; i < kMaxInnerBytes && begin > 0 && is_inside_character(text, begin); ++i) --begin;
  for (int i = 0; i < kMaxInnerBytes && is_inside_character(text, end); ++i) ++end;
  while (begin < end && text::is_blank(text[begin])) ++begin;
  while (begin < end && text::is_blank(text[end - 1])) --end;
  return {begin, end};
}

}  // namespace

std::vector<ScoredLabel> score_labels(std::span<const float> logits, std::size_t labels) {
  std::vector<ScoredLabel> out;
  for (; !logits.empty(); logits = logits.subspan(labels)) {
    const auto row = logits.first(labels);
    const auto best = std::ranges::max_element(row);
    double sum = 0;
    for (const float logit : row) sum += std::exp(static_cast<double>(logit) - *best);
    out.push_back({static_cast<std::size_t>(best - row.begin()), 1 / sum});
  }
  return out;
}

std::vector<LabelSpan> spans_of(std::span<const ScoredLabel> tokens,
                                std::span<const std::string> names) {
  std::vector<LabelSpan> out;
  bool is_open = false;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const std::string_view name = names[tokens[t].label];
    const std::string_view prefix = prefix_of(name);
    const std::string_view label = name.substr(prefix.size());
    if (name == "O" || name.empty()) {
      is_open = false;
      continue;
    }
    const bool begins = prefix == "B-" || prefix == "S-" || prefix == "U-";
    if (!is_open || begins || out.back().label != label)
      out.push_back({std::string(label), t, 0, 0});
    LabelSpan& span = out.back();
    ++span.count;
    span.score += (tokens[t].score - span.score) / static_cast<double>(span.count);
    is_open = prefix != "E-" && prefix != "L-" && prefix != "S-" && prefix != "U-";
  }
  return out;
}

Json spans_json(std::span<const LabelSpan> spans, const LabelledText& labelled) {
  std::vector<std::size_t> ends;  // of the pieces, in their bytes together
  std::string joined;
  for (const std::string& piece : labelled.pieces) {
    joined += piece;
    ends.push_back(joined.size());
  }
  const bool has_places = !joined.empty() && joined == labelled.text;
  Json out = Json::array();
  // Characters up to `counted` bytes: the spans come in the order of the text.
  std::size_t counted = 0;
  std::size_t before = 0;
  const std::string_view text = joined;
  for (const LabelSpan& span : spans) {
    const auto [begin, end] = trimmed(text, span.first == 0 ? 0 : ends[span.first - 1],
                                      ends[span.first + span.count - 1]);
    Json start = nullptr, stop = nullptr;
    if (has_places) {
      if (begin < counted) counted = 0, before = 0;
      before += text::count_code_points(text.substr(counted, begin - counted));
      counted = begin;
      start = before;
      stop = before + text::count_code_points(text.substr(begin, end - begin));
    }
    out.push_back({{"label", span.label},
                   {"score", span.score},
                   {"start", std::move(start)},
                   {"end", std::move(stop)},
                   {"text", text.substr(begin, end - begin)}});
  }
  return out;
}

}  // namespace anemone::engine
