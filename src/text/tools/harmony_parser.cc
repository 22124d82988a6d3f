// SPDX-License-Identifier: Apache-2.0
// The answers of gpt-oss: messages, each with a header that names a channel and perhaps a
// recipient. The prompt ends inside the first header, after <|start|>assistant.
#include <algorithm>
#include <array>
#include <string>

#include "text/tools/answer_parser.h"
#include "text/tools/blanks.h"

namespace anemone::text {
namespace {

constexpr std::string_view kStart = "<|start|>";
constexpr std::string_view kChannel = "<|channel|>";
constexpr std::string_view kMessage = "<|message|>";
constexpr std::array<std::string_view, 4> kEnds = {"<|end|>", "<|call|>", "<|return|>", kStart};
constexpr std::string_view kRecipient = "to=";
constexpr std::string_view kFunctions = "to=functions.";
constexpr std::size_t kMaxHeaderBytes = 1024;

std::string_view until_any(std::string_view text, std::string_view ends) {
  return text.substr(0, std::min(text.size(), text.find_first_of(ends)));
}

class HarmonyParser : public AnswerParser::Strategy {
 public:
  explicit HarmonyParser(bool takes_calls) : takes_calls_(takes_calls) {}

  void push(std::string_view piece, AnswerEvents& out) override {
    held_ += piece;
    std::size_t at = 0;
    while (at < held_.size()) {
      const std::string_view rest = std::string_view(held_).substr(at);
      const std::size_t taken = is_in_header_ ? read_header(rest, out) : read_body(rest, out);
      if (taken == 0) break;
      at += taken;
    }
    held_.erase(0, at);
  }

  void finish(AnswerEvents& out) override {
    // The beginning of a header is part of the syntax, as a complete one is.
    const bool is_frame =
        is_in_header_ && (held_.starts_with(kStart) || held_.starts_with(kChannel));
    if (!is_frame) emit(held_, out);
    held_.clear();
    if (out.is_call_open()) out.end_call();
  }

 private:
  enum class Part : std::uint8_t { kContent, kReasoning, kArguments };

  void emit(std::string_view text, AnswerEvents& out) {
    if (part_ == Part::kArguments && out.is_call_open()) return out.arguments(text);
    if (part_ == Part::kReasoning) return out.reasoning(text);
    out.content(text);
  }

  static bool begins_alike(std::string_view a, std::string_view b) {
    return a.starts_with(b) || b.starts_with(a);
  }

  static bool could_be_header(std::string_view text) {
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(kBlanks)));
    return begins_alike(text, kStart) || begins_alike(text, kChannel) ||
           begins_alike(text, kMessage) || begins_alike(text, kRecipient);
  }

  // Returns the bytes taken; 0: more text is needed.
  std::size_t read_header(std::string_view text, AnswerEvents& out) {
    const std::size_t end = text.substr(0, kMaxHeaderBytes).find(kMessage);
    const bool is_open = end == text.npos && text.size() < kMaxHeaderBytes;
    if (!could_be_header(text) || (end == text.npos && !is_open)) {
      is_in_header_ = false;
      part_ = Part::kContent;
      // One byte, so that a marker that the text begins with does not make it a header again.
      emit(text.substr(0, 1), out);
      return 1;
    }
    if (is_open) return 0;
    begin_message(text.substr(0, end), out);
    return end + kMessage.size();
  }

  void begin_message(std::string_view header, AnswerEvents& out) {
    is_in_header_ = false;
    const std::size_t channel_at = header.find(kChannel);
    const std::string_view channel =
        channel_at == header.npos
            ? std::string_view()
            : until_any(header.substr(channel_at + kChannel.size()), " <\n\t");
    const std::size_t to = header.find(kFunctions);
    const std::string_view function =
        to == header.npos ? std::string_view()
                          : until_any(header.substr(to + kFunctions.size()), " <\n\t");
    part_ = channel == "analysis" ? Part::kReasoning : Part::kContent;
    if (!takes_calls_ || function.empty()) return;
    part_ = Part::kArguments;
    out.begin_call(function);
  }

  std::size_t read_body(std::string_view text, AnswerEvents& out) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '<') continue;
      const std::string_view rest = text.substr(i);
      const bool is_partial = std::ranges::any_of(kEnds, [&](std::string_view end) {
        return end.size() > rest.size() && end.starts_with(rest);
      });
      const auto* found =
          std::ranges::find_if(kEnds, [&](std::string_view end) { return rest.starts_with(end); });
      if (found == kEnds.end() && !is_partial) continue;
      emit(text.substr(0, i), out);
      if (found == kEnds.end()) return i;
      if (out.is_call_open()) out.end_call();
      is_in_header_ = true;
      // The beginning of the next message is read with its header.
      const std::size_t length = *found == kStart ? 0 : found->size();
      return i + length == 0 ? read_header(text, out) : i + length;
    }
    emit(text, out);
    return text.size();
  }

  const bool takes_calls_;
  bool is_in_header_ = true;
  Part part_ = Part::kContent;
  std::string held_;
};

}  // namespace

std::unique_ptr<AnswerParser::Strategy> make_harmony_parser(bool takes_calls) {
  return std::make_unique<HarmonyParser>(takes_calls);
}

}  // namespace anemone::text
