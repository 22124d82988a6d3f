// SPDX-License-Identifier: Apache-2.0
// The running forms of the Decoder's steps. Each stage takes tokens and hands tokens to the next.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "text/decoder.h"

namespace anemone::text {

class DecodeStage {
 public:
  virtual ~DecodeStage() = default;
  virtual void push(std::string_view token) = 0;
  // Hands on what waits, then finishes the next stage.
  virtual void finish() = 0;
};

// The last stage: appends to a string that the stream sets for each call.
class DecodeSink : public DecodeStage {
 public:
  void push(std::string_view token) override { out->append(token); }
  void finish() override {}
  std::string* out = nullptr;
};

// `next` and the step must outlive the stage. nullptr for a step that has nothing to do while
// running.
std::unique_ptr<DecodeStage> make_decode_stage(const Decoder::Step& step, DecodeStage* next);

// The byte that "<0x0A>" names, or -1.
int parse_byte_token(std::string_view token);

}  // namespace anemone::text
