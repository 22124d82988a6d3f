// SPDX-License-Identifier: Apache-2.0
#include "engine/constraint/stage_constraint.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace anemone::engine {

using grammar::TokenMask;

Result<StageConstraint> StageConstraint::create(StageManifest manifest, std::int32_t vocab_size,
                                                const grammar::TokenTrie* trie) {
  auto open = std::make_shared<TokenMask>(vocab_size);
  for (std::int32_t id = 0; id < vocab_size; ++id) open->allow(id);
  auto plan = std::make_shared<Plan>();
  plan->vocab_size = vocab_size;
  plan->open = std::move(open);
  if (manifest.newline) {
    const std::int32_t newline = *manifest.newline;
    const std::string_view bytes = trie != nullptr ? trie->token_bytes(newline) : "";
    auto content = std::make_shared<TokenMask>(vocab_size);
    for (std::int32_t id = 0; id < vocab_size; ++id) {
      const bool has_newline =
          id == newline ||
          (!bytes.empty() && trie->token_bytes(id).find(bytes) != std::string_view::npos);
      if (!has_newline && std::ranges::find(manifest.end_ids, id) == manifest.end_ids.end())
        content->allow(id);
    }
    if (content->is_empty())
      return unsupported(
          "[stages] expected a token that a field may contain, got none: every token of the "
          "vocabulary contains the newline or ends the text");
    auto either = std::make_shared<TokenMask>(*content);
    either->allow(newline);
    auto only_newline = std::make_shared<TokenMask>(vocab_size);
    only_newline->allow(newline);
    plan->content = std::move(content);
    plan->content_or_newline = std::move(either);
    plan->newline = std::move(only_newline);
  }
  plan->manifest = std::move(manifest);
  return StageConstraint(std::move(plan));
}

StageConstraint::StageConstraint(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {
  counts_.name = plan_->manifest.name;
  const auto fields = std::ranges::count(plan_->manifest.stages, Stage::Kind::kField, &Stage::kind);
  counts_.field_token_counts.resize(static_cast<std::size_t>(fields));
}

const Stage& StageConstraint::stage() const {
  return plan_->manifest.stages[static_cast<std::size_t>(counts_.active_stage)];
}

StageConstraint::Mask StageConstraint::allowed() const {
  const Stage& now = stage();
  switch (now.kind) {
    case Stage::Kind::kLiteral: {
      auto one = std::make_shared<TokenMask>(plan_->vocab_size);
      one->allow(now.ids[static_cast<std::size_t>(tokens_)]);
      return one;
    }
    case Stage::Kind::kField:
      if (tokens_ < now.min_tokens) return plan_->content;
      return tokens_ < now.max_tokens ? plan_->content_or_newline : plan_->newline;
    case Stage::Kind::kOpen:
      break;
  }
  return plan_->open;
}

Result<std::shared_ptr<const TokenMask>> StageConstraint::mask() const {
  if (has_ended_) return invalid_argument("[stages] expected no token after the end of the text");
  return allowed();
}

Status StageConstraint::accept(std::int32_t id) {
  if (has_ended_ || !allowed()->allows(id))
    return invalid_argument("[stages] expected {}, got token {} (stage {})",
                            has_ended_ ? "no token" : "a token that the stage allows", id,
                            counts_.active_stage);
  const Stage& now = stage();
  ++tokens_;
  switch (now.kind) {
    case Stage::Kind::kLiteral:
      ++counts_.forced_tokens;
      if (tokens_ == std::ssize(now.ids)) next_stage();
      break;
    case Stage::Kind::kField:
      accept_in_field(id);
      break;
    case Stage::Kind::kOpen: {
      ++counts_.open_tokens;
      const auto& ends = plan_->manifest.end_ids;
      if (std::ranges::find(ends, id) != ends.end()) next_stage();
      break;
    }
  }
  return {};
}

void StageConstraint::accept_in_field(std::int32_t id) {
  if (id != plan_->manifest.newline) {
    ++counts_.field_content_tokens;
    ++counts_.field_token_counts[static_cast<std::size_t>(counts_.fields_completed)];
    return;
  }
  ++counts_.field_newline_tokens;
  ++counts_.fields_completed;
  next_stage();
}

void StageConstraint::next_stage() {
  tokens_ = 0;
  ++counts_.active_stage;
  has_ended_ = counts_.active_stage == std::ssize(plan_->manifest.stages);
}

}  // namespace anemone::engine
