// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anemone::text {

// What a piece of an answer turned out to be.
struct AnswerEvent {
  enum class Kind : std::uint8_t {
    kContent,    // text of the answer
    kReasoning,  // text of the reasoning
    kCallBegin,  // a call; `text` is the name of the function
    kArguments,  // more of the arguments of the call: a piece of the text of a JSON object
    kCallEnd,    // the arguments are complete, or the text ended in them
  };
  Kind kind = Kind::kContent;
  std::size_t call = 0;  // of the last three kinds: number of the call, from 0
  std::string text = {};
  bool operator==(const AnswerEvent&) const = default;
};

// The events while they are made: pieces of one kind become one event.
class AnswerEvents {
 public:
  void content(std::string_view text) { add(AnswerEvent::Kind::kContent, text); }
  void reasoning(std::string_view text) { add(AnswerEvent::Kind::kReasoning, text); }
  void begin_call(std::string_view name) {
    events_.push_back({AnswerEvent::Kind::kCallBegin, calls_++, std::string(name)});
    is_call_open_ = true;
    ++marks_;
  }
  void arguments(std::string_view text) {
    add(AnswerEvent::Kind::kArguments, text);
    ++marks_;
  }
  void end_call() {
    events_.push_back({AnswerEvent::Kind::kCallEnd, calls_ - 1});
    is_call_open_ = false;
    ++marks_;
  }
  void whole_call(std::string_view name, std::string_view json) {
    begin_call(name);
    arguments(json);
    end_call();
  }

  std::size_t calls() const { return calls_; }  // that have begun
  bool is_call_open() const { return is_call_open_; }
  // What was read up to here is part of a call of which all events were made.
  void settle() { ++marks_; }
  // Grows with every event of a call and every settle().
  std::uint64_t marks() const { return marks_; }
  std::vector<AnswerEvent> take() { return std::exchange(events_, {}); }

 private:
  void add(AnswerEvent::Kind kind, std::string_view text) {
    if (text.empty()) return;
    const std::size_t call = kind == AnswerEvent::Kind::kArguments ? calls_ - 1 : 0;
    if (!events_.empty() && events_.back().kind == kind)
      events_.back().text += text;
    else
      events_.push_back({kind, call, std::string(text)});
  }

  std::vector<AnswerEvent> events_;
  std::size_t calls_ = 0;
  bool is_call_open_ = false;
  std::uint64_t marks_ = 0;
};

}  // namespace anemone::text
