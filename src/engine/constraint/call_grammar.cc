// SPDX-License-Identifier: Apache-2.0
#include "engine/constraint/call_grammar.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/json.h"
#include "engine/constraint/text_parameter.h"
#include "grammar/json/schema_grammar.h"
#include "grammar/notation/marked_text.h"
#include "text/tools/schema_types.h"

namespace anemone::engine {
namespace {

using grammar::GrammarBuilder;
using grammar::NodeId;
using text::CallSyntax;
using text::ToolFunction;

// States that the grammars of all functions may have together.
constexpr std::size_t kMaxStates = 500'000;
constexpr grammar::JsonGrammarOptions kOptions{.closes_objects = true};

// The values of Gemma's calls. Its parser ends a call at the closing marker, wherever that stands.
constexpr std::array<std::string_view, 2> kGemmaMarkers = {"<|tool_call>", "<tool_call|>"};
constexpr grammar::JsonGrammarOptions kGemmaOptions{
    .marks = grammar::TextMarks{"<|\"|>", kGemmaMarkers}, .closes_objects = true};

// How several calls of a syntax are put together.
struct Form {
  std::string open;       // before the first call
  std::string separator;  // between two
  std::string close;      // after the last one
  bool takes_several = true;
};

Form form_of(CallSyntax syntax) {
  switch (syntax) {
    case CallSyntax::kHermes:
    case CallSyntax::kQwenXml:
      return {"", "\n", ""};
    case CallSyntax::kMistralList:
      return {"[TOOL_CALLS][", ", ", "]"};
    case CallSyntax::kJsonList:
      return {"<|tool_call|>[", ", ", "]"};
    case CallSyntax::kPython:
      return {"<|tool_call_start|>[", ", ", "]<|tool_call_end|>"};
    case CallSyntax::kMistralNamed:
    case CallSyntax::kGemma:
      return {};
    default:
      return {"", "", "", false};
  }
}

class CallGrammar {
 public:
  CallGrammar(GrammarBuilder& builder, CallSyntax syntax, const text::ToolSet& tools)
      : builder_(builder), syntax_(syntax), tools_(tools) {}

  Result<NodeId> call_of(const ToolFunction& function) {
    const std::string& name = function.name;
    switch (syntax_) {
      case CallSyntax::kHermes:
        return around(fmt::format("<tool_call>\n{{\"name\": \"{}\", \"arguments\": ", name),
                      function, literal("}\n</tool_call>"));
      case CallSyntax::kLlama:
        return around(fmt::format("{{\"name\": \"{}\", \"parameters\": ", name), function,
                      literal("}"));
      case CallSyntax::kMistralList:
        // The model may add the id that its template gives to calls.
        return around(fmt::format("{{\"name\": \"{}\", \"arguments\": ", name), function,
                      builder_.sequence({builder_.optional(builder_.sequence(
                                             {literal(", \"id\": \""), call_id(), literal("\"")})),
                                         literal("}")}));
      case CallSyntax::kJsonList:
        return around(fmt::format("{{\"name\": \"{}\", \"arguments\": ", name), function,
                      literal("}"));
      case CallSyntax::kMistralNamed: {
        ANEMONE_ASSIGN_OR_RETURN(const NodeId arguments, arguments_of(function));
        const NodeId id = builder_.optional(builder_.sequence({literal("[CALL_ID]"), call_id()}));
        return builder_.sequence(
            {literal("[TOOL_CALLS]" + name), id, literal("[ARGS]"), arguments});
      }
      case CallSyntax::kHarmony:
        return around(fmt::format("<|channel|>commentary to=functions.{} "
                                  "<|constrain|>json<|message|>",
                                  name),
                      function, builder_.empty());
      case CallSyntax::kQwenXml:
        return with_parameters(function, fmt::format("<tool_call>\n<function={}>\n", name),
                               "</function>\n</tool_call>");
      case CallSyntax::kPython:
        return with_parameters(function, name + "(", ")");
      case CallSyntax::kGemma:
        return around("<|tool_call>call:" + name, function, literal("<tool_call|>"));
      default:
        break;
    }
    ANEMONE_CHECK(false);
    return internal_error("a syntax without a grammar");
  }

 private:
  NodeId literal(std::string_view text) { return builder_.literal(text); }

  // The ids of Mistral's calls.
  NodeId call_id() {
    grammar::ByteSet letters = grammar::ByteSet::range('a', 'z');
    letters.add('A', 'Z');
    letters.add('0', '9');
    constexpr std::uint64_t kLength = 9;
    return builder_.repeat(builder_.bytes(letters), kLength, kLength);
  }

  Result<NodeId> around(std::string_view begin, const ToolFunction& function, NodeId end) {
    ANEMONE_ASSIGN_OR_RETURN(const NodeId arguments, arguments_of(function));
    return builder_.sequence({literal(begin), arguments, end});
  }

  Result<NodeId> arguments_of(const ToolFunction& function) {
    return values_of(function, function.parameters(), "#").with("function " + function.name);
  }

  // The texts of a schema that is a part of the function's.
  Result<NodeId> values_of(const ToolFunction& function, const Json& schema,
                           const std::string& pointer) {
    ANEMONE_ASSIGN_OR_RETURN(auto values,
                             grammar::grammar_from_json_schema(
                                 function.parameters(), schema, pointer,
                                 syntax_ == CallSyntax::kGemma ? kGemmaOptions : kOptions, work_));
    states_ += values->state_count();
    if (states_ > kMaxStates)
      return unsupported(
          "[tools] expected functions whose schemas take at most {} states, got more", kMaxStates);
    return builder_.texts_of(std::move(values));
  }

  // Arguments that are written one by one, in the order of the schema.
  Result<NodeId> with_parameters(const ToolFunction& function, const std::string& begin,
                                 const std::string& end) {
    const Json& schema = function.parameters();
    for (const char* keyword : {"$ref", "anyOf", "oneOf", "allOf"})
      if (schema.contains(keyword))
        return unsupported(
            "[schema #/{}] expected an object schema with properties and without {} at its top, to "
            "which this model's calls can be constrained (function {})",
            keyword, keyword, function.name);
    steps_left_ = text::SchemaTypes::kMaxSteps;
    std::vector<std::pair<NodeId, bool>> parameters;  // and whether it is required
    std::unordered_set<std::string> required;
    if (const Json* names = json_member(schema, "required");
        names != nullptr && names->is_array()) {
      for (const Json& name : *names)
        if (name.is_string()) required.insert(name.get<std::string>());
    }
    const Json* properties = json_member(schema, "properties");
    if (properties != nullptr && properties->is_object()) {
      for (const auto& [name, part] : properties->items()) {
        ANEMONE_ASSIGN_OR_RETURN(const NodeId node, parameter_of(function, name, part));
        parameters.emplace_back(node, required.contains(name));
      }
    }
    return builder_.sequence({literal(begin), in_order(parameters), literal(end)});
  }

  Result<NodeId> parameter_of(const ToolFunction& function, const std::string& name,
                              const Json& schema) {
    ANEMONE_RETURN_IF_ERROR(work_.spend(kUnitsPerParameter * (1 + name.size())));
    const bool is_xml = syntax_ == CallSyntax::kQwenXml;
    const bool is_name =
        !name.empty() && name.size() <= 200 && std::ranges::all_of(name, [&](char byte) {
          return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                 (byte >= '0' && byte <= '9') || byte == '_' || byte == '-';
        });
    if (!is_name)
      return unsupported(
          "[schema #/properties] expected parameters named with letters, digits, _ and -, got "
          "another name (function {})",
          function.name);
    const std::string pointer = "#/properties/" + name;
    // The parser reads the value by the same types.
    const auto& types = tools_.types_of(function.name, name);
    const bool is_text = std::ranges::find(types, "string") != types.end();
    const std::string frame = "function " + function.name;
    if (is_xml && is_text) return text_parameter(function, name, schema, pointer).with(frame);
    ANEMONE_ASSIGN_OR_RETURN(const NodeId value, values_of(function, schema, pointer).with(frame));
    if (!is_xml) return builder_.sequence({literal(name + "="), value});
    return builder_.sequence({parameter_begin(name), value, parameter_end()});
  }

  // A text without quotes, or a value of another type that the schema allows.
  Result<NodeId> text_parameter(const ToolFunction& function, const std::string& name,
                                const Json& schema, const std::string& pointer) {
    text::SchemaTypes types(function.parameters(), steps_left_);
    ANEMONE_ASSIGN_OR_RETURN(
        const std::optional<NodeId> values,
        text_values_of(builder_, types, schema, pointer, kParameterEnd,
                       [&](const Json& part) { return values_of(function, part, pointer); }));
    if (values) return builder_.sequence({parameter_begin(name), *values, parameter_end()});
    if (!any_text_) {
      any_text_ = builder_.add_rule("text of a parameter");
      builder_.define(*any_text_, grammar::text_up_to(builder_, kParameterEnd));
    }
    // The parser ends a text at the first marker, whatever stands before it.
    return builder_.sequence({parameter_begin(name), builder_.call(*any_text_), literal("\n")});
  }

  NodeId parameter_begin(const std::string& name) {
    return literal(fmt::format("<parameter={}>\n", name));
  }
  NodeId parameter_end() { return literal(fmt::format("\n{}\n", kParameterEnd)); }

  // The parameters in this order; those that are not required may be left out. In the Python syntax
  // a comma stands between two.
  NodeId in_order(const std::vector<std::pair<NodeId, bool>>& parameters) {
    if (syntax_ == CallSyntax::kQwenXml) {
      std::vector<NodeId> parts;
      for (const auto& [node, is_required] : parameters)
        parts.push_back(is_required ? node : builder_.optional(node));
      return builder_.sequence(parts);
    }
    // Rules from the last parameter to the first: what may follow once one was written, and what
    // may stand before any was.
    NodeId behind = builder_.empty();
    NodeId first = builder_.empty();
    for (auto it = parameters.rbegin(); it != parameters.rend(); ++it) {
      const NodeId node = rule(it->first);
      const NodeId next = builder_.sequence({literal(", "), node, behind});
      const NodeId begun = builder_.sequence({node, behind});
      first = rule(it->second ? begun : builder_.choice({begun, first}));
      behind = rule(it->second ? next : builder_.choice({next, behind}));
    }
    return first;
  }

  NodeId rule(NodeId body) {
    const grammar::RuleId id = builder_.add_rule("parameters");
    builder_.define(id, body);
    return builder_.call(id);
  }

  static constexpr std::string_view kParameterEnd = "</parameter>";
  static constexpr std::size_t kUnitsPerParameter = 100;

  GrammarBuilder& builder_;
  const CallSyntax syntax_;
  const text::ToolSet& tools_;
  std::size_t steps_left_ = 0;  // of the function, for SchemaTypes
  WorkBudget work_ = grammar::schema_budget();
  std::size_t states_ = 0;
  std::optional<grammar::RuleId> any_text_;
};

}  // namespace

bool has_call_grammar(CallSyntax syntax) {
  return syntax != CallSyntax::kNone;
}

bool can_be_strict(CallSyntax syntax) {
  return has_call_grammar(syntax) && !text::call_open(syntax).empty();
}

Result<NodeId> calls_of(GrammarBuilder& builder, CallSyntax syntax, const text::ToolSet& tools,
                        bool is_parallel) {
  CallGrammar calls(builder, syntax, tools);
  std::vector<NodeId> ways;
  for (const ToolFunction& function : tools.functions()) {
    ANEMONE_ASSIGN_OR_RETURN(const NodeId call, calls.call_of(function));
    ways.push_back(call);
  }
  const grammar::RuleId rule = builder.add_rule("call");
  builder.define(rule, builder.choice(ways));
  const Form form = form_of(syntax);
  std::vector<NodeId> parts = {builder.literal(form.open), builder.call(rule)};
  if (is_parallel && form.takes_several)
    parts.push_back(
        builder.repeat(builder.sequence({builder.literal(form.separator), builder.call(rule)}), 0,
                       kMaxConstrainedCalls - 1));
  parts.push_back(builder.literal(form.close));
  if (syntax == CallSyntax::kJsonList)
    parts.push_back(builder.optional(builder.literal(text::call_close(syntax))));
  return builder.sequence(parts);
}

}  // namespace anemone::engine
