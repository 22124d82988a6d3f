// SPDX-License-Identifier: Apache-2.0
#include "text/tools/answer_parser.h"

#include <algorithm>
#include <string>
#include <utility>

#include "text/tools/blanks.h"
#include "text/tools/call_reader.h"

namespace anemone::text {
namespace {

// White space that may turn out to stand beside a marker is held back up to this length.
constexpr std::size_t kMaxHeldBlanks = 256;

std::string_view without_leading_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(kBlanks)));
  return text;
}

// Answers whose parts are set off by markers.
class MarkerParser : public AnswerParser::Strategy {
 public:
  explicit MarkerParser(AnswerParserOptions options)
      : options_(std::move(options)), is_in_reasoning_(options_.is_in_reasoning) {
    const AnswerSyntax& syntax = options_.syntax;
    // The template wrote the opening marker; white space after it belongs to it.
    drops_blanks_ = is_in_reasoning_;
    if (!syntax.reasoning_open.empty()) {
      // A text that talks about <think> is no reasoning; markers of special tokens are no text.
      const bool is_anywhere = syntax.reasoning_open.starts_with("<|");
      in_content_.push_back({syntax.reasoning_open, Turn::kReasoning, !is_anywhere});
      in_reasoning_.push_back({syntax.reasoning_close, Turn::kContent, false});
    }
    if (options_.tools == nullptr || syntax.calls == CallSyntax::kNone) return;
    if (syntax.calls == CallSyntax::kLlama) {
      in_content_.push_back({"<|python_tag|>", Turn::kCalls, false});
      for (const char* open : {"{", ";{", "; {", ";\n{"})
        in_content_.push_back({open, Turn::kObject, true});
    } else {
      in_content_.push_back({std::string(call_open(syntax.calls)), Turn::kCalls, false});
    }
  }

  void push(std::string_view piece, AnswerEvents& out) override {
    held_ += piece;
    at_ = 0;
    while (at_ < held_.size()) {
      const bool goes_on = reader_ != nullptr ? read_calls(out) : scan(out);
      if (!goes_on) break;
    }
    held_.erase(0, at_);
    at_ = 0;
  }

  void finish(AnswerEvents& out) override {
    if (reader_ != nullptr) {
      const auto state = reader_->finish(out);
      if (state == CallReader::State::kFailed)
        emit(raw_, out);
      else
        emit(without_leading_blanks(tail(reader_->excess())), out);
      reader_.reset();
    }
    emit(held_, out);
    held_.clear();
  }

 private:
  enum class Turn : std::uint8_t {
    kReasoning,
    kContent,
    kCalls,
    kObject,  // calls, whose first byte is the last one of the marker
  };
  struct Marker {
    std::string text;
    Turn turn;
    bool is_first;  // nothing but white space, reasoning and calls may stand before it
  };

  void emit(std::string_view text, AnswerEvents& out) {
    if (is_in_reasoning_) return out.reasoning(text);
    has_content_ |= text.find_first_not_of(kBlanks) != text.npos;
    out.content(text);
  }

  std::string_view tail(std::size_t bytes) const {
    return std::string_view(raw_).substr(raw_.size() - std::min(bytes, raw_.size()));
  }

  // Reads content or reasoning up to the next marker. False: the rest is held back.
  bool scan(AnswerEvents& out) {
    while (drops_blanks_ && at_ < held_.size() && is_blank(held_[at_])) ++at_;
    if (at_ == held_.size()) return false;
    drops_blanks_ = false;
    const auto& markers = is_in_reasoning_ ? in_reasoning_ : in_content_;
    const std::string_view text = std::string_view(held_).substr(at_);
    const Marker* found = nullptr;
    bool is_partial = false;
    bool has_text = has_content_;
    std::size_t end = 0;  // of the text before the marker
    for (; end < text.size() && found == nullptr; ++end) {
      const std::string_view rest = text.substr(end);
      for (const Marker& marker : markers) {
        if (marker.text.front() != rest.front() || (marker.is_first && has_text)) continue;
        if (rest.starts_with(marker.text))
          found = &marker;
        else
          is_partial |= std::string_view(marker.text).starts_with(rest);
        if (found != nullptr) break;
      }
      if (found != nullptr || is_partial) break;
      has_text |= !is_blank(rest.front());
    }
    std::size_t shown = end;
    while (shown > 0 && is_blank(text[shown - 1])) --shown;
    if (found == nullptr) {
      const bool holds = !markers.empty() && end - shown <= kMaxHeldBlanks;
      if (!holds) shown = end;
      emit(text.substr(0, shown), out);
      at_ += shown;
      return false;
    }
    emit(text.substr(0, shown), out);
    const std::size_t length = found->text.size() - (found->turn == Turn::kObject ? 1 : 0);
    raw_ = text.substr(shown, end - shown + length);
    at_ += end + length;
    turn(found->turn);
    return true;
  }

  void turn(Turn turn) {
    if (turn == Turn::kCalls || turn == Turn::kObject) {
      reader_ = make_call_reader(options_.syntax.calls, *options_.tools);
      return;
    }
    is_in_reasoning_ = turn == Turn::kReasoning;
    drops_blanks_ = true;
  }

  // Feeds the reader. Always true: the region may end with the piece, and then nothing is left.
  bool read_calls(AnswerEvents& out) {
    const std::uint64_t marks = out.marks();
    const char byte = held_[at_++];
    raw_ += byte;
    auto state = reader_->push(byte, out);
    std::size_t excess = state == CallReader::State::kMore ? 0 : reader_->excess();
    if (out.marks() != marks) {
      // Events were made of all of it, but for what the reader gives back.
      raw_ = std::string(tail(excess));
    } else if (state == CallReader::State::kMore && raw_.size() > kMaxHeldBytes) {
      state = CallReader::State::kFailed;
    }
    if (state == CallReader::State::kMore) return true;
    const std::string rest(tail(excess));
    reader_.reset();
    if (state == CallReader::State::kFailed)
      emit(std::string_view(raw_).substr(0, raw_.size() - rest.size()), out);
    else
      drops_blanks_ = true;
    raw_.clear();
    // What does not belong to the region is read again.
    if (rest.size() <= at_) {
      at_ -= rest.size();
    } else {
      held_.replace(0, at_, rest);
      at_ = 0;
    }
    return true;
  }

  const AnswerParserOptions options_;
  std::vector<Marker> in_content_;
  std::vector<Marker> in_reasoning_;
  bool is_in_reasoning_;
  bool drops_blanks_ = false;           // white space after a marker
  bool has_content_ = false;            // other than white space
  std::unique_ptr<CallReader> reader_;  // of the region that the text is in
  std::string raw_;                     // of it, and no event was made of it
  std::string held_;                    // not read yet; in push() also what was read of the piece
  std::size_t at_ = 0;                  // in held_
};

}  // namespace

AnswerParser::AnswerParser(AnswerParserOptions options) {
  if (options.syntax.calls == CallSyntax::kHarmony)
    strategy_ = make_harmony_parser(options.tools != nullptr);
  else
    strategy_ = std::make_unique<MarkerParser>(std::move(options));
}

AnswerParser::~AnswerParser() = default;
AnswerParser::AnswerParser(AnswerParser&&) noexcept = default;
AnswerParser& AnswerParser::operator=(AnswerParser&&) noexcept = default;

std::vector<AnswerEvent> AnswerParser::push(std::string_view piece) {
  strategy_->push(piece, events_);
  return events_.take();
}

std::vector<AnswerEvent> AnswerParser::finish() {
  strategy_->finish(events_);
  return events_.take();
}

}  // namespace anemone::text
