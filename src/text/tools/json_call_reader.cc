// SPDX-License-Identifier: Apache-2.0
// Calls as JSON objects, alone or in a list: {"name": "f", "arguments": {...}}. Once the name is
// known, the arguments are given out while they come.
#include <nlohmann/json.hpp>
#include <optional>

#include "text/tools/blanks.h"
#include "text/tools/call_reader.h"
#include "text/tools/json_scanner.h"

namespace anemone::text {
namespace {

constexpr JsonLimits kCallLimits{.max_depth = static_cast<int>(JsonScanner::kMaxDepth)};

std::optional<std::string> string_of(const std::string& json) {
  const auto value = parse_json(json, "call", kCallLimits);
  if (!value.ok() || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

// The arguments as the text of an object; nullopt if they are none. Some models write the object
// into a string.
std::optional<std::string> object_of(const std::optional<std::string>& arguments) {
  if (!arguments || *arguments == "null") return "{}";
  if (arguments->front() == '{') return arguments;
  auto inside = string_of(*arguments);
  if (!inside) return std::nullopt;
  const auto value = parse_json(*inside, "arguments", kCallLimits);
  if (!value.ok() || !value->is_object()) return std::nullopt;
  return inside;
}

class JsonCallReader : public CallReader {
 public:
  // `known` is null where any name will do.
  JsonCallReader(std::string_view close, bool is_single, const ToolSet* known)
      : close_(close), is_single_(is_single), known_(known) {}

  State push(char byte, AnswerEvents& out) override {
    switch (place_) {
      case Place::kKey:
      case Place::kValue:
        return in_value(byte, out);
      case Place::kClose:
        return in_close(byte);
      default:
        break;
    }
    if (is_blank(byte)) return State::kMore;
    switch (place_) {
      case Place::kBegin:
        is_list_ = byte == '[' && !is_single_;
        if (is_list_) return go(Place::kFirstObject);
        return byte == '{' ? go(Place::kMemberOrEnd) : failed(1);
      case Place::kFirstObject:
        if (byte == ']') return end_of_region();
        [[fallthrough]];
      case Place::kObject:
        return byte == '{' ? go(Place::kMemberOrEnd) : failed(1);
      case Place::kMemberOrEnd:
        if (byte == '}') return end_of_object(out);
        [[fallthrough]];
      case Place::kMember:
        if (byte != '"') return failed(1);
        begin_value(Place::kKey);
        return in_value(byte, out);
      case Place::kColon:
        if (byte != ':') return failed(1);
        return go(Place::kValueBegin);
      case Place::kValueBegin:
        // The arguments of a call that went out may not come again.
        if (is_arguments() && has_called_) return failed(1);
        begin_value(Place::kValue);
        if (is_arguments() && byte == '{' && name_) {
          out.begin_call(*name_);
          is_streaming_ = true;
        }
        return in_value(byte, out);
      case Place::kMemberEnd:
        if (byte == ',') return go(Place::kMember);
        return byte == '}' ? end_of_object(out) : failed(1);
      default:  // kObjectEnd
        if (byte == ',') return go(Place::kObject);
        return byte == ']' ? end_of_region() : failed(1);
    }
  }

  State finish(AnswerEvents& out) override {
    if (is_streaming_) {
      out.end_call();
      return done();
    }
    // A marker that did not come up to the end is not missed.
    if (place_ == Place::kClose) return done(close_.taken());
    return place_ == Place::kObjectEnd ? done() : failed(0);
  }

 private:
  enum class Place : std::uint8_t {
    kBegin,
    kFirstObject,
    kObject,
    kMemberOrEnd,
    kMember,
    kKey,
    kColon,
    kValueBegin,
    kValue,
    kMemberEnd,
    kObjectEnd,
    kClose,
  };

  State go(Place place) {
    place_ = place;
    return State::kMore;
  }
  bool is_arguments() const { return key_ == "arguments" || key_ == "parameters"; }

  void begin_value(Place place) {
    place_ = place;
    scanner_ = {};
    value_.clear();
  }

  State in_value(char byte, AnswerEvents& out) {
    std::string streamed;
    const auto step = scanner_.push(byte, is_streaming_ ? streamed : value_);
    if (step == JsonScanner::Step::kBad) {
      if (is_streaming_) out.end_call();
      return failed(1);
    }
    if (is_streaming_) out.arguments(streamed);
    if (step == JsonScanner::Step::kMore) return State::kMore;
    if (place_ == Place::kKey ? !end_of_key() : !end_of_value(out))
      return failed(step == JsonScanner::Step::kBefore ? 1 : 0);
    return step == JsonScanner::Step::kBefore ? push(byte, out) : State::kMore;
  }

  bool end_of_key() {
    const auto key = string_of(value_);
    if (!key) return false;
    key_ = *key;
    place_ = Place::kColon;
    // Any other member shows that this is other JSON, which need not be held back any longer.
    return is_arguments() || key_ == "name" || key_ == "id" || key_ == "type";
  }

  bool end_of_value(AnswerEvents& out) {
    place_ = Place::kMemberEnd;
    if (is_streaming_) {
      out.end_call();
      is_streaming_ = false;
      has_called_ = true;
    } else if (is_arguments()) {
      arguments_ = value_;
    } else if (key_ == "name" && !has_called_) {
      name_ = string_of(value_);
      if (!name_ || name_->empty()) return false;
      return known_ == nullptr || known_->find(*name_) != nullptr;
    }
    return true;
  }

  State end_of_object(AnswerEvents& out) {
    if (!has_called_) {
      const auto arguments = object_of(arguments_);
      if (!name_ || !arguments) return failed(0);
      out.whole_call(*name_, *arguments);
    }
    out.settle();
    name_.reset();
    arguments_.reset();
    has_called_ = false;
    return is_list_ ? go(Place::kObjectEnd) : end_of_region();
  }

  State end_of_region() {
    if (close_.is_empty()) return done();
    return go(Place::kClose);
  }

  State in_close(char byte) {
    switch (close_.push(byte)) {
      case OptionalMarker::Found::kMaybe:
        return State::kMore;
      case OptionalMarker::Found::kYes:
        return done();
      default:
        return done(close_.taken());
    }
  }

  OptionalMarker close_;
  const bool is_single_;
  const ToolSet* const known_;
  Place place_ = Place::kBegin;
  bool is_list_ = false;
  JsonScanner scanner_;
  std::string value_;
  std::string key_;
  std::optional<std::string> name_;
  std::optional<std::string> arguments_;
  bool is_streaming_ = false;  // the arguments go out as they come
  bool has_called_ = false;    // they went out
};

// f[CALL_ID]123456789[ARGS]{...}; or a list, as the older models of the family write.
class NamedCallReader : public CallReader {
 public:
  State push(char byte, AnswerEvents& out) override {
    if (list_ != nullptr) return pass_on(byte, out);
    if (is_streaming_) return in_arguments(byte, out);
    if (has_head_) {
      if (is_blank(byte)) return State::kMore;
      if (byte != '{') return failed(1);
      out.begin_call(head_);
      is_streaming_ = true;
      return in_arguments(byte, out);
    }
    if (head_.empty() && is_blank(byte)) return State::kMore;
    if (head_.empty() && (byte == '[' || byte == '{')) {
      list_ = std::make_unique<JsonCallReader>("", /*is_single=*/false, nullptr);
      return pass_on(byte, out);
    }
    head_ += byte;
    if (head_.size() > kMaxHeadBytes) return failed(0);
    if (!head_.ends_with(kArguments)) return State::kMore;
    head_.resize(head_.size() - kArguments.size());
    head_.resize(std::min(head_.size(), head_.find(kCallId)));
    while (!head_.empty() && is_blank(head_.back())) head_.pop_back();
    has_head_ = true;
    return head_.empty() || head_.find_first_of(" \t\r\n[]{}\"") != head_.npos ? failed(0)
                                                                               : State::kMore;
  }

  State finish(AnswerEvents& out) override {
    if (list_ != nullptr) {
      const State state = list_->finish(out);
      return state == State::kDone ? done(list_->excess()) : failed(list_->excess());
    }
    if (!is_streaming_) return failed(0);
    out.end_call();
    return done();
  }

 private:
  static constexpr std::string_view kArguments = "[ARGS]";
  static constexpr std::string_view kCallId = "[CALL_ID]";
  static constexpr std::size_t kMaxHeadBytes = 512;

  State pass_on(char byte, AnswerEvents& out) {
    const State state = list_->push(byte, out);
    if (state == State::kMore) return state;
    return state == State::kDone ? done(list_->excess()) : failed(list_->excess());
  }

  State in_arguments(char byte, AnswerEvents& out) {
    std::string text;
    const auto step = scanner_.push(byte, text);
    if (step == JsonScanner::Step::kBad) {
      out.end_call();
      return failed(1);
    }
    out.arguments(text);
    if (step == JsonScanner::Step::kMore) return State::kMore;
    out.end_call();
    return done();
  }

  std::string head_;
  bool has_head_ = false;
  bool is_streaming_ = false;
  JsonScanner scanner_;
  std::unique_ptr<CallReader> list_;
};

}  // namespace

std::unique_ptr<CallReader> make_json_call_reader(CallSyntax syntax, const ToolSet& tools) {
  const bool is_llama = syntax == CallSyntax::kLlama;
  const bool is_single = is_llama || syntax == CallSyntax::kHermes;
  // Without a marker, the name alone tells a call from other JSON.
  return std::make_unique<JsonCallReader>(call_close(syntax), is_single,
                                          is_llama ? &tools : nullptr);
}

std::unique_ptr<CallReader> make_named_call_reader() {
  return std::make_unique<NamedCallReader>();
}

std::unique_ptr<CallReader> make_call_reader(CallSyntax syntax, const ToolSet& tools) {
  switch (syntax) {
    case CallSyntax::kMistralList:
    case CallSyntax::kMistralNamed:
      return make_named_call_reader();
    case CallSyntax::kQwenXml:
      return make_xml_call_reader(tools);
    case CallSyntax::kGemma:
    case CallSyntax::kPython:
      return make_literal_call_reader(syntax);
    default:
      return make_json_call_reader(syntax, tools);
  }
}

}  // namespace anemone::text
