// SPDX-License-Identifier: Apache-2.0
// The JSON-Schema-Test-Suite (make_suite.py): what the grammar of a schema takes must be valid.
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "grammar/automaton/matcher.h"
#include "grammar/json/schema_grammar.h"

namespace anemone::grammar {
namespace {

// The names of properties in the order in which a schema names them.
void rank_names(const Json& schema, std::map<std::string, std::size_t>& ranks) {
  if (!schema.is_structured()) return;
  if (schema.is_object() && schema.contains("properties") && schema["properties"].is_object())
    for (const auto& [name, value] : schema["properties"].items())
      ranks.try_emplace(name, ranks.size());
  for (const Json& part : schema) rank_names(part, ranks);
}

// An instance in the form of our grammars: properties in the order of the schema, and integers
// without a fraction.
Json in_our_form(const Json& value, const std::map<std::string, std::size_t>& ranks) {
  if (value.is_number_float() && std::abs(value.get<double>()) < 1e18 &&
      value.get<double>() == std::floor(value.get<double>()))
    return Json(static_cast<std::int64_t>(value.get<double>()));
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& item : value) out.push_back(in_our_form(item, ranks));
    return out;
  }
  if (!value.is_object()) return value;
  std::multimap<std::size_t, std::string> order;
  for (const auto& [name, member] : value.items()) {
    const auto rank = ranks.find(name);
    order.emplace(rank == ranks.end() ? ranks.size() : rank->second, name);
  }
  Json out = Json::object();
  for (const auto& [rank, name] : order) out[name] = in_our_form(value[name], ranks);
  return out;
}

struct Counts {
  int schemas = 0;      // that have a grammar
  int refused = 0;      // that have none
  int valid = 0;        // valid instances that the grammar takes
  int out_of_form = 0;  // valid instances that it does not take
  int invalid = 0;      // invalid instances, none of which it takes
};

TEST(JsonSchemaTestSuite, NoInvalidInstanceIsTakenAndFewValidOnesAreNot) {
  std::ifstream lines(ANEMONE_SOURCE_DIR "/tests/grammar/data/json_schema_suite.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));  // the licence
  Counts counts;
  std::string out_of_form;
  while (std::getline(lines, line)) {
    const auto parsed = parse_json(line, "suite");
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    const Json& group = *parsed;
    const std::string name =
        group.at("file").get<std::string>() + ": " + group.at("group").get<std::string>();
    const auto grammar = grammar_from_json_schema(group.at("schema"));
    if (!grammar.ok() && grammar.status().code() != Code::kInvalidArgument) {
      EXPECT_EQ(grammar.status().message().rfind("[schema #", 0), 0u)
          << name << ": " << grammar.status().message();
      ++counts.refused;
      continue;
    }
    ++counts.schemas;
    std::map<std::string, std::size_t> ranks;
    rank_names(group.at("schema"), ranks);
    for (const Json& test : group.at("tests")) {
      const std::string text = dump_json(in_our_form(test.at(1), ranks));
      bool is_taken = false;
      if (grammar.ok()) {
        GrammarMatcher matcher(*grammar);
        is_taken = matcher.accept(text) && matcher.is_complete();
      }
      const bool is_valid = test.at(2).get<bool>();
      EXPECT_TRUE(is_valid || !is_taken) << name << " takes the invalid " << text;
      if (is_valid && !is_taken) out_of_form += name + ": " + text + "\n";
      ++(is_valid ? (is_taken ? counts.valid : counts.out_of_form) : counts.invalid);
    }
  }
  EXPECT_EQ(counts.schemas, 187);
  EXPECT_EQ(counts.refused, 61);
  EXPECT_EQ(counts.valid, 472);
  EXPECT_EQ(counts.out_of_form, 22) << out_of_form;
  EXPECT_EQ(counts.invalid, 409);
}

}  // namespace
}  // namespace anemone::grammar
