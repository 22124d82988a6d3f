// SPDX-License-Identifier: Apache-2.0
#include "engine/constraint/constraints.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "grammar/json/schema_grammar.h"
#include "grammar/notation/choice_grammar.h"
#include "grammar/notation/gbnf_grammar.h"
#include "grammar/notation/regex_grammar.h"

namespace anemone::engine {
namespace {

using Made = Result<std::shared_ptr<const grammar::Grammar>>;

Made grammar_of(const ResponseFormat& format) {
  switch (format.kind) {
    case ResponseFormat::Kind::kJsonObject:
      return grammar::grammar_of_json_object();
    case ResponseFormat::Kind::kJsonSchema: {
      ANEMONE_ASSIGN_OR_RETURN(const Json schema, parse_json(format.source, "schema"));
      return grammar::grammar_from_json_schema(schema, {.closes_objects = true});
    }
    case ResponseFormat::Kind::kRegex:
      return grammar::grammar_from_regex(format.source);
    case ResponseFormat::Kind::kGrammar:
      return grammar::grammar_from_gbnf(format.source);
    case ResponseFormat::Kind::kChoice:
      return grammar::grammar_from_choices(format.choices);
  }
  ANEMONE_CHECK(false);
  return internal_error("unknown response format");
}

// Everything that the grammar depends on.
std::string key_of(const ResponseFormat& format) {
  std::string key = fmt::format("{} {}", static_cast<int>(format.kind), format.source);
  for (const std::string& choice : format.choices)
    key += fmt::format(" {}:{}", choice.size(), choice);
  return key;
}

}  // namespace

Constraints::Constraints(std::shared_ptr<const text::Tokenizer> tokenizer,
                         std::vector<std::int32_t> eos_ids)
    : tokenizer_(std::move(tokenizer)), eos_ids_(std::move(eos_ids)) {}

Result<std::shared_ptr<grammar::TokenMasks>> Constraints::masks() {
  std::lock_guard lock(mutex_);
  if (masks_ != nullptr) return masks_;
  std::vector<std::int32_t> ends;
  for (const std::int32_t id : eos_ids_)
    if (id >= 0 && id < tokenizer_->vocab_size()) ends.push_back(id);
  ANEMONE_ASSIGN_OR_RETURN(auto trie, grammar::TokenTrie::build(*tokenizer_, ends));
  masks_ = std::make_shared<grammar::TokenMasks>(std::move(trie));
  return masks_;
}

Result<grammar::TokenConstraint> Constraints::make(const ResponseFormat& format) {
  if (tokenizer_ == nullptr)
    return unsupported(
        "[response_format] expected a model with a tokenizer, got one without, whose texts cannot "
        "be constrained");
  ANEMONE_ASSIGN_OR_RETURN(auto grammar,
                           grammars_.get(key_of(format), [&] { return grammar_of(format); }));
  ANEMONE_ASSIGN_OR_RETURN(auto shared, masks());
  return grammar::TokenConstraint(std::move(grammar), std::move(shared));
}

}  // namespace anemone::engine
