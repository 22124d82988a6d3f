// SPDX-License-Identifier: Apache-2.0
#include "engine/speculation/draft_proposer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "engine/session/logit_row.h"

namespace anemone::engine {
namespace {

std::int32_t most_likely(const Prediction& prediction, std::size_t ids) {
  if (prediction.argmax) return *prediction.argmax;
  LogitRow row;
  row.set(*prediction.row, std::min(prediction.row->logits().size(), ids));
  return row.first_highest();
}

}  // namespace

Status check_draft_model(const Model& draft, const Model& model) {
  const std::string& name = draft.manifest().name;
  ANEMONE_RETURN_IF_ERROR(draft.check_generates().with("draft model"));
  if (draft.keeps_recurrent_states())
    return unsupported("[{}] expected a draft model without recurrent states, got one with some",
                       name);
  const text::Tokenizer* drafts = draft.tokenizer().get();
  const text::Tokenizer* own = model.tokenizer().get();
  if (drafts == nullptr || own == nullptr) {
    if (draft.vocab_size() == model.vocab_size()) return {};
    return invalid_argument("[{}] expected a draft model with {} tokens, as {} has, got {}", name,
                            model.vocab_size(), model.manifest().name, draft.vocab_size());
  }
  if (drafts->vocab_size() != own->vocab_size())
    return invalid_argument("[{}] expected a draft model with the {} tokens of {}, got {}", name,
                            own->vocab_size(), model.manifest().name, drafts->vocab_size());
  for (std::int32_t id = 0; id < own->vocab_size(); ++id)
    if (drafts->id_to_token(id) != own->id_to_token(id))
      return invalid_argument(
          "[{}] expected a draft model with the tokens of {}, got another one with number {}", name,
          model.manifest().name, id);
  return {};
}

Result<std::unique_ptr<DraftProposer>> DraftProposer::create(StepRunner& runner) {
  ANEMONE_ASSIGN_OR_RETURN(auto sequence, Sequence::create(runner.model()));
  return std::unique_ptr<DraftProposer>(new DraftProposer(runner, std::move(sequence)));
}

std::optional<int> DraftProposer::look(std::span<const std::int32_t> ids) {
  ids_ = ids;
  if (std::ssize(ids) >= sequence_->model().context()) return std::nullopt;
  return 0;
}

Status DraftProposer::run(std::span<const std::int32_t> ids) {
  StepItem item{sequence_.get(), ids};
  runner_.step({&item, 1});
  return item.status;
}

Status DraftProposer::propose(std::int64_t most, std::vector<std::int32_t>& tokens) {
  const Model& model = sequence_->model();
  const auto length = std::ssize(ids_);
  // The last token is always run, for what follows it.
  sequence_->truncate(std::min<std::int64_t>(common_prefix(sequence_->tokens(), ids_), length - 1));
  sequence_->prepare(length);
  const auto rest = ids_.subspan(sequence_->tokens().size());
  // The rows of the embedding are padded, and not to one number in all models of a family.
  const std::int64_t ids = model.manifest().embedding.rows;
  if (std::ranges::any_of(rest, [&](std::int32_t id) { return id < 0 || id >= ids; })) return {};
  ANEMONE_RETURN_IF_ERROR(run(rest));
  if (sequence_->position() < length || std::ssize(rest) > kMostTokens + 1) return {};
  const auto rows = static_cast<std::size_t>(ids);
  for (std::int64_t i = 0; i < most; ++i) {
    tokens.push_back(most_likely(sequence_->prediction(), rows));
    const bool fits = sequence_->position() < model.context() &&
                      model.manifest().has_same_ropes(length, length + i + 1);
    if (i + 1 == most || !fits) break;
    ANEMONE_RETURN_IF_ERROR(run({&tokens.back(), 1}));
  }
  return {};
}

}  // namespace anemone::engine
