// SPDX-License-Identifier: Apache-2.0
#include "engine/constraint/constraints.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "engine/constraint/answer_grammar.h"
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

}  // namespace

Constraints::Constraints(std::shared_ptr<const text::Tokenizer> tokenizer,
                         std::vector<std::int32_t> eos_ids)
    : tokenizer_(std::move(tokenizer)), eos_ids_(std::move(eos_ids)) {}

Result<Constraints::Masks> Constraints::masks(const std::vector<std::int32_t>& kept_special) {
  std::lock_guard lock(mutex_);
  Masks& masks = masks_[kept_special];
  if (masks != nullptr) return masks;
  std::vector<std::int32_t> ends;
  for (const std::int32_t id : eos_ids_)
    if (id >= 0 && id < tokenizer_->vocab_size()) ends.push_back(id);
  ANEMONE_ASSIGN_OR_RETURN(auto trie, grammar::TokenTrie::build(*tokenizer_, ends, kept_special));
  masks = std::make_shared<grammar::TokenMasks>(std::move(trie));
  return masks;
}

Result<grammar::TokenConstraint> Constraints::make(const ResponseFormat& format) {
  ANEMONE_RETURN_IF_ERROR(check_tokenizer());
  ANEMONE_ASSIGN_OR_RETURN(auto grammar,
                           grammars_.get(key_of(format), [&] { return grammar_of(format); }));
  ANEMONE_ASSIGN_OR_RETURN(auto shared, masks({}));
  return grammar::TokenConstraint(std::move(grammar), std::move(shared));
}

Result<grammar::TokenConstraint> Constraints::make(const AnswerForm& form) {
  ANEMONE_RETURN_IF_ERROR(check_tokenizer());
  ANEMONE_ASSIGN_OR_RETURN(auto grammar,
                           grammars_.get(key_of(form), [&] { return grammar_of(form); }));
  const bool has_calls = form.calls != AnswerForm::Calls::kNone;
  ANEMONE_ASSIGN_OR_RETURN(auto shared,
                           masks(text::marker_tokens(form.syntax, *tokenizer_, has_calls)));
  return grammar::TokenConstraint(std::move(grammar), std::move(shared));
}

Status Constraints::check_tokenizer() const {
  if (tokenizer_ != nullptr) return {};
  return unsupported(
      "[response_format] expected a model with a tokenizer, got one without, whose texts cannot "
      "be constrained");
}

}  // namespace anemone::engine
