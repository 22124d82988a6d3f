// SPDX-License-Identifier: Apache-2.0
// <function=f><parameter=a>value</parameter></function>: the values are texts, which the schema of
// the function turns into JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/tools/blanks.h"
#include "text/tools/call_reader.h"
#include "text/tools/schema_types.h"

namespace anemone::text {
namespace {

constexpr std::string_view kFunction = "<function=";
constexpr std::string_view kFunctionEnd = "</function>";
constexpr std::string_view kParameter = "<parameter=";
constexpr std::string_view kParameterEnd = "</parameter>";
constexpr std::size_t kMaxNameBytes = 256;
constexpr JsonLimits kValueLimits{.max_depth = 64};

// What the text of a parameter stands for.
Json value_of(std::string text, const std::vector<std::string>& types) {
  if (types.size() == 1 && types.front() == "string") return text;
  // Templates print earlier values of these kinds as Python does.
  const std::string json = text == "True"    ? "true"
                           : text == "False" ? "false"
                           : text == "None"  ? "null"
                                             : text;
  auto value = parse_json(json, "value", kValueLimits);
  if (!value.ok()) return text;
  if (types.empty()) return *std::move(value);
  // Texts are written without quotes, so the quotes are a part of this one.
  if (value->is_string()) return text;
  const bool takes_text = std::ranges::find(types, "string") != types.end();
  if (takes_text && !is_of_any_type(*value, types)) return text;
  return *std::move(value);
}

class XmlCallReader : public CallReader {
 public:
  explicit XmlCallReader(const ToolSet& tools) : tools_(tools) {}

  State push(char byte, AnswerEvents& out) override {
    switch (place_) {
      case Place::kBegin:
        if (text_.empty() && is_blank(byte)) return State::kMore;
        text_ += byte;
        if (!kFunction.starts_with(text_)) return failed(1);
        if (text_ == kFunction) go(Place::kName);
        return State::kMore;
      case Place::kName:
        return in_name(byte, Place::kBody);
      case Place::kBody:
        return in_body(byte, out);
      case Place::kKey:
        return in_name(byte, Place::kValue);
      case Place::kValue:
        text_ += byte;
        if (!text_.ends_with(kParameterEnd)) return State::kMore;
        if (arguments_.size() == kMaxParameters) return failed(0);
        end_of_value();
        return State::kMore;
      default:  // kClose
        switch (close_.push(byte)) {
          case OptionalMarker::Found::kMaybe:
            return State::kMore;
          case OptionalMarker::Found::kYes:
            return done();
          default:
            return done(close_.taken());
        }
    }
  }

  State finish(AnswerEvents&) override {
    return place_ == Place::kClose ? done(close_.taken()) : failed(0);
  }

 private:
  enum class Place : std::uint8_t { kBegin, kName, kBody, kKey, kValue, kClose };

  void go(Place place) {
    place_ = place;
    text_.clear();
  }

  State in_name(char byte, Place next) {
    if (byte != '>') {
      text_ += byte;
      return text_.size() > kMaxNameBytes || byte == '<' || byte == '\n' ? failed(1) : State::kMore;
    }
    if (text_.empty()) return failed(0);
    (next == Place::kBody ? name_ : key_) = text_;
    go(next);
    return State::kMore;
  }

  State in_body(char byte, AnswerEvents& out) {
    if (text_.empty() && is_blank(byte)) return State::kMore;
    text_ += byte;
    if (text_ == kParameter) {
      go(Place::kKey);
    } else if (text_ == kFunctionEnd) {
      out.whole_call(name_, dump_json(arguments_));
      go(Place::kClose);
    } else if (!kParameter.starts_with(text_) && !kFunctionEnd.starts_with(text_)) {
      return failed(1);
    }
    return State::kMore;
  }

  void end_of_value() {
    text_.resize(text_.size() - kParameterEnd.size());
    // One line end on each side belongs to the syntax.
    if (text_.ends_with('\n')) text_.pop_back();
    if (text_.starts_with('\n')) text_.erase(0, 1);
    arguments_[key_] = value_of(std::move(text_), tools_.types_of(name_, key_));
    go(Place::kBody);
  }

  // Each is looked up among those before it.
  static constexpr std::size_t kMaxParameters = 1000;

  const ToolSet& tools_;
  Place place_ = Place::kBegin;
  std::string text_;  // of the part that is being read
  std::string name_;
  std::string key_;
  Json arguments_ = Json::object();
  OptionalMarker close_{call_close(CallSyntax::kQwenXml)};
};

}  // namespace

std::unique_ptr<CallReader> make_xml_call_reader(const ToolSet& tools) {
  return std::make_unique<XmlCallReader>(tools);
}

}  // namespace anemone::text
