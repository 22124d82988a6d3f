// SPDX-License-Identifier: Apache-2.0
// What constrained generation costs: compiling schemas, a mask for each token along documents, and
// hostile schemas. Each document is checked first: its masks allow its tokens, and a sample of
// other tokens just where the matcher takes their bytes.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "grammar/json/schema_grammar.h"
#include "grammar/tokens/token_constraint.h"
#include "text/tokenizer/tokenizer.h"

namespace anemone::grammar {
namespace {

constexpr int kCompilations = 21;
constexpr int kSampledTokens = 300;

constexpr const char* kSchema = R"({"type": "object", "properties": {
  "id": {"type": "integer", "minimum": 1}, "name": {"type": "string"},
  "email": {"type": "string", "format": "email"}, "born": {"type": "string", "format": "date"},
  "status": {"enum": ["active", "suspended", "deleted"]},
  "score": {"type": "number", "minimum": 0, "maximum": 100},
  "nickname": {"type": "string", "maxLength": 20}, "tags": {"type": "array", "items":
  {"type": "string"}, "maxItems": 10}, "address": {"$ref": "#/$defs/address"},
  "friends": {"type": "array", "items": {"type": "object", "properties": {
    "name": {"type": "string"}, "address": {"anyOf": [{"$ref": "#/$defs/address"},
    {"type": "null"}]}}, "required": ["name", "address"], "additionalProperties": false}}},
  "required": ["id", "name", "email", "born", "status", "score", "nickname", "tags", "address",
  "friends"], "additionalProperties": false, "$defs": {"address": {"type": "object", "properties": {
  "street": {"type": "string"}, "city": {"type": "string"}, "zip": {"type": "string", "pattern":
  "^[0-9]{5}$"}}, "required": ["street", "city", "zip"], "additionalProperties": false}}})";

constexpr const char* kDocument =
    R"({"id": 18273, "name": "Ada Lovelace of Ockham Park", "email": "ada.lovelace@example.org", )"
    R"("born": "1815-12-10", "status": "active", "score": 99.5, "nickname": "Enchantress", )"
    R"("tags": ["mathematics", "poetical science", "analytical engine notes"], "address": )"
    R"({"street": "12 St James's Square, first floor", "city": "London", "zip": "12345"}, )"
    R"("friends": [{"name": "Charles Babbage", "address": {"street": "1 Dorset Street", )"
    R"("city": "Marylebone \"London\"", "zip": "54321"}}, {"name": "Mary Somerville", )"
    R"("address": null}]})";

double now() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "bench_grammar: %s\n", message.c_str());
  std::exit(1);
}

template <typename T>
T take(Result<T> result) {
  if (!result.ok()) fail(result.status().message());
  return std::move(result).value();
}

struct Times {
  std::vector<double> values;

  void print(const char* name) {
    std::sort(values.begin(), values.end());
    double sum = 0;
    for (const double value : values) sum += value;
    std::printf("%-34s %4zu masks: median %8.3f ms, mean %8.3f ms, longest %8.3f ms\n", name,
                values.size(), values[values.size() / 2] * 1e3,
                sum / static_cast<double>(values.size()) * 1e3, values.back() * 1e3);
  }
};

void check(const std::shared_ptr<const Grammar>& grammar, const std::shared_ptr<TokenMasks>& masks,
           const std::vector<std::int32_t>& ids) {
  std::mt19937 random(1);
  TokenConstraint constraint(grammar, masks);
  for (const std::int32_t id : ids) {
    const auto mask = take(constraint.mask());
    if (!mask->allows(id)) fail("a mask does not allow a token of the document");
    for (int i = 0; i < kSampledTokens; ++i) {
      const auto other =
          static_cast<std::int32_t>(random() % static_cast<unsigned>(masks->trie().vocab_size()));
      const std::string_view bytes = masks->trie().token_bytes(other);
      GrammarMatcher copy = constraint.matcher();
      if (!bytes.empty() && mask->allows(other) != copy.accept(bytes))
        fail("a mask and the matcher differ about token " + std::to_string(other));
    }
    if (const Status status = constraint.accept(id); !status.ok()) fail(status.message());
  }
  if (!constraint.is_complete()) fail("the document is not complete");
}

Times walk(const std::shared_ptr<const Grammar>& grammar, const std::shared_ptr<TokenMasks>& masks,
           const std::vector<std::int32_t>& ids, Times& accepts) {
  Times times;
  TokenConstraint constraint(grammar, masks);
  for (const std::int32_t id : ids) {
    const double start = now();
    take(constraint.mask());
    times.values.push_back(now() - start);
    const double accepted = now();
    if (const Status status = constraint.accept(id); !status.ok()) fail(status.message());
    accepts.values.push_back(now() - accepted);
  }
  return times;
}

void compile_times(const char* name, const Json& schema) {
  Times times;
  std::string outcome;
  for (int i = 0; i < kCompilations; ++i) {
    const double start = now();
    const auto grammar = grammar_from_json_schema(schema);
    times.values.push_back(now() - start);
    outcome = grammar.ok() ? std::to_string((*grammar)->state_count()) + " states"
                           : grammar.status().message().substr(0, 90);
    if (times.values.back() > 0.2) break;
  }
  std::sort(times.values.begin(), times.values.end());
  std::printf("compile %-26s median %8.3f ms: %s\n", name,
              times.values[times.values.size() / 2] * 1e3, outcome.c_str());
}

Json hostile_enum() {
  Json schema = Json::object();
  schema["enum"] = Json::array();
  for (int i = 0; i < 20'000; ++i) schema["enum"].push_back("value number " + std::to_string(i));
  return schema;
}

Json nested(int depth) {
  Json schema = Json::object();
  for (int i = 0; i < depth; ++i) {
    Json outer = Json::object();
    outer["type"] = "array";
    outer["items"] = std::move(schema);
    schema = std::move(outer);
  }
  return schema;
}

Json doubling() {
  Json schema = take(parse_json(R"({"$ref": "#/$defs/0", "$defs": {}})", "schema"));
  for (int i = 0; i < 60; ++i) {
    Json ref = Json::object();
    ref["$ref"] = "#/$defs/" + std::to_string(i + 1);
    Json both = Json::object();
    both["allOf"] = Json::array({ref, ref});
    schema["$defs"][std::to_string(i)] = both;
  }
  schema["$defs"]["60"] = true;
  return schema;
}

Json many_properties() {
  Json schema = take(parse_json(R"({"type": "object", "properties": {}})", "schema"));
  for (int i = 0; i < 1000; ++i)
    append_member(schema["properties"], "property" + std::to_string(i),
                  take(parse_json(R"({"type": "integer"})", "schema")));
  return schema;
}

Json many_alternatives() {
  Json schema = Json::object();
  schema["anyOf"] = Json::array();
  for (int i = 0; i < 200; ++i)
    schema["anyOf"].push_back(take(parse_json(
        R"({"type": "object", "properties": {"text": {"type": "string"}, "kind": {"const": )" +
            std::to_string(i) + R"(}}, "required": ["text", "kind"]})",
        "schema")));
  return schema;
}

// Masks of schemas that are harder than most: no document comes twice.
void hard_masks(const text::Tokenizer& tokenizer, const std::shared_ptr<const TokenTrie>& trie) {
  struct Case {
    const char* name;
    Json schema;
    std::string document;
  };
  const std::string words = "many words which say little but take their time to say it, ";
  const Case cases[] = {
      {"maxLength 300", take(parse_json(R"({"type": "string", "maxLength": 300})", "s")),
       "\"" + words + words + words + words + "\""},
      {"pattern ^.{1,300}$",
       take(parse_json(R"({"type": "string", "pattern": "^.{1,300}$"})", "s")),
       "\"" + words + words + words + words + "\""},
      {"1,000 optional properties", many_properties(),
       R"({"property3": 1, "property500": 22, "property999": 333, "other": [1, 2]})"},
      {"enum of 20,000 values", hostile_enum(), R"("value number 12345")"},
      {"200 alternatives", many_alternatives(),
       R"({"text": ")" + words + words + R"(", "kind": 123})"},
  };
  for (const Case& one : cases) {
    const auto grammar = take(grammar_from_json_schema(one.schema));
    const auto ids = take(tokenizer.encode(one.document, {false, false}));
    check(grammar, std::make_shared<TokenMasks>(trie), ids);
    Times accepts;
    walk(grammar, std::make_shared<TokenMasks>(trie), ids, accepts).print(one.name);
  }
}

void run(const std::string& tokenizer_folder) {
  const Json schema = take(parse_json(kSchema, "schema"));
  compile_times("typical", schema);
  compile_times("enum of 20,000 values", hostile_enum());
  compile_times("depth 100", nested(100));
  compile_times("depth 1,000", nested(1000));
  compile_times("minItems 10^9",
                take(parse_json(R"({"type": "array", "minItems": 1000000000})", "s")));
  compile_times(
      "pattern with counts",
      take(parse_json(R"({"type": "string", "pattern": "((a{1,50000}){1,50000}b){9}"})", "s")));
  compile_times("allOf that doubles 60 times", doubling());
  compile_times("reference to itself", take(parse_json(R"({"$ref": "#"})", "s")));

  const auto tokenizer = take(text::Tokenizer::load(tokenizer_folder));
  const double start = now();
  const auto trie = take(TokenTrie::build(*tokenizer, {}));
  std::printf("trie of %d ids: %zu nodes, built in %.1f ms\n", trie->vocab_size(),
              trie->nodes().size(), (now() - start) * 1e3);
  const auto ids = take(tokenizer->encode(kDocument, {false, false}));
  struct Case {
    const char* name;
    std::shared_ptr<const Grammar> grammar;
  };
  const Case cases[] = {{"typical schema", take(grammar_from_json_schema(schema))},
                        {"any JSON object", take(grammar_of_json_object())}};
  for (const Case& one : cases) {
    check(one.grammar, std::make_shared<TokenMasks>(trie), ids);
    const auto masks = std::make_shared<TokenMasks>(trie);
    Times accepts;
    const std::string name = one.name;
    walk(one.grammar, masks, ids, accepts).print((name + ", nothing kept").c_str());
    std::printf("%34s %lld walks of the trie, %.1f MB kept\n", "",
                static_cast<long long>(masks->counts().walks),
                static_cast<double>(masks->counts().kept_bytes) / 1e6);
    walk(one.grammar, masks, ids, accepts).print((name + ", again").c_str());
    accepts.print((name + ", accept").c_str());
  }
  hard_masks(*tokenizer, trie);
}

}  // namespace
}  // namespace anemone::grammar

int main(int argc, char** argv) {
  const char* named = std::getenv("ANEMONE_SHARED");
  const std::string shared =
      named != nullptr && *named != '\0' ? named : ANEMONE_SOURCE_DIR "/../shared";
  anemone::grammar::run(argc > 1 ? argv[1] : shared + "/data/tokenizers/qwen2_5");
  return 0;
}
