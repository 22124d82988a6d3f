// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/work_budget.h"
#include "grammar/automaton/grammar_builder.h"
#include "grammar/json/json_rules.h"
#include "grammar/json/schema_grammar.h"
#include "grammar/json/schema_keywords.h"
#include "grammar/json/schema_merge.h"

namespace anemone::grammar {

// Turns one schema into a grammar. Used once.
class SchemaCompiler {
 public:
  SchemaCompiler(const Json& root, const JsonGrammarOptions& options, WorkBudget& work);
  Result<std::shared_ptr<const Grammar>> compile();
  // The grammar of another schema whose references are to places of the root.
  Result<std::shared_ptr<const Grammar>> compile(const Json& schema, const std::string& pointer);

 private:
  // The values that a schema allows. What takes more than a few states becomes a rule.
  Result<NodeId> values_of(const Json& schema, const std::string& pointer);
  Result<NodeId> flat_values(const Json& schema, const std::string& pointer);
  // schema_union.cc
  Result<NodeId> alternatives(const Json& schema, const std::string& keyword,
                              const std::string& pointer);
  Status check_disjoint(const std::vector<Json>& alternatives, const std::string& pointer);
  Result<bool> are_disjoint(const Json& a, const Json& b, const std::string& pointer, int depth);
  Result<NodeId> listed_values(const Json& schema, const std::string& pointer);
  // A listed value as it is written, if it has no parts.
  Result<std::string> scalar(const Json& value, const std::string& pointer) const;
  Result<NodeId> literal_value(const Json& value, const std::string& pointer, int depth);
  // schema_scalars.cc
  Result<NodeId> numbers(const Json& schema, JsonTypes types, const std::string& pointer);
  Result<NodeId> strings(const Json& schema, const std::string& pointer);
  // schema_containers.cc
  struct Property {
    std::string name;
    NodeId member = 0;  // name, colon and value
    bool is_required = false;
  };
  Result<NodeId> arrays(const Json& schema, const std::string& pointer);
  Result<NodeId> objects(const Json& schema, const std::string& pointer);
  Result<std::vector<Property>> properties(const Json& schema, const std::string& pointer);
  // The names of properties that are not named.
  Result<NodeId> names(const Json& schema, bool has_named, const std::string& pointer);
  // A member that is not named: of a pattern, or an additional one; nullopt if none is allowed.
  Result<std::optional<NodeId>> other_member(const Json& schema, const std::vector<Property>& named,
                                             const std::string& pointer);
  Result<NodeId> matching_member(const Json& schema, const std::vector<Property>& named,
                                 const std::string& pointer);
  NodeId members(const std::vector<Property>& named, std::optional<NodeId> other,
                 const std::string& pointer);

  Status check_growth(const std::string& pointer);
  // kUnsupported for a text that the notation cannot write.
  Status check_text(std::string_view text, const std::string& pointer) const;
  // A count of items, properties or characters; `absent` without it.
  Result<std::uint64_t> count_of(const Json& schema, const char* keyword, std::uint64_t absent,
                                 const std::string& pointer);
  NodeId rule(const std::string& pointer, NodeId body);

  const Json& root_;
  const JsonGrammarOptions options_;
  WorkBudget& work_;
  GrammarBuilder builder_;
  JsonRules rules_;
  SchemaMerger merger_;
  std::map<const Json*, RuleId> referenced_;  // the targets of references
  std::vector<std::pair<const Json*, std::string>> to_define_;
  int depth_ = 0;
};

}  // namespace anemone::grammar
