// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/decoder.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "text/tokenizer/decode_stages.h"
#include "text/utf8.h"

namespace anemone::text {
namespace {

class StageChain : public DecodeStream {
 public:
  StageChain(const std::vector<Decoder::Step>& steps, WorkBudget& work)
      : sink_(work), first_(&sink_) {
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      auto stage = make_decode_stage(*step, first_, work);
      if (stage == nullptr) continue;
      first_ = stage.get();
      stages_.push_back(std::move(stage));
    }
  }
  Status push(std::string_view token, std::string& out) override {
    sink_.out = &out;
    return first_->push(token);
  }
  Status finish(std::string& out) override {
    sink_.out = &out;
    return first_->finish();
  }

 private:
  DecodeSink sink_;
  DecodeStage* first_;
  std::vector<std::unique_ptr<DecodeStage>> stages_;
};

Result<std::size_t> parse_count(const Json& json, std::string_view key) {
  ANEMONE_ASSIGN_OR_RETURN(const auto count, json_int(json, key, "decoder Strip"));
  if (!count || *count < 0 || *count > 1000)
    return parse_error("[decoder Strip] expected {} from 0 to 1000", key);
  return static_cast<std::size_t>(*count);
}

}  // namespace

Result<Decoder> Decoder::parse(const Json* json) {
  Decoder decoder;
  if (json == nullptr) {
    decoder.steps_.emplace_back(JoinStep{});
    return decoder;
  }
  ANEMONE_RETURN_IF_ERROR(decoder.add_step(*json));
  return decoder;
}

Status Decoder::add_step(const Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(const auto type, json_string(json, "type", "decoder"));
  if (!type) return parse_error("[decoder] expected an object with a type");
  if (*type == "Sequence") {
    const Json* list = json_member(json, "decoders");
    if (list == nullptr || !list->is_array())
      return parse_error("[decoder Sequence] expected a list of decoders");
    for (const Json& step : *list) ANEMONE_RETURN_IF_ERROR(add_step(step));
    return ok_status();
  }
  if (*type == "Fuse") {
    steps_.emplace_back(FuseStep{});
    fused_ = true;
    return ok_status();
  }
  if (*type == "Strip") {
    ANEMONE_ASSIGN_OR_RETURN(auto content, json_string(json, "content", "decoder Strip"));
    ANEMONE_ASSIGN_OR_RETURN(const std::size_t start, parse_count(json, "start"));
    ANEMONE_ASSIGN_OR_RETURN(const std::size_t stop, parse_count(json, "stop"));
    if (!content || count_code_points(*content) != 1)
      return parse_error("[decoder Strip] expected a content of one character");
    if (fused_ && stop > 0) return unsupported("[decoder] expected no Strip at the end after Fuse");
    steps_.emplace_back(StripStep{std::move(*content), start, stop, fused_});
    return ok_status();
  }
  if (fused_)
    return unsupported("[decoder] expected only Strip after Fuse or ByteLevel, got {}", *type);
  if (*type == "ByteLevel") {
    if (!steps_.empty())
      return unsupported("[decoder] expected ByteLevel first, got steps before it");
    steps_.emplace_back(ByteLevelStep{});
    fused_ = true;
    return ok_status();
  }
  if (*type == "ByteFallback") {
    steps_.emplace_back(ByteFallbackStep{});
    return ok_status();
  }
  if (*type == "Replace") {
    ANEMONE_ASSIGN_OR_RETURN(Pattern pattern, Pattern::parse(json));
    ANEMONE_ASSIGN_OR_RETURN(auto content, json_string(json, "content", "decoder Replace"));
    if (!content) return parse_error("[decoder Replace] expected content, got none");
    steps_.emplace_back(ReplaceStep{std::move(pattern), std::move(*content)});
    return ok_status();
  }
  if (*type == "Metaspace") {
    ANEMONE_ASSIGN_OR_RETURN(auto replacement,
                             json_string(json, "replacement", "decoder Metaspace"));
    ANEMONE_ASSIGN_OR_RETURN(const auto scheme,
                             json_string(json, "prepend_scheme", "decoder Metaspace"));
    ANEMONE_ASSIGN_OR_RETURN(const auto legacy, json_bool(json, "add_prefix_space", "decoder"));
    if (!replacement || count_code_points(*replacement) != 1)
      return parse_error("[decoder Metaspace] expected a replacement of one character");
    const bool never = scheme ? *scheme == "never" : !legacy.value_or(true);
    steps_.emplace_back(MetaspaceStep{std::move(*replacement), !never});
    return ok_status();
  }
  return unsupported("[decoder] expected a supported type, got {}", *type);
}

std::unique_ptr<DecodeStream> Decoder::make_stream(WorkBudget& work) const {
  return std::make_unique<StageChain>(steps_, work);
}

bool Decoder::takes_bytes() const {
  return !steps_.empty() && std::holds_alternative<ByteLevelStep>(steps_.front());
}

Result<std::string> Decoder::bytes_of(std::string_view token, WorkBudget& work) const {
  if (takes_bytes()) return std::string(token);
  const bool fallback = std::any_of(steps_.begin(), steps_.end(), [](const Step& step) {
    return std::holds_alternative<ByteFallbackStep>(step);
  });
  if (const int byte = parse_byte_token(token); fallback && byte >= 0)
    return std::string(1, static_cast<char>(byte));
  std::string text(token);
  for (const Step& step : steps_) {
    ANEMONE_RETURN_IF_ERROR(work.spend(text.size()));
    std::string out;
    if (const auto* replace = std::get_if<ReplaceStep>(&step)) {
      ANEMONE_ASSIGN_OR_RETURN(text, replace->pattern.replace_all(text, replace->content, work));
    } else if (const auto* metaspace = std::get_if<MetaspaceStep>(&step)) {
      const Step inside(MetaspaceStep{metaspace->replacement, false});
      DecodeSink sink(work);
      sink.out = &out;
      ANEMONE_RETURN_IF_ERROR(make_decode_stage(inside, &sink, work)->push(text));
      text = std::move(out);
    }
  }
  return text;
}

}  // namespace anemone::text
