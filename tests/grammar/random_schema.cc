// SPDX-License-Identifier: Apache-2.0
#include "tests/grammar/random_schema.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace anemone::grammar {
namespace {

class Generator {
 public:
  explicit Generator(std::mt19937& random) : random_(random) {}

  Json root() {
    Json schema = any(0);
    if (!schema.is_object()) schema = Json::object();
    Json definitions = Json::object();
    for (const char* name : {"a", "b"}) definitions[name] = object(1);
    schema["$defs"] = definitions;
    return schema;
  }

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  bool maybe() { return below(2) == 0; }

  Json any(int depth) {
    switch (below(depth < 3 ? 14 : 7)) {
      case 0:
        return integer();
      case 1:
        return number();
      case 2:
      case 3:
        return string();
      case 4:
        return listed();
      case 5:
        return Json{{"type", below(2) == 0 ? "boolean" : "null"}};
      case 6:
        return Json{{"type", Json::array({"string", "null"})}};
      case 7:
        return array(depth);
      case 8:
      case 9:
        return object(depth);
      case 10:
        return alternatives(depth);
      case 11:
        return both(depth);
      case 12:
        return Json{{"$ref", maybe() ? "#/$defs/a" : "#/$defs/b"}};
      default:
        return map(depth);
    }
  }

  Json integer() {
    Json schema{{"type", "integer"}};
    const int low = below(4000) - 2000;
    if (maybe()) schema[maybe() ? "minimum" : "exclusiveMinimum"] = low;
    if (maybe()) schema[maybe() ? "maximum" : "exclusiveMaximum"] = low + 2 + below(500);
    if (below(4) == 0) schema["multipleOf"] = 1 + below(2);
    return schema;
  }

  Json number() {
    Json schema{{"type", "number"}};
    const double low = (below(4000) - 2000) / 16.0;
    if (maybe()) schema[maybe() ? "minimum" : "exclusiveMinimum"] = low;
    if (maybe()) schema[maybe() ? "maximum" : "exclusiveMaximum"] = low + (1 + below(200)) / 32.0;
    if (schema.size() == 1 && maybe()) schema["multipleOf"] = maybe() ? 0.1 : 0.01;
    return schema;
  }

  Json string() {
    Json schema{{"type", "string"}};
    switch (below(4)) {
      case 0: {
        const int least = below(4);
        schema["minLength"] = least;
        schema["maxLength"] = least + below(40);
        break;
      }
      case 1: {
        const char* patterns[] = {"^[a-c]{2,5}$", "x|y", "^(ab|cd)+-?[0-9]*$", "^\\w\\d?",
                                  "[^a-z]$"};
        schema["pattern"] = patterns[below(5)];
        break;
      }
      default:
        break;
    }
    return schema;
  }

  Json listed() {
    const Json values = Json::array({"a", "a\"b\\\n", 1, -2.5, true, nullptr, "\u00e9", ""});
    Json schema = Json::object();
    Json chosen = Json::array();
    for (const Json& value : values)
      if (maybe()) chosen.push_back(value);
    if (chosen.empty()) chosen.push_back("only");
    if (maybe()) return Json{{"const", chosen[0]}};
    return Json{{"enum", chosen}};
  }

  Json array(int depth) {
    Json schema{{"type", "array"}};
    const int least = below(3);
    if (maybe()) schema["minItems"] = least;
    if (maybe()) schema["maxItems"] = least + below(30);
    if (below(3) == 0) {
      Json first = Json::array();
      for (int i = 0; i <= below(3); ++i) first.push_back(any(depth + 1));
      schema["prefixItems"] = first;
    }
    if (maybe()) schema["items"] = any(depth + 1);
    return schema;
  }

  Json object(int depth) {
    Json schema{{"type", "object"}};
    Json named = Json::object();
    Json required = Json::array();
    const char* names[] = {"id", "i", "name", "a\"b", "\u00e9t\u00e9", "list"};
    for (const char* name : names) {
      if (maybe()) continue;
      named[name] = any(depth + 1);
      // A reference that is required could make the text endless.
      if (maybe() && named[name].dump().find("$ref") == std::string::npos) required.push_back(name);
    }
    schema["properties"] = named;
    schema["required"] = required;
    if (maybe()) schema["additionalProperties"] = maybe() ? Json(false) : any(depth + 1);
    return schema;
  }

  Json map(int depth) {
    Json schema{{"type", "object"}, {"additionalProperties", any(depth + 1)}};
    if (maybe()) schema["maxProperties"] = 1 + below(4);
    if (maybe()) schema["minProperties"] = 1;
    return schema;
  }

  Json alternatives(int depth) {
    if (maybe()) return Json{{"oneOf", Json::array({string(), integer(), Json{{"type", "null"}}})}};
    Json list = Json::array();
    for (int i = 0; i <= below(3); ++i) list.push_back(any(depth + 1));
    return Json{{"anyOf", list}};
  }

  Json both(int depth) {
    Json a = object(depth + 1);
    Json b = object(depth + 1);
    for (Json* one : {&a, &b}) (*one)["required"] = Json::array();
    return Json{{"allOf", Json::array({a, b})}};
  }

  std::mt19937& random_;
};

}  // namespace

Json random_schema(std::mt19937& random) {
  return Generator(random).root();
}

std::string random_text(const std::shared_ptr<const Grammar>& grammar, std::mt19937& random,
                        std::size_t most) {
  GrammarMatcher matcher(grammar);
  std::string text;
  const std::size_t hurry = random() % 200;  // from here on the text takes the shortest way out
  while (text.size() < most) {
    if (matcher.is_complete() &&
        (!matcher.can_continue() || text.size() >= hurry || random() % 4 == 0))
      return text;
    ByteSet next;
    for (const Config& config : matcher.state().configs)
      for (const Edge& edge : grammar->edges(config.state))
        if (edge.kind == EdgeKind::kBytes)
          for (unsigned byte = 0; byte < 256; ++byte)
            if (grammar->byte_set(edge.value).has(static_cast<unsigned char>(byte)))
              next.add(byte, byte);
    std::vector<char> bytes;
    if (text.size() >= hurry)
      for (const char end : {'"', '}', ']'})
        if (bytes.empty() && next.has(static_cast<unsigned char>(end))) bytes.push_back(end);
    for (unsigned byte = 0; byte < 256 && (bytes.empty() || text.size() < hurry); ++byte) {
      if (!next.has(static_cast<unsigned char>(byte))) continue;
      // Letters are many: the rest of the alphabet gets its turn too.
      const bool is_rare =
          byte < 0x30 || byte == '\\' || (byte > 0x39 && byte < 0x41) || byte > 0x7A;
      for (int i = 0; i < (is_rare ? 4 : 1); ++i) bytes.push_back(static_cast<char>(byte));
      if (text.size() >= hurry && byte >= 0x30) break;
    }
    if (bytes.empty()) return "";
    const char byte = bytes[random() % bytes.size()];
    if (!matcher.accept(std::string_view(&byte, 1))) return "";
    text.push_back(byte);
  }
  return "";
}

}  // namespace anemone::grammar
