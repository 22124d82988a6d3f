// SPDX-License-Identifier: Apache-2.0
#include "engine/constraint/answer_grammar.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/json.h"
#include "engine/constraint/call_grammar.h"
#include "grammar/json/schema_grammar.h"
#include "grammar/notation/choice_grammar.h"
#include "grammar/notation/gbnf_grammar.h"
#include "grammar/notation/marked_text.h"
#include "grammar/notation/regex_grammar.h"

namespace anemone::engine {
namespace {

using grammar::GrammarBuilder;
using grammar::NodeId;
using text::CallSyntax;

// How many blanks may stand beside a marker of the reasoning: a grammar without a bound would let a
// model write blanks without end.
constexpr std::uint64_t kMostBlanks = 2;

// An error about a schema, "[schema #/a] ...", under the name that whoever sent the schema knows it
// by: "[response_format#/a] ...".
Status schema_error(const Status& status, std::string_view subject) {
  constexpr std::string_view kSchema = "[schema ";
  const std::string_view message = status.message();
  if (subject.empty() || !message.starts_with(kSchema)) return status;
  return Status(status.code(), fmt::format("[{}{}", subject, message.substr(kSchema.size())));
}

NodeId blanks(GrammarBuilder& builder) {
  return builder.repeat(builder.literals({" ", "\n"}), 0, kMostBlanks);
}

// What stands before the content or the calls.
NodeId reasoning(GrammarBuilder& builder, const AnswerForm& form) {
  const text::AnswerSyntax& syntax = form.syntax;
  if (syntax.calls == CallSyntax::kHarmony)
    return builder.optional(builder.sequence({builder.literal("<|channel|>analysis<|message|>"),
                                              grammar::text_up_to(builder, "<|end|>"),
                                              builder.literal("<|start|>assistant")}));
  if (!syntax.has_reasoning()) return builder.empty();
  const NodeId rest =
      builder.sequence({grammar::text_up_to(builder, syntax.reasoning_close), blanks(builder)});
  if (form.is_in_reasoning) return rest;
  return builder.optional(
      builder.sequence({blanks(builder), builder.literal(syntax.reasoning_open), rest}));
}

Result<NodeId> content(GrammarBuilder& builder, const AnswerForm& form) {
  ANEMONE_ASSIGN_OR_RETURN(auto texts, grammar_of(*form.format));
  const NodeId node = builder.texts_of(std::move(texts));
  if (form.syntax.calls != CallSyntax::kHarmony) return node;
  return builder.sequence({builder.literal("<|channel|>final<|message|>"), node});
}

Result<NodeId> body(GrammarBuilder& builder, const AnswerForm& form) {
  const CallSyntax syntax = form.syntax.calls;
  const bool has_grammar = has_call_grammar(syntax);
  const bool is_required = form.calls == AnswerForm::Calls::kRequired;
  if (is_required && !has_grammar)
    return unsupported(
        "[tool_choice] expected \"auto\" or \"none\", got another: a call of this model cannot be "
        "forced");
  const bool has_calls = form.calls != AnswerForm::Calls::kNone && has_grammar;
  std::vector<NodeId> ways;
  if (has_calls) {
    const auto calls = calls_of(builder, syntax, *form.tools, form.is_parallel);
    if (!calls.ok()) return schema_error(calls.status(), "tools");
    ways.push_back(*calls);
    if (is_required) return *calls;
  }
  if (form.format) {
    ANEMONE_ASSIGN_OR_RETURN(const NodeId texts, content(builder, form));
    ways.push_back(texts);
    return builder.choice(ways);
  }
  // Free content up to the marker tells where the calls begin.
  ANEMONE_CHECK(form.calls == AnswerForm::Calls::kStrict && can_be_strict(syntax));
  return builder.sequence({grammar::text_without(builder, text::call_open(syntax)),
                           builder.optional(builder.choice(ways))});
}

}  // namespace

Result<std::shared_ptr<const grammar::Grammar>> grammar_of(const ResponseFormat& format) {
  switch (format.kind) {
    case ResponseFormat::Kind::kJsonObject:
      return grammar::grammar_of_json_object();
    case ResponseFormat::Kind::kJsonSchema: {
      const std::string subject = format.subject.empty() ? "schema" : format.subject;
      ANEMONE_ASSIGN_OR_RETURN(const Json schema, parse_json(format.source, subject));
      auto made = grammar::grammar_from_json_schema(schema, {.closes_objects = true});
      if (!made.ok()) return schema_error(made.status(), format.subject);
      return made;
    }
    case ResponseFormat::Kind::kRegex:
      return grammar::grammar_from_regex(format.source);
    case ResponseFormat::Kind::kGrammar:
      return grammar::grammar_from_gbnf(format.source);
    case ResponseFormat::Kind::kChoice:
      return grammar::grammar_from_choices(format.choices);
    case ResponseFormat::Kind::kStages:
      break;  // they are no texts of a grammar
  }
  ANEMONE_CHECK(false);
  return internal_error("a response format without a grammar");
}

Result<std::shared_ptr<const grammar::Grammar>> grammar_of(const AnswerForm& form) {
  GrammarBuilder builder;
  const grammar::RuleId root = builder.add_rule("answer");
  const NodeId before = reasoning(builder, form);
  ANEMONE_ASSIGN_OR_RETURN(const NodeId rest, body(builder, form));
  builder.define(root, builder.sequence({before, rest}));
  return builder.build(root);
}

}  // namespace anemone::engine
