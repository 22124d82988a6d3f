// SPDX-License-Identifier: Apache-2.0
#include "text/tools/literal_calls.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "text/tools/blanks.h"
#include "text/tools/call_reader.h"
#include "text/tools/json_scanner.h"
#include "text/utf8.h"

namespace anemone::text {
namespace {

constexpr int kMaxLiteralDepth = 32;

bool is_name_byte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_' || byte == '.' || byte == '-' ||
         static_cast<unsigned char>(byte) >= 0x80;
}

void append_json_string(std::string_view text, std::string& out) {
  out += dump_json(Json(text));
}

// What both notations share. Methods return false when the text is not theirs; the output is then
// worthless.
class LiteralParser {
 public:
  explicit LiteralParser(std::string_view text) : text_(text) {}

 protected:
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  bool take(std::string_view part) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(part)) return false;
    at_ += part.size();
    return true;
  }
  bool is_at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  std::string_view name() {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_byte(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  // A number of JSON, or one of these words.
  bool scalar(std::string& out) {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_name_byte(text_[at_]) || text_[at_] == '+')) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word == "true" || word == "True")
      out += "true";
    else if (word == "false" || word == "False")
      out += "false";
    else if (word == "null" || word == "None")
      out += "null";
    else
      return number(word, out);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;

 private:
  static bool number(std::string_view word, std::string& out) {
    const auto value = parse_json(word, "number");
    if (!value.ok() || !value->is_number()) return false;
    out += word;
    return true;
  }
};

class PythonParser : public LiteralParser {
 public:
  using LiteralParser::LiteralParser;

  std::optional<LiteralCalls> parse() {
    LiteralCalls out;
    const bool is_list = take("[");
    do {
      if (is_list && out.empty() && take("]"))
        return is_at_end() ? std::optional(out) : std::nullopt;
      std::string arguments;
      const std::string_view function = name();
      if (function.empty() || !take("(") || !call_arguments(arguments)) return std::nullopt;
      out.emplace_back(function, std::move(arguments));
    } while (is_list && take(","));
    if ((is_list && !take("]")) || !is_at_end()) return std::nullopt;
    return out;
  }

 private:
  bool call_arguments(std::string& out) {
    out = "{";
    while (!take(")")) {
      if (out.size() > 1) {
        if (!take(",")) return false;
        if (take(")")) break;
        out += ", ";
      }
      const std::string_view key = name();
      if (key.empty() || !take("=")) return false;
      append_json_string(key, out);
      out += ": ";
      if (!value(out, 0)) return false;
    }
    out += '}';
    return true;
  }

  bool value(std::string& out, int depth) {
    if (depth > kMaxLiteralDepth) return false;
    skip_blanks();
    if (at_ == text_.size()) return false;
    switch (text_[at_]) {
      case '[':
        return list(']', out, depth);
      case '(':
        return list(')', out, depth);
      case '{':
        return dictionary(out, depth);
      case '"':
      case '\'':
        return string(out);
      default:
        return scalar(out);
    }
  }

  bool list(char close, std::string& out, int depth) {
    ++at_;
    out += '[';
    for (bool is_first = true; !take(std::string_view(&close, 1)); is_first = false) {
      if (!is_first) {
        if (!take(",")) return false;
        if (take(std::string_view(&close, 1))) break;
        out += ", ";
      }
      if (!value(out, depth + 1)) return false;
    }
    out += ']';
    return true;
  }

  bool dictionary(std::string& out, int depth) {
    ++at_;
    out += '{';
    for (bool is_first = true; !take("}"); is_first = false) {
      if (!is_first) {
        if (!take(",")) return false;
        if (take("}")) break;
        out += ", ";
      }
      skip_blanks();
      if (at_ == text_.size() || (text_[at_] != '"' && text_[at_] != '\'') || !string(out))
        return false;
      if (!take(":")) return false;
      out += ": ";
      if (!value(out, depth + 1)) return false;
    }
    out += '}';
    return true;
  }

  bool string(std::string& out) {
    const char quote = text_[at_++];
    std::string value;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] != '\\')
        value += text_[at_++];
      else if (!escape(value))
        return false;
    }
    if (at_ == text_.size()) return false;
    ++at_;
    append_json_string(value, out);
    return true;
  }

  bool escape(std::string& out) {
    if (++at_ == text_.size()) return false;
    const char kind = text_[at_++];
    constexpr std::string_view kFrom = "ntrbf\\'\"/";
    constexpr std::string_view kTo = "\n\t\r\b\f\\'\"/";
    if (const std::size_t found = kFrom.find(kind); found != kFrom.npos) {
      out += kTo[found];
      return true;
    }
    if (kind == 'x') return code_point(2, out);
    if (kind == 'u') return code_point(4, out);
    // Python keeps the backslash of what is no escape.
    out += '\\';
    out += kind;
    return true;
  }

  bool code_point(std::size_t digits, std::string& out) {
    std::uint32_t unit = 0;
    if (!hex(digits, unit)) return false;
    const bool is_high = unit >= 0xd800 && unit < 0xdc00;
    std::uint32_t low = 0;
    if (is_high && text_.substr(at_).starts_with("\\u")) {
      at_ += 2;
      if (!hex(4, low) || low < 0xdc00 || low > 0xdfff) return false;
      unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    if (unit >= 0xd800 && unit <= 0xdfff) return false;
    append_utf8(static_cast<char32_t>(unit), out);
    return true;
  }

  bool hex(std::size_t digits, std::uint32_t& out) {
    if (text_.size() - at_ < digits) return false;
    for (std::size_t i = 0; i < digits; ++i) {
      const char byte = text_[at_++];
      const char lower = static_cast<char>(byte | 0x20);
      if (byte >= '0' && byte <= '9')
        out = out * 16 + static_cast<std::uint32_t>(byte - '0');
      else if (lower >= 'a' && lower <= 'f')
        out = out * 16 + static_cast<std::uint32_t>(lower - 'a' + 10);
      else
        return false;
    }
    return true;
  }
};

class GemmaParser : public LiteralParser {
 public:
  using LiteralParser::LiteralParser;

  std::optional<LiteralCalls> parse() {
    if (!take("call:")) return std::nullopt;
    const std::string_view function = name();
    std::string arguments;
    if (function.empty() || !object(arguments, 0) || !is_at_end()) return std::nullopt;
    return LiteralCalls{{std::string(function), std::move(arguments)}};
  }

 private:
  static constexpr std::string_view kQuote = "<|\"|>";

  bool value(std::string& out, int depth) {
    if (depth > kMaxLiteralDepth) return false;
    skip_blanks();
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with(kQuote)) return string(out);
    if (rest.starts_with('{')) return object(out, depth);
    if (rest.starts_with('[')) return list(out, depth);
    return scalar(out);
  }

  bool string(std::string& out) {
    at_ += kQuote.size();
    const std::size_t end = text_.find(kQuote, at_);
    if (end == text_.npos) return false;
    append_json_string(text_.substr(at_, end - at_), out);
    at_ = end + kQuote.size();
    return true;
  }

  bool list(std::string& out, int depth) {
    ++at_;
    out += '[';
    for (bool is_first = true; !take("]"); is_first = false) {
      if (!is_first) {
        if (!take(",")) return false;
        out += ", ";
      }
      if (!value(out, depth + 1)) return false;
    }
    out += ']';
    return true;
  }

  bool object(std::string& out, int depth) {
    if (!take("{")) return false;
    out += '{';
    for (bool is_first = true; !take("}"); is_first = false) {
      if (!is_first) {
        if (!take(",")) return false;
        out += ", ";
      }
      if (!key(out) || !take(":")) return false;
      out += ": ";
      if (!value(out, depth + 1)) return false;
    }
    out += '}';
    return true;
  }

  // Bare, up to the colon, or between the quotes of a string.
  bool key(std::string& out) {
    skip_blanks();
    if (text_.substr(at_).starts_with(kQuote)) return string(out);
    const std::size_t end = text_.find_first_of(":,{}[]<", at_);
    if (end == text_.npos || end == at_) return false;
    append_json_string(text_.substr(at_, end - at_), out);
    at_ = end;
    return true;
  }
};

// The calls of a list of JSON objects, or of one.
std::optional<LiteralCalls> json_calls(std::string_view text) {
  AnswerEvents events;
  const ToolSet none;
  const auto reader = make_json_call_reader(CallSyntax::kMistralList, none);
  auto state = CallReader::State::kMore;
  for (const char byte : text) {
    if (state == CallReader::State::kDone && is_blank(byte)) continue;
    if (state != CallReader::State::kMore) return std::nullopt;
    state = reader->push(byte, events);
  }
  if (state != CallReader::State::kDone || events.calls() == 0) return std::nullopt;
  LiteralCalls out;
  for (const AnswerEvent& event : events.take()) {
    if (event.kind == AnswerEvent::Kind::kCallBegin) out.emplace_back(event.text, "");
    if (event.kind == AnswerEvent::Kind::kArguments) out.back().second += event.text;
  }
  return out;
}

// A region whose calls are read once it is complete.
class LiteralCallReader : public CallReader {
 public:
  explicit LiteralCallReader(CallSyntax syntax) : syntax_(syntax) {}

  State push(char byte, AnswerEvents& out) override {
    text_ += byte;
    // A second opening marker: what stands after the first one is no call.
    if (text_.ends_with(call_open(syntax_))) return failed(call_open(syntax_).size());
    if (!text_.ends_with(call_close(syntax_))) return State::kMore;
    text_.resize(text_.size() - call_close(syntax_).size());
    return finish(out);
  }

  State finish(AnswerEvents& out) override {
    const auto calls = syntax_ == CallSyntax::kGemma ? gemma_calls(text_) : python_calls(text_);
    if (!calls || calls->empty()) return failed(0);
    // An object that names a key twice is none.
    for (const auto& [name, arguments] : *calls)
      if (!parse_json(arguments, "arguments").ok()) return failed(0);
    for (const auto& [name, arguments] : *calls) out.whole_call(name, arguments);
    return done();
  }

 private:
  const CallSyntax syntax_;
  std::string text_;
};

}  // namespace

std::optional<LiteralCalls> python_calls(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n[");
  if (first != text.npos && text[first] == '{') return json_calls(text);
  return PythonParser(text).parse();
}

std::optional<LiteralCalls> gemma_calls(std::string_view text) {
  return GemmaParser(text).parse();
}

std::unique_ptr<CallReader> make_literal_call_reader(CallSyntax syntax) {
  return std::make_unique<LiteralCallReader>(syntax);
}

}  // namespace anemone::text
