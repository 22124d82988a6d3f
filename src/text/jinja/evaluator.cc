// SPDX-License-Identifier: Apache-2.0
// Expressions of the Interpreter.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/jinja/filters.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/interpreter_guards.h"
#include "text/jinja/loop_attributes.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/tests.h"
#include "text/jinja/text_tools.h"
#include "text/utf8.h"

namespace anemone::text::jinja {
namespace {

Status undefined_error(const Value& value) {
  return invalid_argument("[chat template] {}", value.undefined_hint());
}

Result<Value> no_attribute(Heap& heap, const Value& value, std::string_view name) {
  return heap.undefined(
      fmt::format("'{} object' has no attribute '{}'", value.type_name(), shown(name)));
}

// The character of `text` at an index that may count from the end.
Result<Value> character_at(Heap& heap, const std::string& text, Int index) {
  ANEMONE_RETURN_IF_ERROR(heap.charge(cost::bytes(text.size())));
  const auto length = static_cast<Int>(count_code_points(text));
  if (index < 0) index += length;
  if (index < 0 || index >= length) return heap.undefined("str object has no such element");
  std::size_t at = 0;
  ANEMONE_RETURN_IF_ERROR(heap.charge(static_cast<std::size_t>(index) * cost::kCharacter));
  for (; index > 0; --index) at += static_cast<std::size_t>(decode_code_point(text, at).length);
  return heap.text(text.substr(at, static_cast<std::size_t>(decode_code_point(text, at).length)));
}

}  // namespace

Result<Value> Interpreter::evaluate(const Expr& expr) {
  const Depth depth(*this);
  ANEMONE_RETURN_IF_ERROR(depth.check());
  ANEMONE_RETURN_IF_ERROR(charge(cost::kNode));
  return evaluate_node(expr);
}

Result<Value> Interpreter::evaluate_node(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kConst:
      return expr.value;
    case ExprKind::kName:
      return lookup(expr.name);
    case ExprKind::kList:
    case ExprKind::kTuple: {
      ANEMONE_ASSIGN_OR_RETURN(std::vector<Value> items, evaluate_all(expr.args, 0));
      return make_sequence(std::move(items), expr.kind == ExprKind::kList ? SequenceKind::kList
                                                                          : SequenceKind::kTuple);
    }
    case ExprKind::kDict:
      return evaluate_dict(expr);
    case ExprKind::kGetAttr: {
      ANEMONE_ASSIGN_OR_RETURN(const Value value, evaluate(*expr.args[0]));
      return get_attribute(value, expr.name);
    }
    case ExprKind::kGetItem: {
      ANEMONE_ASSIGN_OR_RETURN(const Value value, evaluate(*expr.args[0]));
      ANEMONE_ASSIGN_OR_RETURN(const Value key, evaluate(*expr.args[1]));
      return get_item(value, key);
    }
    case ExprKind::kSlice:
      return evaluate_slice(expr);
    case ExprKind::kCall:
      return evaluate_call(expr);
    case ExprKind::kFilter: {
      if (expr.args[0] == nullptr) return evaluate_filter(expr, filter_input_);
      ANEMONE_ASSIGN_OR_RETURN(const Value input, evaluate(*expr.args[0]));
      return evaluate_filter(expr, &input);
    }
    case ExprKind::kTest: {
      ANEMONE_ASSIGN_OR_RETURN(const Value input, evaluate(*expr.args[0]));
      ANEMONE_ASSIGN_OR_RETURN(const CallArgs args, evaluate_arguments(expr));
      ANEMONE_ASSIGN_OR_RETURN(const bool result, expr.test->call(*this, input, args));
      return Value::boolean(result);
    }
    case ExprKind::kNot: {
      ANEMONE_ASSIGN_OR_RETURN(const Value value, evaluate(*expr.args[0]));
      return Value::boolean(!value.truthy());
    }
    case ExprKind::kNegate:
    case ExprKind::kPlus: {
      ANEMONE_ASSIGN_OR_RETURN(const Value value, evaluate(*expr.args[0]));
      if (expr.kind == ExprKind::kNegate || !value.is_number()) return negate(value);
      return value.is_bool() ? Value::integer(value.as_integer()) : value;
    }
    case ExprKind::kAnd:
    case ExprKind::kOr: {
      ANEMONE_ASSIGN_OR_RETURN(Value left, evaluate(*expr.args[0]));
      if (left.truthy() == (expr.kind == ExprKind::kOr)) return left;
      return evaluate(*expr.args[1]);
    }
    case ExprKind::kBinary:
      return evaluate_arithmetic(expr);
    case ExprKind::kCompare:
      return evaluate_compare(expr);
    case ExprKind::kConcat:
      return evaluate_concat(expr);
    case ExprKind::kCondition: {
      ANEMONE_ASSIGN_OR_RETURN(const Value condition, evaluate(*expr.args[1]));
      if (condition.truthy()) return evaluate(*expr.args[0]);
      if (expr.args[2] != nullptr) return evaluate(*expr.args[2]);
      return heap_.undefined("the inline if-expression evaluated to false and has no else");
    }
  }
  return internal_error("[chat template] unknown expression");
}

Result<Value> Interpreter::lookup(const std::string& name) {
  std::size_t scopes = 1;
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent, ++scopes) {
    const auto it = scope->variables.find(name);
    if (it == scope->variables.end()) continue;
    ANEMONE_RETURN_IF_ERROR(charge(scopes * (15 + cost::bytes(name.size()))));
    return it->second;
  }
  ANEMONE_RETURN_IF_ERROR(charge(scopes * (15 + cost::bytes(name.size()))));
  return heap_.undefined(fmt::format("'{}' is undefined", name));
}

Result<std::vector<Value>> Interpreter::evaluate_all(const std::vector<ExprPtr>& args,
                                                     std::size_t from) {
  std::vector<Value> values;
  values.reserve(args.size());
  for (std::size_t i = from; i < args.size(); ++i) {
    ANEMONE_ASSIGN_OR_RETURN(Value value, evaluate(*args[i]));
    values.push_back(std::move(value));
  }
  return values;
}

Result<CallArgs> Interpreter::evaluate_arguments(const Expr& expr) {
  CallArgs args;
  ANEMONE_ASSIGN_OR_RETURN(args.positional, evaluate_all(expr.args, 1));
  for (const auto& [name, arg] : expr.named) {
    ANEMONE_ASSIGN_OR_RETURN(Value value, evaluate(*arg));
    ANEMONE_RETURN_IF_ERROR(charge(cost::kObject + cost::bytes(name.size())));
    args.named.emplace_back(name, std::move(value));
  }
  return args;
}

Result<Value> Interpreter::evaluate_dict(const Expr& expr) {
  Dict dict;
  for (std::size_t i = 0; i + 1 < expr.args.size(); i += 2) {
    ANEMONE_ASSIGN_OR_RETURN(const Value key, evaluate(*expr.args[i]));
    ANEMONE_ASSIGN_OR_RETURN(Value value, evaluate(*expr.args[i + 1]));
    ANEMONE_RETURN_IF_ERROR(dict.set(heap_, key, std::move(value)));
  }
  return heap_.dict(std::move(dict));
}

Result<Value> Interpreter::evaluate_arithmetic(const Expr& expr) {
  ANEMONE_ASSIGN_OR_RETURN(const Value left, evaluate(*expr.args[0]));
  ANEMONE_ASSIGN_OR_RETURN(const Value right, evaluate(*expr.args[1]));
  return apply_binary(*this, expr.name, left, right);
}

Result<Value> Interpreter::evaluate_compare(const Expr& expr) {
  ANEMONE_ASSIGN_OR_RETURN(Value left, evaluate(*expr.args[0]));
  for (std::size_t i = 0; i < expr.names.size(); ++i) {
    ANEMONE_ASSIGN_OR_RETURN(Value right, evaluate(*expr.args[i + 1]));
    ANEMONE_ASSIGN_OR_RETURN(const bool holds, apply_compare(*this, expr.names[i], left, right));
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Interpreter::evaluate_concat(const Expr& expr) {
  Output out(heap_);
  for (const ExprPtr& arg : expr.args) {
    ANEMONE_ASSIGN_OR_RETURN(const Value value, evaluate(*arg));
    if (const std::string* text = value.as_text()) {
      ANEMONE_RETURN_IF_ERROR(out.append(*text));
    } else {
      ANEMONE_ASSIGN_OR_RETURN(const std::string printed, to_text(value));
      ANEMONE_RETURN_IF_ERROR(out.append(printed));
    }
  }
  return make_text(out.take());
}

Result<Value> Interpreter::evaluate_slice(const Expr& expr) {
  ANEMONE_ASSIGN_OR_RETURN(const Value value, evaluate(*expr.args[0]));
  Value bounds[3];
  for (std::size_t i = 0; i < 3; ++i) {
    if (expr.args[i + 1] == nullptr) {
      bounds[i] = Value::none();
    } else {
      ANEMONE_ASSIGN_OR_RETURN(bounds[i], evaluate(*expr.args[i + 1]));
    }
  }
  return slice(*this, value, bounds[0], bounds[1], bounds[2]);
}

Result<Value> Interpreter::evaluate_filter(const Expr& expr, const Value* input) {
  // Arguments may hold a filter block's chain of their own only through evaluate(), which sets it
  // anew.
  const Value kept = input != nullptr ? *input : Value();
  ANEMONE_ASSIGN_OR_RETURN(const CallArgs args, evaluate_arguments(expr));
  return expr.filter->call(*this, kept, args);
}

Result<Value> Interpreter::apply_filter_chain(const Expr& chain, const Value& input) {
  const Value* const outer = std::exchange(filter_input_, &input);
  auto result = evaluate(chain);
  filter_input_ = outer;
  return result;
}

Result<Value> Interpreter::evaluate_call(const Expr& expr) {
  ANEMONE_ASSIGN_OR_RETURN(const Value callee, evaluate(*expr.args[0]));
  ANEMONE_ASSIGN_OR_RETURN(const CallArgs args, evaluate_arguments(expr));
  return call(callee, args);
}

Result<Value> Interpreter::call(const Value& callee, const CallArgs& args) {
  const Depth depth(*this);
  ANEMONE_RETURN_IF_ERROR(depth.check());
  if (callee.is_undefined()) return undefined_error(callee);
  if (const Macro* macro = callee.as_macro()) return call_macro(*macro, args);
  if (const Function* function = callee.as_function()) return function->call(*this, args);
  if (const BoundMethod* method = callee.as_method())
    return call_method(*this, method->self, method->name, args);
  if (Loop* loop = callee.as_loop();
      loop != nullptr && loop->statement != nullptr && loop->statement->recursive) {
    ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("loop", args, {"iterable"}, 1));
    const Stmt& statement = *loop->statement;
    const std::size_t depth0 = loop->depth0 + 1;
    ScopeGuard scope(*this, loop->scope);
    Output out(heap_);
    ANEMONE_RETURN_IF_ERROR(run_loop(statement, bound[0], depth0, out).status());
    return make_text(out.take());
  }
  return invalid_argument("[chat template] '{}' object is not callable", callee.type_name());
}

Result<Value> Interpreter::call_filter(std::string_view name, const Value& input,
                                       const CallArgs& args) {
  // map calls filters, map among them.
  const Depth depth(*this);
  ANEMONE_RETURN_IF_ERROR(depth.check());
  ANEMONE_RETURN_IF_ERROR(charge(cost::bytes(name.size())));
  const FilterEntry* filter = find_filter(name);
  if (filter == nullptr)
    return invalid_argument("[chat template] No filter named '{}'.", shown(name));
  return filter->call(*this, input, args);
}

Result<bool> Interpreter::call_test(std::string_view name, const Value& input,
                                    const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(charge(cost::bytes(name.size())));
  const TestEntry* test = find_test(name);
  if (test == nullptr) return invalid_argument("[chat template] No test named '{}'.", shown(name));
  return test->call(*this, input, args);
}

Result<Value> Interpreter::get_attribute(const Value& value, std::string_view name) {
  if (value.is_undefined()) return undefined_error(value);
  ANEMONE_RETURN_IF_ERROR(charge(cost::kNode + cost::bytes(name.size())));
  if (const Namespace* names = value.as_namespace()) {
    const Value* found = names->attributes.find(name);
    if (found == nullptr) return no_attribute(heap_, value, name);
    return *found;
  }
  if (Loop* loop = value.as_loop()) {
    ANEMONE_ASSIGN_OR_RETURN(const Value attribute, loop_attribute(*this, *loop, name));
    if (!attribute.is_undefined() || name == "previtem" || name == "nextitem") return attribute;
  }
  // getattr comes before the key, as in Jinja2: message.items is the method even if there is such a
  // key.
  if (has_method(value, name)) {
    BoundMethod method;
    method.self = value;
    method.name = name;
    ANEMONE_ASSIGN_OR_RETURN(auto bound, heap_.make(std::move(method), sizeof(BoundMethod) + 64));
    return Value::object(std::move(bound));
  }
  if (const Dict* dict = value.as_dict()) {
    const Value* found = dict->find(name);
    if (found != nullptr) return *found;
    return no_attribute(heap_, value, name);
  }
  if (const Macro* macro = value.as_macro(); macro != nullptr && name == "name")
    return make_text(macro->definition->text);
  return no_attribute(heap_, value, name);
}

Result<Value> Interpreter::get_item(const Value& value, const Value& key) {
  if (value.is_undefined()) return undefined_error(value);
  ANEMONE_RETURN_IF_ERROR(charge(cost::kNode));
  if (const Dict* dict = value.as_dict()) {
    ANEMONE_ASSIGN_OR_RETURN(const Value* found, dict->find(heap_, key));
    if (found != nullptr) return *found;
  }
  if (key.is_integer()) {
    if (const Sequence* sequence = value.as_sequence();
        sequence != nullptr && sequence->kind != SequenceKind::kGenerator) {
      Int index = key.as_integer();
      const auto length = static_cast<Int>(sequence->items.size());
      if (index < 0) index += length;
      if (index >= 0 && index < length) return sequence->items[static_cast<std::size_t>(index)];
      return heap_.undefined(
          fmt::format("{} object has no element {}", value.type_name(), key.as_integer()));
    }
    if (const std::string* text = value.as_text())
      return character_at(heap_, *text, key.as_integer());
  }
  if (const std::string* name = key.as_text()) return get_attribute(value, *name);
  return heap_.undefined(fmt::format("{} object has no such element", value.type_name()));
}

Result<std::vector<Value>> Interpreter::iterate(const Value& value) {
  ANEMONE_ASSIGN_OR_RETURN(Items all, iterate_until_error(value));
  ANEMONE_RETURN_IF_ERROR(std::move(all.end));
  return std::move(all.items);
}

Result<Interpreter::Items> Interpreter::iterate_until_error(const Value& value) {
  Items out;
  std::vector<Value>& items = out.items;
  if (value.is_undefined()) return out;
  if (Sequence* sequence = value.as_sequence()) {
    const auto first = sequence->items.begin() + static_cast<std::ptrdiff_t>(sequence->next);
    ANEMONE_RETURN_IF_ERROR(charge((sequence->items.size() - sequence->next) * cost::kItem));
    items.assign(first, sequence->items.end());
    if (sequence->kind == SequenceKind::kGenerator) {
      sequence->next = sequence->items.size();
      out.end = std::exchange(sequence->end, {});
    }
  } else if (const Dict* dict = value.as_dict()) {
    ANEMONE_RETURN_IF_ERROR(charge(dict->size() * cost::kItem));
    for (const auto& [key, item] : dict->entries()) items.push_back(key);
  } else if (const std::string* text = value.as_text()) {
    ANEMONE_RETURN_IF_ERROR(charge(cost::bytes(text->size())));
    if (count_code_points(*text) > limits().items)
      return invalid_argument("[chat template] expected at most {} items", limits().items);
    for (std::size_t i = 0; i < text->size();) {
      const auto length = static_cast<std::size_t>(decode_code_point(*text, i).length);
      ANEMONE_ASSIGN_OR_RETURN(Value character, make_text(text->substr(i, length)));
      items.push_back(std::move(character));
      i += length;
    }
  } else if (Loop* loop = value.as_loop()) {
    for (bool has_next = true; has_next;) {
      ANEMONE_ASSIGN_OR_RETURN(has_next, ask_next(*loop));
    }
    ANEMONE_RETURN_IF_ERROR(charge(loop->asked * cost::kItem));
    for (std::size_t i = loop->index0 + 1; i < loop->asked; ++i) items.push_back(loop->items[i]);
  } else {
    return invalid_argument("[chat template] '{}' object is not iterable", value.type_name());
  }
  return out;
}

}  // namespace anemone::text::jinja
