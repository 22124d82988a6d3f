// SPDX-License-Identifier: Apache-2.0
#include "engine/constraint/constraints.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "engine/constraint/answer_grammar.h"
#include "engine/constraint/stage_manifest.h"
#include "text/tools/answer_syntax.h"

namespace anemone::engine {
namespace {

// A part of a key. Clients write the texts, so each is preceded by its length: two requests that
// differ have different keys, whatever stands in them.
std::string part(std::string_view text) {
  return fmt::format("{}:{}", text.size(), text);
}

// Everything that the grammar depends on.
std::string key_of(const ResponseFormat& format) {
  std::string key = fmt::format("format {} {} {}", static_cast<int>(format.kind),
                                format.choices.size(), part(format.source));
  for (const std::string& choice : format.choices) key += part(choice);
  return key;
}

std::string key_of(const AnswerForm& form) {
  std::string key = fmt::format(
      "answer {} {} {} {} {}{}{}", static_cast<int>(form.syntax.calls), form.is_in_reasoning,
      static_cast<int>(form.calls), form.is_parallel, part(form.syntax.reasoning_open),
      part(form.syntax.reasoning_close), part(form.format ? key_of(*form.format) : std::string()));
  if (form.tools == nullptr) return key;
  for (const text::ToolFunction& function : form.tools->functions())
    key += part(function.name) + part(dump_json(function.parameters()));
  return key;
}

std::int32_t usable_tokens(const text::Tokenizer* tokenizer, std::int64_t columns) {
  if (tokenizer == nullptr) return static_cast<std::int32_t>(columns);
  return static_cast<std::int32_t>(std::min<std::int64_t>(tokenizer->vocab_size(), columns));
}

std::vector<std::int32_t> those_below(std::vector<std::int32_t> ids, std::int32_t limit) {
  std::erase_if(ids, [limit](std::int32_t id) { return id < 0 || id >= limit; });
  return ids;
}

}  // namespace

Constraints::Constraints(std::shared_ptr<const text::Tokenizer> tokenizer,
                         std::vector<std::int32_t> eos_ids, std::int64_t vocab_size)
    : tokenizer_(std::move(tokenizer)),
      vocab_size_(usable_tokens(tokenizer_.get(), vocab_size)),
      eos_ids_(those_below(std::move(eos_ids), vocab_size_)) {}

Result<Constraints::Masks> Constraints::masks(const std::vector<std::int32_t>& kept_special) {
  std::lock_guard lock(mutex_);
  Masks& masks = masks_[kept_special];
  if (masks != nullptr) return masks;
  ANEMONE_ASSIGN_OR_RETURN(auto trie,
                           grammar::TokenTrie::build(*tokenizer_, eos_ids_, kept_special));
  masks = std::make_shared<grammar::TokenMasks>(std::move(trie));
  return masks;
}

Result<Constraint> Constraints::make(const ResponseFormat& format) {
  if (format.kind == ResponseFormat::Kind::kStages) return make_stages(format);
  ANEMONE_RETURN_IF_ERROR(check_tokenizer());
  ANEMONE_ASSIGN_OR_RETURN(auto grammar,
                           grammars_.get(key_of(format), [&] { return grammar_of(format); }));
  ANEMONE_ASSIGN_OR_RETURN(auto shared, masks({}));
  return Constraint(grammar::TokenConstraint(std::move(grammar), std::move(shared)));
}

Result<Constraint> Constraints::make_stages(const ResponseFormat& format) {
  const std::string subject = format.subject.empty() ? "stages" : format.subject;
  ANEMONE_ASSIGN_OR_RETURN(
      StageManifest manifest,
      parse_stage_manifest(format.source, {tokenizer_.get(), vocab_size_, eos_ids_}, subject));
  // It has the bytes of the tokens, and is the same for the grammars of the model.
  Masks shared;
  if (tokenizer_ != nullptr && manifest.newline) {
    ANEMONE_ASSIGN_OR_RETURN(shared, masks({}));
  }
  ANEMONE_ASSIGN_OR_RETURN(auto stages,
                           StageConstraint::create(std::move(manifest), vocab_size_,
                                                   shared != nullptr ? &shared->trie() : nullptr));
  return Constraint(std::move(stages));
}

Result<Constraint> Constraints::make(const AnswerForm& form) {
  if (form.format && form.format->kind == ResponseFormat::Kind::kStages) {
    if (form.calls == AnswerForm::Calls::kNone) return make_stages(*form.format);
    return invalid_argument(
        "[tools] expected none beside stages, which are all of an answer, got some");
  }
  ANEMONE_RETURN_IF_ERROR(check_tokenizer());
  ANEMONE_ASSIGN_OR_RETURN(auto grammar,
                           grammars_.get(key_of(form), [&] { return grammar_of(form); }));
  const bool has_calls = form.calls != AnswerForm::Calls::kNone;
  ANEMONE_ASSIGN_OR_RETURN(auto shared,
                           masks(text::marker_tokens(form.syntax, *tokenizer_, has_calls)));
  return Constraint(grammar::TokenConstraint(std::move(grammar), std::move(shared)));
}

Status Constraints::check_tokenizer() const {
  if (tokenizer_ != nullptr) return {};
  return unsupported(
      "[response_format] expected a model with a tokenizer, got one without, whose texts cannot "
      "be constrained");
}

}  // namespace anemone::engine
