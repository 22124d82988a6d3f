// SPDX-License-Identifier: Apache-2.0
// Statements, scopes and limits. Expressions are in evaluator.cc.
#include "text/jinja/interpreter.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/jinja/functions.h"
#include "text/jinja/interpreter_guards.h"
#include "text/jinja/text_forms.h"

namespace anemone::text::jinja {

Interpreter::Interpreter(const Limits& limits, CivilTime now) : limits_(limits), now_(now) {
  add_functions(*this);
}

Interpreter::~Interpreter() = default;

void Interpreter::set_global(const std::string& name, Value value) {
  globals_.variables[name] = std::move(value);
}

Result<std::string> Interpreter::render(const Block& block) {
  std::string out;
  ScopeGuard scope(*this);
  ANEMONE_ASSIGN_OR_RETURN([[maybe_unused]] const Flow flow, execute(block, out));
  return out;
}

Status Interpreter::charge(std::size_t steps) {
  steps_ += static_cast<std::int64_t>(std::min<std::size_t>(steps, INT32_MAX));
  if (steps_ <= limits_.steps) return ok_status();
  return invalid_argument("[chat template] expected at most {} steps", limits_.steps);
}

Status Interpreter::charge_search(std::size_t text_bytes, std::size_t part_bytes) {
  // Both are at most output_bytes, so that the product fits.
  return charge(text_bytes / 16 + text_bytes * part_bytes / 1024 + 1);
}

Result<Value> Interpreter::make_text(std::string text) {
  if (text.size() > limits_.output_bytes)
    return invalid_argument("[chat template] expected a text of at most {} bytes",
                            limits_.output_bytes);
  bytes_ += static_cast<std::int64_t>(text.size());
  if (bytes_ > limits_.total_bytes)
    return invalid_argument("[chat template] expected at most {} bytes of text on the way",
                            limits_.total_bytes);
  return Value::text(std::move(text));
}

Result<Value> Interpreter::make_sequence(std::vector<Value> items, SequenceKind kind) {
  if (items.size() > limits_.items)
    return invalid_argument("[chat template] expected at most {} items", limits_.items);
  ANEMONE_RETURN_IF_ERROR(charge(items.size() + 1));
  return Value::sequence(std::move(items), kind);
}

Result<std::string> Interpreter::to_text(const Value& value) {
  ANEMONE_ASSIGN_OR_RETURN(std::string text, str(value, limits_.output_bytes));
  bytes_ += static_cast<std::int64_t>(text.size());
  if (bytes_ > limits_.total_bytes)
    return invalid_argument("[chat template] expected at most {} bytes of text on the way",
                            limits_.total_bytes);
  return text;
}

Status Interpreter::append(std::string& out, std::string_view text) {
  if (out.size() + text.size() > limits_.output_bytes)
    return invalid_argument("[chat template] expected an output of at most {} bytes",
                            limits_.output_bytes);
  out += text;
  return ok_status();
}

Result<Interpreter::Flow> Interpreter::execute(const Block& block, std::string& out) {
  for (const StmtPtr& stmt : block) {
    auto flow = execute(*stmt, out);
    if (!flow.ok() || *flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute(const Stmt& stmt, std::string& out) {
  const Depth depth(*this);
  ANEMONE_RETURN_IF_ERROR(depth.check());
  ANEMONE_RETURN_IF_ERROR(charge(1));
  switch (stmt.kind) {
    case StmtKind::kText:
      ANEMONE_RETURN_IF_ERROR(append(out, stmt.text));
      return Flow::kNext;
    case StmtKind::kPrint: {
      ANEMONE_ASSIGN_OR_RETURN(const Value value, evaluate(*stmt.expr));
      if (const std::string* text = value.as_text()) {
        ANEMONE_RETURN_IF_ERROR(append(out, *text));
        return Flow::kNext;
      }
      ANEMONE_ASSIGN_OR_RETURN(const std::string text, to_text(value));
      ANEMONE_RETURN_IF_ERROR(append(out, text));
      return Flow::kNext;
    }
    case StmtKind::kIf:
      return execute_if(stmt, out);
    case StmtKind::kFor:
      ANEMONE_RETURN_IF_ERROR(execute_for(stmt, out));
      return Flow::kNext;
    case StmtKind::kSet:
      ANEMONE_RETURN_IF_ERROR(execute_set(stmt));
      return Flow::kNext;
    case StmtKind::kSetBlock:
      ANEMONE_RETURN_IF_ERROR(execute_set_block(stmt));
      return Flow::kNext;
    case StmtKind::kMacro:
      define_macro(stmt);
      return Flow::kNext;
    case StmtKind::kCallBlock:
      ANEMONE_RETURN_IF_ERROR(execute_call_block(stmt, out));
      return Flow::kNext;
    case StmtKind::kFilter: {
      std::string body;
      {
        ScopeGuard scope(*this);
        auto flow = execute(stmt.body, body);
        if (!flow.ok() || *flow != Flow::kNext) return flow;
      }
      ANEMONE_ASSIGN_OR_RETURN(const Value text, make_text(std::move(body)));
      ANEMONE_ASSIGN_OR_RETURN(const Value value, apply_filter_chain(*stmt.filter, text));
      ANEMONE_ASSIGN_OR_RETURN(const std::string filtered, to_text(value));
      ANEMONE_RETURN_IF_ERROR(append(out, filtered));
      return Flow::kNext;
    }
    case StmtKind::kWith:
      ANEMONE_RETURN_IF_ERROR(execute_with(stmt, out));
      return Flow::kNext;
    case StmtKind::kScope: {
      ScopeGuard scope(*this);
      return execute(stmt.body, out);
    }
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute_if(const Stmt& stmt, std::string& out) {
  for (const Branch& branch : stmt.branches) {
    ANEMONE_ASSIGN_OR_RETURN(const Value condition, evaluate(*branch.condition));
    if (condition.truthy()) return execute(branch.body, out);
  }
  return execute(stmt.otherwise, out);
}

Status Interpreter::execute_for(const Stmt& stmt, std::string& out) {
  ANEMONE_ASSIGN_OR_RETURN(const Value iterable, evaluate(*stmt.expr));
  ANEMONE_ASSIGN_OR_RETURN(std::vector<Value> items, iterate(iterable));
  return run_loop(stmt, std::move(items), 0, out);
}

Status Interpreter::run_loop(const Stmt& stmt, std::vector<Value> items, std::size_t depth0,
                             std::string& out) {
  if (stmt.condition != nullptr) {
    // The condition sees the loop's names but not "loop".
    std::vector<Value> chosen;
    for (Value& item : items) {
      ScopeGuard scope(*this);
      ANEMONE_RETURN_IF_ERROR(assign(stmt.target, item));
      ANEMONE_ASSIGN_OR_RETURN(const Value wanted, evaluate(*stmt.condition));
      if (wanted.truthy()) chosen.push_back(std::move(item));
    }
    items = std::move(chosen);
  }
  if (items.empty()) {
    ScopeGuard scope(*this);
    ANEMONE_ASSIGN_OR_RETURN([[maybe_unused]] const Flow flow, execute(stmt.otherwise, out));
    return ok_status();
  }
  auto loop = std::make_shared<Loop>();
  loop->items = std::move(items);
  loop->depth0 = depth0;
  loop->statement = stmt.recursive ? &stmt : nullptr;
  loop->scope = scope_;
  for (std::size_t i = 0; i < loop->items.size(); ++i) {
    ANEMONE_RETURN_IF_ERROR(charge(1));
    ScopeGuard scope(*this);
    loop->index0 = i;
    scope_->variables["loop"] = Value::object(loop);
    ANEMONE_RETURN_IF_ERROR(assign(stmt.target, loop->items[i]));
    ANEMONE_ASSIGN_OR_RETURN(const Flow flow, execute(stmt.body, out));
    if (flow == Flow::kBreak) break;
  }
  return ok_status();
}

Status Interpreter::assign(const Target& target, const Value& value) {
  if (!target.attribute.empty()) return assign_attribute(target, value);
  if (!target.is_tuple) {
    scope_->variables[target.names[0]] = value;
    return ok_status();
  }
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<Value> items, iterate(value));
  if (items.size() != target.names.size())
    return invalid_argument("[chat template] expected {} values to unpack, got {}",
                            target.names.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) scope_->variables[target.names[i]] = items[i];
  return ok_status();
}

Status Interpreter::assign_attribute(const Target& target, const Value& value) {
  ANEMONE_ASSIGN_OR_RETURN(const Value object, lookup(target.names[0]));
  Namespace* names = object.as_namespace();
  if (names == nullptr)
    return invalid_argument("[chat template] cannot assign attribute on non-namespace object");
  if (reaches(value, names))
    return invalid_argument("[chat template] a value cannot contain itself");
  names->attributes.set(Value::text(target.attribute), value);
  return ok_status();
}

Status Interpreter::execute_set(const Stmt& stmt) {
  ANEMONE_ASSIGN_OR_RETURN(const Value value, evaluate(*stmt.expr));
  return assign(stmt.target, value);
}

Status Interpreter::execute_set_block(const Stmt& stmt) {
  std::string body;
  {
    ScopeGuard scope(*this);
    ANEMONE_ASSIGN_OR_RETURN([[maybe_unused]] const Flow flow, execute(stmt.body, body));
  }
  ANEMONE_ASSIGN_OR_RETURN(Value value, make_text(std::move(body)));
  if (stmt.filter != nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(value, apply_filter_chain(*stmt.filter, value));
  }
  return assign(stmt.target, value);
}

Status Interpreter::execute_with(const Stmt& stmt, std::string& out) {
  // The values are those outside of the block, whatever the order of the names.
  std::vector<Value> values;
  for (const Parameter& variable : stmt.parameters) {
    ANEMONE_ASSIGN_OR_RETURN(Value value, evaluate(*variable.fallback));
    values.push_back(std::move(value));
  }
  ScopeGuard scope(*this);
  for (std::size_t i = 0; i < values.size(); ++i)
    scope_->variables[stmt.parameters[i].name] = values[i];
  ANEMONE_ASSIGN_OR_RETURN([[maybe_unused]] const Flow flow, execute(stmt.body, out));
  return ok_status();
}

void Interpreter::define_macro(const Stmt& stmt) {
  for (Scope* scope = scope_; scope != nullptr && !scope->kept; scope = scope->parent)
    scope->kept = true;
  scope_->variables[stmt.text] = Value::object(std::make_shared<const Macro>(Macro{&stmt, scope_}));
}

Status Interpreter::execute_call_block(const Stmt& stmt, std::string& out) {
  ScopeGuard scope(*this);
  define_macro(stmt);
  const Value caller = scope_->variables["caller"];
  ANEMONE_ASSIGN_OR_RETURN(const Value callee, evaluate(*stmt.expr->args[0]));
  ANEMONE_ASSIGN_OR_RETURN(CallArgs args, evaluate_arguments(*stmt.expr));
  args.named.emplace_back("caller", caller);
  ANEMONE_ASSIGN_OR_RETURN(const Value value, call(callee, args));
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, to_text(value));
  return append(out, text);
}

Result<Value> Interpreter::call_macro(const Macro& macro, const CallArgs& args) {
  const Stmt& definition = *macro.definition;
  const auto& parameters = definition.parameters;
  if (args.positional.size() > parameters.size())
    return invalid_argument("[chat template] macro {} takes at most {} arguments, got {}",
                            definition.text, parameters.size(), args.positional.size());
  ScopeGuard scope(*this, macro.scope);
  for (const auto& [argument, value] : args.named) {
    const auto& name = argument;  // clang 14 lets no lambda capture a structured binding
    const bool known = name == "caller" || std::any_of(parameters.begin(), parameters.end(),
                                                       [&](const Parameter& parameter) {
                                                         return parameter.name == name;
                                                       });
    if (!known)
      return invalid_argument("[chat template] macro {} takes no argument {}", definition.text,
                              name);
    scope_->variables[name] = value;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    if (i < args.positional.size()) {
      scope_->variables[parameter.name] = args.positional[i];
    } else if (scope_->variables.count(parameter.name) == 0) {
      Value value =
          Value::undefined(fmt::format("parameter '{}' was not provided", parameter.name));
      if (parameter.fallback != nullptr) {
        ANEMONE_ASSIGN_OR_RETURN(value, evaluate(*parameter.fallback));
      }
      scope_->variables[parameter.name] = std::move(value);
    }
  }
  std::string out;
  ANEMONE_ASSIGN_OR_RETURN([[maybe_unused]] const Flow flow, execute(definition.body, out));
  return make_text(std::move(out));
}

}  // namespace anemone::text::jinja
