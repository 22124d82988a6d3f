// SPDX-License-Identifier: Apache-2.0
// A proposer that knows the texts, and says what it is told to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/loop/engine.h"

namespace anemone::engine::testing {

// What a scripted proposer says: the text that is to come, something else, or one after the other.
enum class Script { kPerfect, kGarbage, kMixed, kMadness };

// Knows whole texts, prompt included.
class ScriptedProposer : public Proposer {
 public:
  ScriptedProposer(Script script, const std::deque<std::vector<std::int32_t>>& texts)
      : script_(script), texts_(texts) {}
  std::optional<int> look(std::span<const std::int32_t> ids) override {
    length_ = ids.size();
    text_ = nullptr;
    for (const std::vector<std::int32_t>& text : texts_)
      if (text.size() > length_ && std::equal(ids.begin(), ids.end(), text.begin())) text_ = &text;
    return 1;
  }
  Status propose(std::int64_t most, std::vector<std::int32_t>& tokens) override {
    ++calls_;
    if (script_ == Script::kMadness) {
      tokens.assign(static_cast<std::size_t>(most), calls_ % 2 == 0 ? -5 : 1 << 30);
      return calls_ % 3 == 0 ? internal_error("[proposer] expected to work, got a failure")
                             : Status();
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(most); ++i) {
      const bool is_known = text_ != nullptr && length_ + i < text_->size();
      const std::int32_t right = is_known ? (*text_)[length_ + i] : 0;
      const bool is_wrong = script_ == Script::kGarbage ||
                            (script_ == Script::kMixed && (length_ + i + calls_) % 5 == 0);
      tokens.push_back(is_wrong ? (right + 1) % 50 : right);
    }
    return {};
  }

 private:
  const Script script_;
  const std::deque<std::vector<std::int32_t>>& texts_;
  const std::vector<std::int32_t>* text_ = nullptr;
  std::size_t length_ = 0;
  std::size_t calls_ = 0;
};

inline EngineOptions engine_options(std::size_t sequences, SpeculationOptions speculation) {
  EngineOptions out{.sequences = sequences, .queue = 1000};
  out.speculation = std::move(speculation);
  return out;
}

// Proposes in every step in which it can.
inline SpeculationOptions scripted(Script script,
                                   const std::deque<std::vector<std::int32_t>>& texts) {
  SpeculationOptions out;
  out.is_adaptive = false;
  out.make_proposer = [script, &texts]() -> Result<std::unique_ptr<Proposer>> {
    return std::unique_ptr<Proposer>(std::make_unique<ScriptedProposer>(script, texts));
  };
  return out;
}

}  // namespace anemone::engine::testing
