// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/constraint/answer_form.h"
#include "engine/constraint/response_format.h"
#include "grammar/grammar_cache.h"
#include "grammar/tokens/token_constraint.h"
#include "text/tokenizer/tokenizer.h"

namespace anemone::engine {

// Makes the constraints of a model's texts. Grammars and masks are kept and shared by all of its
// requests; the tree of the vocabulary is built for the first one. Thread-safe.
class Constraints {
 public:
  // The tokenizer may be null: then there are no constraints.
  Constraints(std::shared_ptr<const text::Tokenizer> tokenizer, std::vector<std::int32_t> eos_ids);

  // kUnsupported for a model without a tokenizer; else the errors of the grammar, whose subject is
  // the kind of the format: "[schema #/properties/a] expected ...".
  Result<grammar::TokenConstraint> make(const ResponseFormat& format);
  // The constraint of a whole answer, for a form with is_constrained(). kUnsupported also where the
  // syntax of the model's calls has no grammar.
  Result<grammar::TokenConstraint> make(const AnswerForm& form);

 private:
  Status check_tokenizer() const;
  using Masks = std::shared_ptr<grammar::TokenMasks>;
  // The masks over these special tokens besides the tokens of all texts.
  Result<Masks> masks(const std::vector<std::int32_t>& kept_special);

  const std::shared_ptr<const text::Tokenizer> tokenizer_;
  const std::vector<std::int32_t> eos_ids_;
  grammar::GrammarCache grammars_;
  std::mutex mutex_;  // guards masks_
  // By the special tokens: none, or the markers of the model's syntax with or without its calls.
  std::map<std::vector<std::int32_t>, Masks> masks_;
};

}  // namespace anemone::engine
