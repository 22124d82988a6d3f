// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <memory>

#include "grammar/automaton/grammar_builder.h"

namespace anemone::grammar {

// The grammar of a builder's rules, which are right; nullptr, and a failure, otherwise.
inline std::shared_ptr<const Grammar> built(const GrammarBuilder& builder, RuleId root) {
  const auto grammar = builder.build(root);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  return grammar.ok() ? *grammar : nullptr;
}

// The grammar of one rule more.
inline std::shared_ptr<const Grammar> of(GrammarBuilder& builder, NodeId body) {
  const RuleId root = builder.add_rule("root");
  builder.define(root, body);
  return built(builder, root);
}

}  // namespace anemone::grammar
