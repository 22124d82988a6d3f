// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <string>

#include "grammar/automaton/matcher.h"
#include "grammar/tokens/token_masks.h"

namespace anemone::grammar {

// The grammar of one answer while it is made: for each step mask(), whose bits are applied to the
// logits before a token is picked, then accept() of that token. Copies are cheap and independent.
// Single-thread; grammar and masks are shared by the answers of all requests.
class TokenConstraint {
 public:
  TokenConstraint(std::shared_ptr<const Grammar> grammar, std::shared_ptr<TokenMasks> masks)
      : matcher_(std::move(grammar)), masks_(std::move(masks)) {}

  // The tokens that may come next. The errors are those of TokenMasks::mask(), with the end of the
  // text. After the end-of-sequence token: kInvalidArgument.
  Result<std::shared_ptr<const TokenMask>> mask();
  // `id` is the next token. kInvalidArgument if the mask does not allow it; nothing changes then.
  Status accept(std::int32_t id);

  // The text may end here; an end-of-sequence token is allowed.
  bool is_complete() const { return matcher_.is_complete(); }
  // An end-of-sequence token was accepted, or nothing can follow a complete text: generation stops.
  bool has_ended() const {
    return has_ended_ || (matcher_.is_complete() && !matcher_.can_continue());
  }
  const GrammarMatcher& matcher() const { return matcher_; }

 private:
  std::string place() const;

  GrammarMatcher matcher_;
  std::shared_ptr<TokenMasks> masks_;
  std::string last_text_;  // the end of the text, for messages
  std::uint64_t text_bytes_ = 0;
  bool has_ended_ = false;
};

}  // namespace anemone::grammar
