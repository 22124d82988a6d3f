// SPDX-License-Identifier: Apache-2.0
#include "text/decode_stages.h"

#include "text/byte_level.h"
#include "text/utf8.h"

namespace anemone::text {
namespace {

class ByteLevelStage : public DecodeStage {
 public:
  ByteLevelStage(DecodeStage* next) : next_(next) {}
  void push(std::string_view bytes) override {
    if (waiting_.empty() && is_valid_utf8(bytes)) {
      next_->push(bytes);
      return;
    }
    waiting_ += bytes;
    const std::size_t ready = complete_utf8_prefix(waiting_);
    if (ready == 0) return;
    next_->push(replace_invalid_utf8(std::string_view(waiting_).substr(0, ready)));
    waiting_.erase(0, ready);
  }
  void finish() override {
    if (!waiting_.empty()) next_->push(replace_invalid_utf8(waiting_));
    next_->finish();
  }

 private:
  DecodeStage* next_;
  std::string waiting_;  // the beginning of a character
};

class ByteFallbackStage : public DecodeStage {
 public:
  ByteFallbackStage(DecodeStage* next) : next_(next) {}
  void push(std::string_view token) override {
    const int byte = parse_byte_token(token);
    if (byte >= 0) {
      // The run is text only if the whole of it is valid, so all of it waits for its end.
      run_.push_back(static_cast<char>(byte));
      return;
    }
    flush();
    next_->push(token);
  }
  void finish() override {
    flush();
    next_->finish();
  }

 private:
  void flush() {
    if (run_.empty()) return;
    if (is_valid_utf8(run_)) {
      next_->push(run_);
    } else {
      for (std::size_t i = 0; i < run_.size(); ++i) next_->push(kReplacementCharacter);
    }
    run_.clear();
  }
  DecodeStage* next_;
  std::string run_;
};

class JoinStage : public DecodeStage {
 public:
  JoinStage(DecodeStage* next) : next_(next) {}
  void push(std::string_view token) override {
    if (!first_) next_->push(" ");
    first_ = false;
    next_->push(token);
  }
  void finish() override { next_->finish(); }

 private:
  DecodeStage* next_;
  bool first_ = true;
};

class ReplaceStage : public DecodeStage {
 public:
  ReplaceStage(const Decoder::ReplaceStep& step, DecodeStage* next) : step_(step), next_(next) {}
  void push(std::string_view token) override {
    // A pattern that exceeds its limit leaves the token as it is: decoding has no errors.
    const auto replaced = step_.pattern.replace_all(token, step_.content, nullptr);
    next_->push(replaced.ok() ? std::string_view(*replaced) : token);
  }
  void finish() override { next_->finish(); }

 private:
  const Decoder::ReplaceStep& step_;
  DecodeStage* next_;
};

class StripStage : public DecodeStage {
 public:
  StripStage(const Decoder::StripStep& step, DecodeStage* next)
      : step_(step), next_(next), left_(step.start) {}
  void push(std::string_view token) override {
    if (!step_.fused) left_ = step_.start;
    while (left_ > 0 && token.starts_with(step_.content)) {
      token.remove_prefix(step_.content.size());
      --left_;
    }
    if (!token.empty()) left_ = 0;
    for (std::size_t i = 0; i < step_.stop && token.ends_with(step_.content); ++i)
      token.remove_suffix(step_.content.size());
    if (!step_.fused || !token.empty()) next_->push(token);
  }
  void finish() override { next_->finish(); }

 private:
  const Decoder::StripStep& step_;
  DecodeStage* next_;
  std::size_t left_;  // how many may still be taken from the front
};

class MetaspaceStage : public DecodeStage {
 public:
  MetaspaceStage(const Decoder::MetaspaceStep& step, DecodeStage* next)
      : step_(step), next_(next) {}
  void push(std::string_view token) override {
    std::string text;
    for (std::size_t i = 0; i < token.size();) {
      if (token.substr(i).starts_with(step_.replacement)) {
        if (!first_ || !step_.drop_first) text += ' ';
        i += step_.replacement.size();
      } else {
        text += token[i++];
      }
    }
    first_ = false;
    next_->push(text);
  }
  void finish() override { next_->finish(); }

 private:
  const Decoder::MetaspaceStep& step_;
  DecodeStage* next_;
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

std::unique_ptr<DecodeStage> make_decode_stage(const Decoder::Step& step, DecodeStage* next) {
  if (std::holds_alternative<Decoder::ByteLevelStep>(step))
    return std::make_unique<ByteLevelStage>(next);
  if (std::holds_alternative<Decoder::ByteFallbackStep>(step))
    return std::make_unique<ByteFallbackStage>(next);
  if (std::holds_alternative<Decoder::JoinStep>(step)) return std::make_unique<JoinStage>(next);
  if (const auto* replace = std::get_if<Decoder::ReplaceStep>(&step))
    return std::make_unique<ReplaceStage>(*replace, next);
  if (const auto* strip = std::get_if<Decoder::StripStep>(&step))
    return std::make_unique<StripStage>(*strip, next);
  if (const auto* metaspace = std::get_if<Decoder::MetaspaceStep>(&step))
    return std::make_unique<MetaspaceStage>(*metaspace, next);
  return nullptr;
}

}  // namespace anemone::text
