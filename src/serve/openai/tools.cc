// SPDX-License-Identifier: Apache-2.0
#include "serve/openai/tools.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json_bytes.h"

namespace anemone::serve::openai {
namespace {

using engine::AnswerForm;
using text::ToolFunction;
using text::ToolSet;

constexpr std::array kEfforts = {"none", "minimal", "low", "medium", "high", "xhigh"};

// Names become part of what a model writes in every syntax, so no byte of them may mean anything
// there.
bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= kMaxToolNameBytes &&
         std::ranges::all_of(name, [](char byte) {
           return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                  (byte >= '0' && byte <= '9') || byte == '_' || byte == '-' || byte == '.';
         });
}

// The schema of the arguments: an object's. Without one, a function has no parameters.
Result<JsonDocument> parameters_of(const Json* parameters, const std::string& place,
                                   WorkBudget* budget) {
  if (parameters == nullptr)
    return JsonDocument(Json{{"type", "object"}, {"properties", Json::object()}});
  const Json* type = json_member(*parameters, "type");
  if (!parameters->is_object() || (type != nullptr && *type != "object"))
    return invalid_argument(
        "[{}.parameters] expected the JSON schema of an object, got {}", place,
        parameters->is_object() ? "another schema" : describe_json(*parameters));
  // For it and for what ToolSet makes of it, which takes no more.
  if (budget != nullptr) ANEMONE_RETURN_IF_ERROR(budget->take(2 * json_bytes(*parameters)));
  JsonDocument out(*parameters);
  for (const char* keyword : {"type", "$ref", "anyOf", "oneOf", "allOf"})
    if (parameters->contains(keyword)) return out;
  (*out)["type"] = "object";
  return out;
}

// Reads a function, an object at `place` whose "name" is a text.
Result<ToolFunction> function_of(const Json& function, const std::string& place,
                                 WorkBudget* budget) {
  const Json& name = *json_member(function, "name");
  if (!is_name(name.get_ref<const std::string&>()))
    return invalid_argument(
        "[{}.name] expected 1 to {} letters, digits, underscores, dashes and dots, got {}", place,
        kMaxToolNameBytes, describe_json(name));
  ANEMONE_ASSIGN_OR_RETURN(JsonDocument parameters,
                           parameters_of(json_member(function, "parameters"), place, budget));
  const Json* strict = json_member(function, "strict");
  if (strict != nullptr && !strict->is_boolean())
    return invalid_argument("[{}.strict] expected true or false, got {}", place,
                            describe_json(*strict));
  return ToolFunction(name.get<std::string>(), std::move(parameters),
                      strict != nullptr && *strict == true);
}

bool has_name(const Json* function) {
  const Json* name = function == nullptr ? nullptr : json_member(*function, "name");
  return name != nullptr && name->is_string();
}

// Reads the function of an entry of "tools".
Result<ToolFunction> tool_function(const Json& tool, std::size_t index, WorkBudget* budget) {
  const std::string place = fmt::format("tools[{}]", index);
  if (const Json* type = json_member(tool, "type"); type != nullptr && *type != "function")
    return unsupported("[{}.type] expected \"function\", got {}", place, describe_json(*type));
  const Json* function = json_member(tool, "function");
  if (!has_name(function))
    return invalid_argument(
        "[{}] expected an object with \"function\": {{\"name\": \"...\"}}, got {}", place,
        describe_json(tool));
  return function_of(*function, place + ".function", budget);
}

// Reads an entry of "functions", which is the function itself.
Result<ToolFunction> plain_function(const Json& function, std::size_t index, WorkBudget* budget) {
  const std::string place = fmt::format("functions[{}]", index);
  if (!has_name(&function))
    return invalid_argument("[{}] expected an object with a \"name\", got {}", place,
                            describe_json(function));
  return function_of(function, place, budget);
}

// The two members that functions come in.
struct FunctionList {
  const char* key;
  const char* inside;  // of an entry: where its function is
  Result<ToolFunction> (*read)(const Json& entry, std::size_t index, WorkBudget* budget);
};
constexpr FunctionList kTools = {"tools", ".function", tool_function};
constexpr FunctionList kFunctions = {"functions", "", plain_function};

Result<std::vector<ToolFunction>> functions_of(const Json& list, const FunctionList& form,
                                               WorkBudget* budget) {
  if (!list.is_array())
    return invalid_argument("[{}] expected a list, got {}", form.key, describe_json(list));
  if (list.size() > kMaxTools)
    return invalid_argument("[{}] expected at most {} functions, got {}", form.key, kMaxTools,
                            list.size());
  std::vector<ToolFunction> out;
  std::set<std::string> names;
  for (std::size_t i = 0; i < list.size(); ++i) {
    ANEMONE_ASSIGN_OR_RETURN(ToolFunction function, form.read(list[i], i, budget));
    if (!names.insert(function.name).second)
      return invalid_argument("[{}[{}]{}.name] expected a name of its own, got {} again", form.key,
                              i, form.inside, function.name);
    out.push_back(std::move(function));
  }
  return out;
}

// What tool_choice or function_call says.
struct ToolChoice {
  AnswerForm::Calls calls = AnswerForm::Calls::kAllowed;
  std::set<std::string> names;  // of the functions that may be called; empty: all
  bool is_one = false;          // at most one call: one function was named
};

// The name in {"type": "function", "function": {"name": "f"}}; null for anything else.
const Json* name_in(const Json& choice) {
  const Json* function = json_member(choice, "function");
  const Json* name = function == nullptr ? nullptr : json_member(*function, "name");
  return name != nullptr && name->is_string() ? name : nullptr;
}

Status add_name(const Json* name, const std::vector<ToolFunction>& functions, ToolChoice& out) {
  if (name == nullptr)
    return invalid_argument(
        "[tool_choice] expected {{\"type\": \"function\", \"function\": {{\"name\": \"...\"}}}}, "
        "got another object");
  const auto is_it = [&](const ToolFunction& function) { return *name == function.name; };
  if (std::ranges::none_of(functions, is_it))
    return invalid_argument("[tool_choice] expected the name of one of the tools, got {}",
                            describe_json(*name));
  out.names.insert(name->get<std::string>());
  return {};
}

// {"mode": "auto" or "required", "tools": [{"type": "function", "function": {"name": "f"}}]}.
Status read_allowed(const Json& allowed, const std::vector<ToolFunction>& functions,
                    ToolChoice& out) {
  const Json* mode = json_member(allowed, "mode");
  const Json* tools = json_member(allowed, "tools");
  const bool is_good = mode != nullptr && (*mode == "auto" || *mode == "required") &&
                       tools != nullptr && tools->is_array() && !tools->empty() &&
                       tools->size() <= kMaxTools;
  if (!is_good)
    return invalid_argument(
        "[tool_choice.allowed_tools] expected an object with a \"mode\", which is \"auto\" or "
        "\"required\", and at least one of the \"tools\", got another");
  if (*mode == "required") out.calls = AnswerForm::Calls::kRequired;
  for (const Json& tool : *tools) ANEMONE_RETURN_IF_ERROR(add_name(name_in(tool), functions, out));
  return {};
}

Result<ToolChoice> choice_of(const Json* choice, const std::vector<ToolFunction>& functions) {
  ToolChoice out;
  if (choice == nullptr || *choice == "auto") return out;
  if (*choice == "none") {
    out.calls = AnswerForm::Calls::kNone;
    return out;
  }
  const bool is_required = *choice == "required";
  if (!is_required && !choice->is_object())
    return invalid_argument(
        "[tool_choice] expected \"none\", \"auto\", \"required\" or an object, got {}",
        describe_json(*choice));
  if (functions.empty())
    return invalid_argument("[tool_choice] works only together with \"tools\"");
  if (is_required) {
    out.calls = AnswerForm::Calls::kRequired;
    return out;
  }
  if (const Json* allowed = json_member(*choice, "allowed_tools")) {
    ANEMONE_RETURN_IF_ERROR(read_allowed(*allowed, functions, out));
    return out;
  }
  out.calls = AnswerForm::Calls::kRequired;
  out.is_one = true;
  ANEMONE_RETURN_IF_ERROR(add_name(name_in(*choice), functions, out));
  return out;
}

// "none", "auto" or {"name": "f"}, as "function_call" has it.
Result<ToolChoice> function_choice(const Json* choice, const std::vector<ToolFunction>& functions) {
  ToolChoice out;
  out.is_one = true;  // an answer has one function_call
  if (choice == nullptr || *choice == "auto") return out;
  if (*choice == "none") {
    out.calls = AnswerForm::Calls::kNone;
    return out;
  }
  if (!choice->is_object() || !has_name(choice))
    return invalid_argument(
        "[function_call] expected \"none\", \"auto\" or an object with a \"name\", got {}",
        describe_json(*choice));
  if (functions.empty())
    return invalid_argument("[function_call] works only together with \"functions\"");
  const Json& name = *json_member(*choice, "name");
  if (std::ranges::none_of(functions, [&](const ToolFunction& each) { return name == each.name; }))
    return invalid_argument("[function_call] expected the name of one of the functions, got {}",
                            describe_json(name));
  out.calls = AnswerForm::Calls::kRequired;
  out.names.insert(name.get<std::string>());
  return out;
}

// Makes "tools" of "functions".
void wrap_functions(Json& functions) {
  for (Json& function : functions) {
    Json tool = {{"type", "function"}};
    append_member(tool, "function", std::move(function));
    function = std::move(tool);
  }
}

// The list that the request brings, in the form of "tools", and what it has to do with the answer.
struct AskedTools {
  Json* list = nullptr;  // null: none
  std::vector<ToolFunction> functions;
  ToolChoice choice;
};

Result<AskedTools> read_functions(JsonFields& fields, WorkBudget* budget) {
  for (const char* key : {"tools", "tool_choice"})
    if (fields.member(key) != nullptr)
      return invalid_argument("[{}] cannot be combined with \"functions\" and \"function_call\"",
                              key);
  AskedTools out;
  out.list = fields.member("functions");
  if (out.list != nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(out.functions, functions_of(*out.list, kFunctions, budget));
  }
  ANEMONE_ASSIGN_OR_RETURN(out.choice,
                           function_choice(fields.member("function_call"), out.functions));
  if (out.list != nullptr) wrap_functions(*out.list);
  return out;
}

Result<AskedTools> read_tool_list(JsonFields& fields, WorkBudget* budget) {
  AskedTools out;
  out.list = fields.member("tools");
  if (out.list != nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(out.functions, functions_of(*out.list, kTools, budget));
  }
  ANEMONE_ASSIGN_OR_RETURN(out.choice, choice_of(fields.member("tool_choice"), out.functions));
  return out;
}

Status read(JsonFields& fields, ChatRequest& request, WorkBudget* budget) {
  const auto parallel = fields.boolean("parallel_tool_calls");
  request.has_functions =
      fields.member("functions") != nullptr || fields.member("function_call") != nullptr;
  ANEMONE_ASSIGN_OR_RETURN(AskedTools asked, request.has_functions
                                                 ? read_functions(fields, budget)
                                                 : read_tool_list(fields, budget));
  ANEMONE_RETURN_IF_ERROR(fields.status());
  if (asked.functions.empty() || asked.choice.calls == AnswerForm::Calls::kNone) return {};
  request.calls = asked.choice.calls;
  request.is_parallel = parallel.value_or(true) && !asked.choice.is_one;
  const bool has_strict = std::ranges::any_of(asked.functions, &ToolFunction::is_strict);
  if (has_strict && request.calls == AnswerForm::Calls::kAllowed)
    request.calls = AnswerForm::Calls::kStrict;
  request.tools = std::make_shared<const ToolSet>(std::move(asked.functions));
  request.callable = request.tools;
  if (!asked.choice.names.empty()) {
    std::vector<ToolFunction> callable;
    for (const ToolFunction& function : request.tools->functions())
      if (asked.choice.names.contains(function.name)) callable.push_back(function);
    request.callable = std::make_shared<const ToolSet>(std::move(callable));
  }
  set_member(request.variables, "tools", std::move(*asked.list));
  return {};
}

}  // namespace

void read_tools(JsonFields& fields, ChatRequest& request, WorkBudget* budget) {
  if (!fields.status().ok()) return;
  if (Status status = read(fields, request, budget); !status.ok()) fields.fail(std::move(status));
}

void read_reasoning_options(JsonFields& fields, Json& variables) {
  const auto effort = fields.string("reasoning_effort");
  if (effort && std::ranges::find(kEfforts, *effort) == kEfforts.end())
    fields.fail(invalid_argument("[reasoning_effort] expected one of {}, got {}",
                                 fmt::join(kEfforts, ", "), describe_json(Json(*effort))));
  auto thinks = fields.boolean("enable_thinking");
  if (!fields.status().ok()) return;
  if (effort == "none" && !thinks) thinks = false;
  const auto add = [&](const char* name, Json value) {
    if (!variables.contains(name)) append_member(variables, name, std::move(value));
  };
  if (effort) add("reasoning_effort", *effort);
  if (thinks) add("enable_thinking", *thinks);
}

}  // namespace anemone::serve::openai
