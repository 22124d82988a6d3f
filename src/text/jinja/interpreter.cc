// SPDX-License-Identifier: Apache-2.0
// Statements, scopes and limits. Expressions are in evaluator.cc.
#include "text/jinja/interpreter.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "text/jinja/functions.h"
#include "text/jinja/interpreter_guards.h"
#include "text/jinja/value_text.h"

namespace anemone::text::jinja {
namespace {

constexpr std::size_t kScopeCost = 150;

}  // namespace

Interpreter::Interpreter(const Limits& limits, CivilTime now, WorkBudget* budget)
    : heap_(limits, budget), now_(now) {}

Interpreter::~Interpreter() = default;

Status Scope::set(Heap& heap, const std::string& name, Value value) {
  constexpr std::size_t kVariableBytes = 128;
  ANEMONE_RETURN_IF_ERROR(heap.charge(cost::kNode + cost::bytes(name.size())));
  const auto it = variables.find(name);
  if (it != variables.end()) {
    it->second = std::move(value);
    return ok_status();
  }
  const std::size_t bytes = kVariableBytes + name.size();
  ANEMONE_RETURN_IF_ERROR(heap.take(bytes));
  counted += bytes;
  variables.emplace(name, std::move(value));
  return ok_status();
}

Status Interpreter::set_globals(const Json& context) {
  ANEMONE_RETURN_IF_ERROR(add_functions(*this));
  for (const char* name : {"tools", "documents"})
    ANEMONE_RETURN_IF_ERROR(set_global(name, Value::none()));
  for (const auto& [name, json] : context.items()) {
    ANEMONE_ASSIGN_OR_RETURN(Value value, heap_.from_json(json));
    ANEMONE_RETURN_IF_ERROR(set_global(name, std::move(value)));
  }
  return ok_status();
}

Status Interpreter::set_global(const std::string& name, Value value) {
  return globals_.set(heap_, name, std::move(value));
}

Result<std::string> Interpreter::render(const Block& block) {
  Output out(heap_);
  ScopeGuard scope(*this);
  ANEMONE_ASSIGN_OR_RETURN([[maybe_unused]] const Flow flow, execute(block, out));
  return out.take();
}

Status Interpreter::charge_search(std::size_t text_bytes, std::size_t part_bytes) {
  // Both are at most output_bytes, so that the product fits.
  return charge(cost::kNode + text_bytes * cost::kCharacter + part_bytes +
                text_bytes * part_bytes / 32);
}

Result<std::string> Interpreter::to_text(const Value& value) {
  return str(heap_, value);
}

Result<Interpreter::Flow> Interpreter::execute(const Block& block, Output& out) {
  for (const StmtPtr& stmt : block) {
    auto flow = execute(*stmt, out);
    if (!flow.ok() || *flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute(const Stmt& stmt, Output& out) {
  const Depth depth(*this);
  ANEMONE_RETURN_IF_ERROR(depth.check());
  ANEMONE_RETURN_IF_ERROR(charge(cost::kNode));
  switch (stmt.kind) {
    case StmtKind::kText:
      ANEMONE_RETURN_IF_ERROR(out.append(stmt.text));
      return Flow::kNext;
    case StmtKind::kPrint: {
      ANEMONE_ASSIGN_OR_RETURN(const Value value, evaluate(*stmt.expr));
      if (const std::string* text = value.as_text()) {
        ANEMONE_RETURN_IF_ERROR(out.append(*text));
        return Flow::kNext;
      }
      ANEMONE_ASSIGN_OR_RETURN(const std::string text, to_text(value));
      ANEMONE_RETURN_IF_ERROR(out.append(text));
      return Flow::kNext;
    }
    case StmtKind::kIf:
      return execute_if(stmt, out);
    case StmtKind::kFor:
      return execute_for(stmt, out);
    case StmtKind::kSet:
      ANEMONE_RETURN_IF_ERROR(execute_set(stmt));
      return Flow::kNext;
    case StmtKind::kSetBlock:
      return execute_set_block(stmt);
    case StmtKind::kMacro:
      ANEMONE_RETURN_IF_ERROR(define_macro(stmt));
      return Flow::kNext;
    case StmtKind::kCallBlock:
      ANEMONE_RETURN_IF_ERROR(execute_call_block(stmt, out));
      return Flow::kNext;
    case StmtKind::kFilter: {
      Output body(heap_);
      {
        ScopeGuard scope(*this);
        auto flow = execute(stmt.body, body);
        if (!flow.ok() || *flow != Flow::kNext) return flow;
      }
      ANEMONE_ASSIGN_OR_RETURN(const Value text, make_text(body.take()));
      ANEMONE_ASSIGN_OR_RETURN(const Value value, apply_filter_chain(*stmt.filter, text));
      ANEMONE_ASSIGN_OR_RETURN(const std::string filtered, to_text(value));
      ANEMONE_RETURN_IF_ERROR(out.append(filtered));
      return Flow::kNext;
    }
    case StmtKind::kWith:
      return execute_with(stmt, out);
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

Result<Interpreter::Flow> Interpreter::execute_if(const Stmt& stmt, Output& out) {
  for (const Branch& branch : stmt.branches) {
    ANEMONE_ASSIGN_OR_RETURN(const Value condition, evaluate(*branch.condition));
    if (condition.truthy()) return execute(branch.body, out);
  }
  return execute(stmt.otherwise, out);
}

Result<Interpreter::Flow> Interpreter::execute_for(const Stmt& stmt, Output& out) {
  ANEMONE_ASSIGN_OR_RETURN(const Value iterable, evaluate(*stmt.expr));
  return run_loop(stmt, iterable, 0, out);
}

// Whether the condition of a loop holds for an item. It sees the loop's names but not "loop".
Result<bool> Interpreter::is_wanted(const Loop& loop, const Value& item) {
  const Stmt& stmt = *loop.statement;
  ANEMONE_RETURN_IF_ERROR(charge(kScopeCost));
  ScopeGuard scope(*this, loop.scope);
  ANEMONE_RETURN_IF_ERROR(assign(stmt.target, item));
  ANEMONE_ASSIGN_OR_RETURN(const Value holds, evaluate(*stmt.condition));
  return holds.truthy();
}

Result<bool> Interpreter::ask_next(Loop& loop) {
  if (loop.is_asking) return invalid_argument("[chat template] generator already executing");
  const std::vector<Value>& source = loop.generator ? loop.generator->items : loop.items;
  std::size_t& next = loop.generator ? loop.generator->next : loop.next;
  while (next < source.size()) {
    Value item = source[next++];
    ANEMONE_RETURN_IF_ERROR(charge(cost::kItem));
    if (loop.statement != nullptr && loop.statement->condition != nullptr) {
      loop.is_asking = true;
      const Result<bool> wanted = is_wanted(loop, item);
      loop.is_asking = false;
      ANEMONE_RETURN_IF_ERROR(wanted.status());
      if (!*wanted) continue;
    }
    if (loop.generator)
      loop.items.push_back(std::move(item));  // its memory is reserved
    else
      loop.items[loop.asked] = std::move(item);
    ++loop.asked;
    return true;
  }
  ANEMONE_RETURN_IF_ERROR(std::exchange(loop.generator ? loop.generator->end : loop.end, {}));
  return false;
}

Result<std::shared_ptr<Loop>> Interpreter::make_loop(const Stmt& stmt, const Value& iterable) {
  Loop loop;
  const auto* sequence = std::get_if<Value::SequencePtr>(&iterable.data());
  if (sequence != nullptr && (*sequence)->kind == SequenceKind::kGenerator) {
    loop.generator = *sequence;
    loop.items.reserve((*sequence)->items.size() - (*sequence)->next);
  } else {
    ANEMONE_ASSIGN_OR_RETURN(Items all, iterate_until_error(iterable));
    loop.items = std::move(all.items);
    loop.end = std::move(all.end);
    if (stmt.condition == nullptr) loop.asked = loop.next = loop.items.size();
  }
  const std::size_t bytes = sizeof(Loop) + 64 + loop.items.capacity() * sizeof(Value);
  return heap_.make(std::move(loop), bytes);
}

Result<Interpreter::Flow> Interpreter::run_loop(const Stmt& stmt, const Value& iterable,
                                                std::size_t depth0, Output& out) {
  ANEMONE_ASSIGN_OR_RETURN(const auto loop, make_loop(stmt, iterable));
  loop->depth0 = depth0;
  loop->statement = &stmt;
  loop->scope = scope_;
  const LoopGuard guard(*loop);
  bool completed = false;
  for (std::size_t i = 0;; ++i) {
    if (i == loop->asked) {
      ANEMONE_ASSIGN_OR_RETURN(const bool has_next, ask_next(*loop));
      if (!has_next) break;
    }
    ANEMONE_RETURN_IF_ERROR(charge(kScopeCost));
    ScopeGuard scope(*this);
    loop->index0 = i;
    ANEMONE_RETURN_IF_ERROR(scope_->set(heap_, "loop", Value::object(loop)));
    ANEMONE_RETURN_IF_ERROR(assign(stmt.target, loop->items[i]));
    ANEMONE_ASSIGN_OR_RETURN(const Flow flow, execute(stmt.body, out));
    if (flow == Flow::kBreak) break;
    completed = completed || flow == Flow::kNext;
  }
  // `otherwise` runs also when each item was left by break or continue, as in Jinja2.
  if (completed || stmt.otherwise.empty()) return Flow::kNext;
  ScopeGuard scope(*this);
  return execute(stmt.otherwise, out);  // a break there leaves the loop around
}

Status Interpreter::assign(const Target& target, const Value& value) {
  if (!target.attribute.empty()) return assign_attribute(target, value);
  if (!target.is_tuple) return scope_->set(heap_, target.names[0], value);
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<Value> items, iterate(value));
  if (items.size() != target.names.size())
    return invalid_argument("[chat template] expected {} values to unpack, got {}",
                            target.names.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i)
    ANEMONE_RETURN_IF_ERROR(scope_->set(heap_, target.names[i], items[i]));
  return ok_status();
}

Status Interpreter::assign_attribute(const Target& target, const Value& value) {
  ANEMONE_ASSIGN_OR_RETURN(const Value object, lookup(target.names[0]));
  Namespace* names = object.as_namespace();
  if (names == nullptr)
    return invalid_argument("[chat template] cannot assign attribute on non-namespace object");
  ANEMONE_ASSIGN_OR_RETURN(const Value name, make_text(target.attribute));
  if (names->attributes.find(target.attribute) == nullptr)
    ANEMONE_RETURN_IF_ERROR(heap_.grow(*names, Dict::kEntryBytes));
  return names->attributes.set(heap_, name, value);
}

Status Interpreter::execute_set(const Stmt& stmt) {
  ANEMONE_ASSIGN_OR_RETURN(const Value value, evaluate(*stmt.expr));
  return assign(stmt.target, value);
}

Result<Interpreter::Flow> Interpreter::execute_set_block(const Stmt& stmt) {
  Output body(heap_);
  {
    ScopeGuard scope(*this);
    auto flow = execute(stmt.body, body);
    if (!flow.ok() || *flow != Flow::kNext) return flow;
  }
  ANEMONE_ASSIGN_OR_RETURN(Value value, make_text(body.take()));
  if (stmt.filter != nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(value, apply_filter_chain(*stmt.filter, value));
  }
  ANEMONE_RETURN_IF_ERROR(assign(stmt.target, value));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute_with(const Stmt& stmt, Output& out) {
  // The values are those outside of the block, whatever the order of the names.
  std::vector<Value> values;
  for (const Parameter& variable : stmt.parameters) {
    ANEMONE_ASSIGN_OR_RETURN(Value value, evaluate(*variable.fallback));
    values.push_back(std::move(value));
  }
  ScopeGuard scope(*this);
  for (std::size_t i = 0; i < values.size(); ++i)
    ANEMONE_RETURN_IF_ERROR(scope_->set(heap_, stmt.parameters[i].name, values[i]));
  return execute(stmt.body, out);
}

Status Interpreter::define_macro(const Stmt& stmt) {
  // The macro and its scopes stay until the render ends.
  std::size_t bytes = sizeof(Macro) + 64;
  for (Scope* scope = scope_; scope != nullptr && !scope->kept; scope = scope->parent) {
    scope->kept = true;
    bytes += sizeof(Scope) + 64;
  }
  ANEMONE_RETURN_IF_ERROR(heap_.take(bytes));
  return scope_->set(heap_, stmt.text,
                     Value::object(std::make_shared<const Macro>(Macro{&stmt, scope_})));
}

Status Interpreter::execute_call_block(const Stmt& stmt, Output& out) {
  ScopeGuard scope(*this);
  ANEMONE_RETURN_IF_ERROR(define_macro(stmt));
  const Value caller = scope_->variables["caller"];
  ANEMONE_ASSIGN_OR_RETURN(const Value callee, evaluate(*stmt.expr->args[0]));
  ANEMONE_ASSIGN_OR_RETURN(CallArgs args, evaluate_arguments(*stmt.expr));
  args.named.emplace_back("caller", caller);
  ANEMONE_ASSIGN_OR_RETURN(const Value value, call(callee, args));
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, to_text(value));
  return out.append(text);
}

Result<Value> Interpreter::call_macro(const Macro& macro, const CallArgs& args) {
  const Stmt& definition = *macro.definition;
  const auto& parameters = definition.parameters;
  if (args.positional.size() > parameters.size())
    return invalid_argument("[chat template] macro {} takes at most {} arguments, got {}",
                            definition.text, parameters.size(), args.positional.size());
  ANEMONE_RETURN_IF_ERROR(charge(kScopeCost + parameters.size() * (args.named.size() + 2) * 10));
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
    ANEMONE_RETURN_IF_ERROR(scope_->set(heap_, name, value));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    if (i < args.positional.size()) {
      ANEMONE_RETURN_IF_ERROR(scope_->set(heap_, parameter.name, args.positional[i]));
    } else if (scope_->variables.count(parameter.name) == 0) {
      ANEMONE_ASSIGN_OR_RETURN(
          Value value,
          heap_.undefined(fmt::format("parameter '{}' was not provided", parameter.name)));
      if (parameter.fallback != nullptr) {
        ANEMONE_ASSIGN_OR_RETURN(value, evaluate(*parameter.fallback));
      }
      ANEMONE_RETURN_IF_ERROR(scope_->set(heap_, parameter.name, std::move(value)));
    }
  }
  Output out(heap_);
  ANEMONE_ASSIGN_OR_RETURN([[maybe_unused]] const Flow flow, execute(definition.body, out));
  return make_text(out.take());
}

}  // namespace anemone::text::jinja
