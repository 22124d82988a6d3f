// SPDX-License-Identifier: Apache-2.0
#include "grammar/notation/choice_grammar.h"

#include "base/error.h"
#include "grammar/automaton/grammar_builder.h"
#include "text/utf8.h"

namespace anemone::grammar {

Result<std::shared_ptr<const Grammar>> grammar_from_choices(const std::vector<std::string>& texts) {
  if (texts.empty()) return invalid_argument("[choices] expected at least one text, got none");
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (texts[i].empty() || !text::is_valid_utf8(texts[i]))
      return invalid_argument("[choices] expected texts of valid UTF-8, got {} (choice {})",
                              texts[i].empty() ? "an empty one" : "other bytes", i);
  GrammarBuilder builder;
  const RuleId root = builder.add_rule("choices");
  builder.define(root, builder.literals(texts));
  return builder.build(root);
}

}  // namespace anemone::grammar
