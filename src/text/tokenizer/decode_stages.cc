// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/decode_stages.h"

#include "text/tokenizer/byte_level.h"
#include "text/utf8.h"

namespace anemone::text {
namespace {

// A stage with another one after it.
class InnerStage : public DecodeStage {
 public:
  InnerStage(DecodeStage* next, WorkBudget& work) : DecodeStage(work), next_(next) {}
  Status finish() override {
    ANEMONE_RETURN_IF_ERROR(flush());
    return next_->finish();
  }

 protected:
  // Hands on what waits.
  virtual Status flush() { return {}; }
  Status hand_on(std::string_view token) { return next_->push(token); }

 private:
  DecodeStage* next_;
};

class ByteLevelStage : public InnerStage {
 public:
  using InnerStage::InnerStage;

 private:
  Status take(std::string_view bytes) override {
    if (waiting_.empty() && is_valid_utf8(bytes)) return hand_on(bytes);
    waiting_ += bytes;
    const std::size_t ready = complete_utf8_prefix(waiting_);
    if (ready == 0) return {};
    ANEMONE_RETURN_IF_ERROR(
        hand_on(replace_invalid_utf8(std::string_view(waiting_).substr(0, ready))));
    waiting_.erase(0, ready);
    return {};
  }
  Status flush() override {
    return waiting_.empty() ? Status() : hand_on(replace_invalid_utf8(waiting_));
  }

  std::string waiting_;  // the beginning of a character
};

class ByteFallbackStage : public InnerStage {
 public:
  using InnerStage::InnerStage;

 private:
  Status take(std::string_view token) override {
    const int byte = parse_byte_token(token);
    if (byte >= 0) {
      // The run is text only if the whole of it is valid, so all of it waits for its end.
      run_.push_back(static_cast<char>(byte));
      return {};
    }
    ANEMONE_RETURN_IF_ERROR(flush());
    return hand_on(token);
  }
  Status flush() override {
    if (run_.empty()) return {};
    if (is_valid_utf8(run_)) {
      ANEMONE_RETURN_IF_ERROR(hand_on(run_));
    } else {
      for (std::size_t i = 0; i < run_.size(); ++i)
        ANEMONE_RETURN_IF_ERROR(hand_on(kReplacementCharacter));
    }
    run_.clear();
    return {};
  }

  std::string run_;
};

class JoinStage : public InnerStage {
 public:
  using InnerStage::InnerStage;

 private:
  Status take(std::string_view token) override {
    if (!first_) ANEMONE_RETURN_IF_ERROR(hand_on(" "));
    first_ = false;
    return hand_on(token);
  }

  bool first_ = true;
};

class ReplaceStage : public InnerStage {
 public:
  ReplaceStage(const Decoder::ReplaceStep& step, DecodeStage* next, WorkBudget& work)
      : InnerStage(next, work), step_(step) {}

 private:
  Status take(std::string_view token) override {
    ANEMONE_ASSIGN_OR_RETURN(const std::string replaced,
                             step_.pattern.replace_all(token, step_.content, work()));
    MemoryCharge memory(work());
    ANEMONE_RETURN_IF_ERROR(memory.hold(replaced.capacity()));
    return hand_on(replaced);
  }

  const Decoder::ReplaceStep& step_;
};

class StripStage : public InnerStage {
 public:
  StripStage(const Decoder::StripStep& step, DecodeStage* next, WorkBudget& work)
      : InnerStage(next, work), step_(step), left_(step.start) {}

 private:
  Status take(std::string_view token) override {
    if (!step_.fused) left_ = step_.start;
    while (left_ > 0 && token.starts_with(step_.content)) {
      token.remove_prefix(step_.content.size());
      --left_;
    }
    if (!token.empty()) left_ = 0;
    for (std::size_t i = 0; i < step_.stop && token.ends_with(step_.content); ++i)
      token.remove_suffix(step_.content.size());
    return !step_.fused || !token.empty() ? hand_on(token) : Status();
  }

  const Decoder::StripStep& step_;
  std::size_t left_;  // how many may still be taken from the front
};

class MetaspaceStage : public InnerStage {
 public:
  MetaspaceStage(const Decoder::MetaspaceStep& step, DecodeStage* next, WorkBudget& work)
      : InnerStage(next, work), step_(step) {}

 private:
  Status take(std::string_view token) override {
    MemoryCharge memory(work());
    ANEMONE_RETURN_IF_ERROR(memory.hold(token.size()));
    std::string text;
    text.reserve(token.size());
    for (std::size_t i = 0; i < token.size();) {
      if (token.substr(i).starts_with(step_.replacement)) {
        if (!first_ || !step_.drop_first) text += ' ';
        i += step_.replacement.size();
      } else {
        text += token[i++];
      }
    }
    first_ = false;
    return hand_on(text);
  }

  const Decoder::MetaspaceStep& step_;
  bool first_ = true;
};

}  // namespace

int parse_byte_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) return -1;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    int digit = -1;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
    if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

std::unique_ptr<DecodeStage> make_decode_stage(const Decoder::Step& step, DecodeStage* next,
                                               WorkBudget& work) {
  if (std::holds_alternative<Decoder::ByteLevelStep>(step))
    return std::make_unique<ByteLevelStage>(next, work);
  if (std::holds_alternative<Decoder::ByteFallbackStep>(step))
    return std::make_unique<ByteFallbackStage>(next, work);
  if (std::holds_alternative<Decoder::JoinStep>(step))
    return std::make_unique<JoinStage>(next, work);
  if (const auto* replace = std::get_if<Decoder::ReplaceStep>(&step))
    return std::make_unique<ReplaceStage>(*replace, next, work);
  if (const auto* strip = std::get_if<Decoder::StripStep>(&step))
    return std::make_unique<StripStage>(*strip, next, work);
  if (const auto* metaspace = std::get_if<Decoder::MetaspaceStep>(&step))
    return std::make_unique<MetaspaceStage>(*metaspace, next, work);
  return nullptr;
}

}  // namespace anemone::text
