// SPDX-License-Identifier: Apache-2.0
#include "grammar/json/schema_compiler.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/escape.h"

namespace anemone::grammar {
namespace {

constexpr int kMaxSchemaDepth = 200;  // of schemas inside each other
constexpr WorkBudget::Limits kLimits{std::chrono::milliseconds(600), std::size_t{512} << 20};

}  // namespace

SchemaCompiler::SchemaCompiler(const Json& root, const JsonGrammarOptions& options,
                               WorkBudget& work)
    : root_(root),
      options_(options),
      work_(work),
      rules_(builder_, options.spacing, options.marks),
      merger_(root, work) {}

Result<std::shared_ptr<const Grammar>> SchemaCompiler::compile() {
  return compile(root_, "#");
}

Result<std::shared_ptr<const Grammar>> SchemaCompiler::compile(const Json& schema,
                                                               const std::string& pointer) {
  const RuleId root = builder_.add_rule(pointer);
  if (&schema == &root_) referenced_[&root_] = root;
  ANEMONE_ASSIGN_OR_RETURN(const NodeId body, values_of(schema, pointer));
  builder_.define(root, body);
  // References are followed here and not where they stand, so that they may form cycles.
  while (!to_define_.empty()) {
    const auto [target, place] = std::move(to_define_.back());
    to_define_.pop_back();
    ANEMONE_ASSIGN_OR_RETURN(const NodeId values, values_of(*target, place));
    builder_.define(referenced_[target], values);
  }
  ANEMONE_RETURN_IF_ERROR(work_.check());
  return builder_.build(root);
}

Status SchemaCompiler::check_growth(const std::string& pointer) {
  if (builder_.byte_size() > kMaxBuilderBytes)
    return unsupported("[{}] expected a schema whose grammar takes at most {} MB, got more",
                       schema_subject(pointer), kMaxBuilderBytes >> 20);
  return work_.spend(1000);
}

Status SchemaCompiler::check_text(std::string_view text, const std::string& pointer) const {
  if (rules_.can_hold(text)) return {};
  return unsupported("[{}] expected texts that can be written between marks, got {}",
                     schema_subject(pointer), shortened(dump_json(Json(text)), 100));
}

NodeId SchemaCompiler::rule(const std::string& pointer, NodeId body) {
  const RuleId id = builder_.add_rule(pointer);
  builder_.define(id, body);
  return builder_.call(id);
}

Result<std::uint64_t> SchemaCompiler::count_of(const Json& schema, const char* keyword,
                                               std::uint64_t absent, const std::string& pointer) {
  const auto found = schema.find(keyword);
  if (found == schema.end()) return absent;
  if (found->is_number_integer() && *found >= 0 && *found <= kMostRounds)
    return found->get<std::uint64_t>();
  if (found->is_number_float()) {
    const double number = found->get<double>();
    if (number >= 0 && number <= static_cast<double>(kMostRounds) && number == std::floor(number))
      return static_cast<std::uint64_t>(number);
  }
  return parse_error("[{}] expected an integer of 0 to 2^40, got {}",
                     schema_subject(child_pointer(pointer, keyword)),
                     shortened(dump_json(*found), 100));
}

Result<NodeId> SchemaCompiler::values_of(const Json& schema, const std::string& pointer) {
  if (++depth_ > kMaxSchemaDepth)
    return unsupported("[{}] expected schemas nested at most {} deep, got more",
                       schema_subject(pointer), kMaxSchemaDepth);
  ANEMONE_RETURN_IF_ERROR(check_growth(pointer));
  ANEMONE_ASSIGN_OR_RETURN(const Json flat, merger_.flatten(schema, pointer, false));
  const auto ref = flat.find("$ref");
  Result<NodeId> values = builder_.empty();
  if (ref != flat.end()) {
    ANEMONE_ASSIGN_OR_RETURN(const Json* target, merger_.resolve(*ref, pointer));
    const auto [found, is_new] = referenced_.try_emplace(target);
    if (is_new) {
      const std::string name = ref->get<std::string>();
      found->second = builder_.add_rule(name);
      to_define_.emplace_back(target, name);
    }
    values = builder_.call(found->second);
  } else {
    values = flat_values(flat, pointer);
  }
  --depth_;
  return values;
}

Result<NodeId> SchemaCompiler::flat_values(const Json& schema, const std::string& pointer) {
  for (const char* keyword : {"anyOf", "oneOf"})
    if (schema.contains(keyword)) return alternatives(schema, keyword, pointer);
  if (schema.contains("enum") || schema.contains("const")) return listed_values(schema, pointer);
  ANEMONE_ASSIGN_OR_RETURN(const JsonTypes types, types_of(schema, pointer));
  if (schema.empty()) return rules_.value();
  std::vector<NodeId> ways;
  if ((types & kNullType) != 0) ways.push_back(builder_.literal("null"));
  if ((types & kBooleanType) != 0) ways.push_back(builder_.literals({"true", "false"}));
  if ((types & (kNumberType | kIntegerType)) != 0) {
    ANEMONE_ASSIGN_OR_RETURN(const NodeId node, numbers(schema, types, pointer));
    ways.push_back(node);
  }
  if ((types & kStringType) != 0) {
    ANEMONE_ASSIGN_OR_RETURN(const NodeId node, strings(schema, pointer));
    ways.push_back(node);
  }
  if ((types & kArrayType) != 0) {
    ANEMONE_ASSIGN_OR_RETURN(const NodeId node, arrays(schema, pointer));
    ways.push_back(node);
  }
  if ((types & kObjectType) != 0) {
    ANEMONE_ASSIGN_OR_RETURN(const NodeId node, objects(schema, pointer));
    ways.push_back(node);
  }
  return builder_.choice(ways);
}

Result<std::shared_ptr<const Grammar>> grammar_from_json_schema(const Json& schema,
                                                                const JsonGrammarOptions& options) {
  WorkBudget work = schema_budget();
  return SchemaCompiler(schema, options, work).compile();
}

WorkBudget schema_budget() {
  return WorkBudget("schema", kLimits);
}

Result<std::shared_ptr<const Grammar>> grammar_from_json_schema(const Json& root, const Json& part,
                                                                const std::string& pointer,
                                                                const JsonGrammarOptions& options,
                                                                WorkBudget& work) {
  return SchemaCompiler(root, options, work).compile(part, pointer);
}

Result<std::shared_ptr<const Grammar>> grammar_of_json_object(const JsonGrammarOptions& options) {
  GrammarBuilder builder;
  JsonRules rules(builder, options.spacing, options.marks);
  const NodeId object = rules.object();
  const RuleId root = builder.add_rule("JSON object");
  builder.define(root, object);
  return builder.build(root);
}

}  // namespace anemone::grammar
