// SPDX-License-Identifier: Apache-2.0
// The running forms of the Decoder's steps. Each stage takes tokens and hands tokens to the next.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "text/tokenizer/decoder.h"

namespace anemone::text {

class DecodeStage {
 public:
  // `work` pays for what the stage does and holds, and outlives it.
  explicit DecodeStage(WorkBudget& work) : work_(work) {}
  virtual ~DecodeStage() = default;
  // The error when the budget is used up.
  Status push(std::string_view token) {
    ANEMONE_RETURN_IF_ERROR(work_.spend(kTokenUnits + token.size()));
    return take(token);
  }
  // Hands on what waits, then finishes the next stage.
  virtual Status finish() = 0;

 protected:
  WorkBudget& work() { return work_; }

 private:
  static constexpr std::size_t kTokenUnits = 10;
  virtual Status take(std::string_view token) = 0;
  WorkBudget& work_;
};

// The last stage: appends to a string that the stream sets for each call. The budget counts all of
// the text to its end.
class DecodeSink : public DecodeStage {
 public:
  explicit DecodeSink(WorkBudget& work) : DecodeStage(work) {}
  Status finish() override { return {}; }
  std::string* out = nullptr;

 private:
  Status take(std::string_view token) override {
    ANEMONE_RETURN_IF_ERROR(work().take(token.size()));
    out->append(token);
    return {};
  }
};

// `next` and the step must outlive the stage. nullptr for a step that has nothing to do while
// running.
std::unique_ptr<DecodeStage> make_decode_stage(const Decoder::Step& step, DecodeStage* next,
                                               WorkBudget& work);

// The byte that "<0x0A>" names, or -1.
int parse_byte_token(std::string_view token);

}  // namespace anemone::text
