// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "text/tools/answer_event.h"
#include "text/tools/answer_syntax.h"
#include "text/tools/tool_set.h"

namespace anemone::text {

// The most that is held back of a call that is not certain yet. A longer one is content.
inline constexpr std::size_t kMaxHeldBytes = std::size_t{1} << 20;

struct AnswerParserOptions {
  AnswerSyntax syntax;
  // The functions of the request; null: calls are content.
  std::shared_ptr<const ToolSet> tools;
  bool is_in_reasoning = false;  // the prompt has begun the reasoning: opens_reasoning()
};

// Takes an answer apart while its text arrives, in pieces that may end anywhere: reasoning, content
// and calls. The events do not depend on where the pieces end, but for how content, reasoning and
// arguments are cut.
//
// No text gets lost. Markers, and the white space beside them, belong to the syntax and are not
// given out. What begins like a call and is none comes out as content, its marker included. The
// arguments of a call in JSON are given out while they come, so there is no way back: if they stop
// being JSON, the call ends there, and the rest is content.
//
// The work is proportional to the text; what is held back is bounded by kMaxHeldBytes.
// Single-thread.
class AnswerParser {
 public:
  explicit AnswerParser(AnswerParserOptions options);
  ~AnswerParser();
  AnswerParser(AnswerParser&&) noexcept;
  AnswerParser& operator=(AnswerParser&&) noexcept;

  std::vector<AnswerEvent> push(std::string_view piece);
  // The end of the text: what was held back. push() must not follow.
  std::vector<AnswerEvent> finish();

  // Calls that have begun.
  std::size_t calls() const { return events_.calls(); }
  bool is_call_open() const { return events_.is_call_open(); }

  // How one syntax is parsed; answer_parser.cc and harmony_parser.cc have one each.
  class Strategy {
   public:
    virtual ~Strategy() = default;
    virtual void push(std::string_view piece, AnswerEvents& out) = 0;
    virtual void finish(AnswerEvents& out) = 0;
  };

 private:
  AnswerEvents events_;
  std::unique_ptr<Strategy> strategy_;
};

// The parser of harmony's channels. Calls are content unless `takes_calls`.
std::unique_ptr<AnswerParser::Strategy> make_harmony_parser(bool takes_calls);

}  // namespace anemone::text
