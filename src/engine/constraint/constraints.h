// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/constraint/answer_form.h"
#include "engine/constraint/constraint.h"
#include "engine/constraint/response_format.h"
#include "grammar/grammar_cache.h"
#include "grammar/tokens/token_masks.h"
#include "text/tokenizer/tokenizer.h"

namespace anemone::engine {

// Makes the constraints of a model's texts. Grammars and masks are kept and shared by all of its
// requests; the tree of the vocabulary is built for the first one. Thread-safe.
class Constraints {
 public:
  // `vocab_size` counts the columns of the logits. The tokenizer may be null: then stages are the
  // only constraints.
  Constraints(std::shared_ptr<const text::Tokenizer> tokenizer, std::vector<std::int32_t> eos_ids,
              std::int64_t vocab_size);

  // kUnsupported for a grammar of a model without a tokenizer; else the errors of the grammar,
  // whose subject is the kind of the format: "[schema #/properties/a] expected ...", or those of
  // the manifest.
  Result<Constraint> make(const ResponseFormat& format);
  // The constraint of a whole answer, for a form with is_constrained(). kUnsupported also where the
  // syntax of the model's calls has no grammar; kInvalidArgument for stages, which are all of an
  // answer, beside calls.
  Result<Constraint> make(const AnswerForm& form);

 private:
  Status check_tokenizer() const;
  Result<Constraint> make_stages(const ResponseFormat& format);
  using Masks = std::shared_ptr<grammar::TokenMasks>;
  // The masks over these special tokens besides the tokens of all texts.
  Result<Masks> masks(const std::vector<std::int32_t>& kept_special);

  const std::shared_ptr<const text::Tokenizer> tokenizer_;
  const std::int32_t vocab_size_;            // of the tokens that have a column and a text
  const std::vector<std::int32_t> eos_ids_;  // of them
  grammar::GrammarCache grammars_;
  std::mutex mutex_;  // guards masks_
  // By the special tokens: none, or the markers of the model's syntax with or without its calls.
  std::map<std::vector<std::int32_t>, Masks> masks_;
};

}  // namespace anemone::engine
