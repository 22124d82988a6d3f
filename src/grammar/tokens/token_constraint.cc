// SPDX-License-Identifier: Apache-2.0
#include "grammar/tokens/token_constraint.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/error.h"
#include "base/escape.h"

namespace anemone::grammar {
namespace {

constexpr std::size_t kShownBytes = 40;

}  // namespace

std::string TokenConstraint::place() const {
  return fmt::format("after {} bytes: \"{}\"", text_bytes_, escaped(last_text_));
}

Result<std::shared_ptr<const TokenMask>> TokenConstraint::mask() {
  if (has_ended_) return invalid_argument("[grammar] expected no token after the end of the text");
  return masks_->mask(matcher_).with(place());
}

Status TokenConstraint::accept(std::int32_t id) {
  const auto eos_ids = masks_->trie().eos_ids();
  const bool is_eos = std::find(eos_ids.begin(), eos_ids.end(), id) != eos_ids.end();
  if (has_ended_ || (is_eos && !matcher_.is_complete()))
    return invalid_argument("[grammar] expected {}, got token {} ({})",
                            has_ended_ ? "no token" : "more text", id, place());
  if (is_eos) {
    has_ended_ = true;
    return {};
  }
  const std::string_view bytes = masks_->trie().token_bytes(id);
  if (bytes.empty() || !matcher_.accept(bytes))
    return invalid_argument("[grammar] expected a token that the grammar allows, got {} ({})", id,
                            place());
  text_bytes_ += bytes.size();
  last_text_ += bytes;
  if (last_text_.size() > kShownBytes) last_text_.erase(0, last_text_.size() - kShownBytes);
  return {};
}

}  // namespace anemone::grammar
