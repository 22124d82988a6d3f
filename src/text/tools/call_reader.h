// SPDX-License-Identifier: Apache-2.0
// Reads a region of an answer that holds calls, from after its opening marker. One reader per way
// to write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "text/tools/answer_event.h"
#include "text/tools/answer_syntax.h"
#include "text/tools/blanks.h"
#include "text/tools/tool_set.h"

namespace anemone::text {

class CallReader {
 public:
  enum class State : std::uint8_t {
    kMore,
    kDone,    // the region has ended
    kFailed,  // the text is no call: what no event was made of is content
  };
  virtual ~CallReader() = default;
  // Takes the next byte. No call may follow kDone or kFailed.
  virtual State push(char byte, AnswerEvents& out) = 0;
  // The text ends here. Never kMore.
  virtual State finish(AnswerEvents& out) = 0;
  // After kDone and kFailed: how many bytes, the last ones pushed, do not belong to the region.
  std::size_t excess() const { return excess_; }

 protected:
  State done(std::size_t excess = 0) {
    excess_ = excess;
    return State::kDone;
  }
  State failed(std::size_t excess) {
    excess_ = excess;
    return State::kFailed;
  }

 private:
  std::size_t excess_ = 0;
};

// Looks for a marker that may stand after white space, and need not stand there at all.
class OptionalMarker {
 public:
  explicit OptionalMarker(std::string_view marker) : marker_(marker) {}

  bool is_empty() const { return marker_.empty(); }
  enum class Found : std::uint8_t { kMaybe, kYes, kNo };
  Found push(char byte) {
    ++taken_;
    if (matched_ == 0 && is_blank(byte)) return Found::kMaybe;
    if (byte != marker_[matched_]) return Found::kNo;
    return ++matched_ == marker_.size() ? Found::kYes : Found::kMaybe;
  }
  // Bytes so far.
  std::size_t taken() const { return taken_; }

 private:
  std::string_view marker_;
  std::size_t matched_ = 0;
  std::size_t taken_ = 0;
};

// The reader of a region of this syntax, which is not kNone and not kHarmony. The tools outlive it.
std::unique_ptr<CallReader> make_call_reader(CallSyntax syntax, const ToolSet& tools);

std::unique_ptr<CallReader> make_json_call_reader(CallSyntax syntax, const ToolSet& tools);
std::unique_ptr<CallReader> make_named_call_reader();
std::unique_ptr<CallReader> make_xml_call_reader(const ToolSet& tools);
std::unique_ptr<CallReader> make_literal_call_reader(CallSyntax syntax);

}  // namespace anemone::text
