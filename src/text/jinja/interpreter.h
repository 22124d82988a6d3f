// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/jinja/arguments.h"
#include "text/jinja/ast.h"
#include "text/jinja/civil_time.h"
#include "text/jinja/heap.h"
#include "text/jinja/value.h"

namespace anemone::text::jinja {

// The variables of one block. A macro keeps a pointer to the scope that it was defined in, so a
// scope with macros lives until the render ends.
struct Scope {
  // Counts a name that is new.
  Status set(Heap& heap, const std::string& name, Value value);

  Scope* parent = nullptr;
  std::unordered_map<std::string, Value, TextHash> variables;
  std::size_t counted = 0;  // bytes taken from the heap
  bool kept = false;
};

// Evaluates one template once. Single-thread; the Block must outlive it.
class Interpreter {
 public:
  // `budget` may be null; it outlives the interpreter.
  Interpreter(const Limits& limits, CivilTime now, WorkBudget* budget = nullptr);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // Sets the global functions that templates have, and the members of `context` as variables.
  Status set_globals(const Json& context);
  Status set_global(const std::string& name, Value value);
  Result<std::string> render(const Block& block);

  Result<Value> evaluate(const Expr& expr);
  Result<Value> call(const Value& callee, const CallArgs& args);
  Result<Value> call_filter(std::string_view name, const Value& input, const CallArgs& args);
  Result<bool> call_test(std::string_view name, const Value& input, const CallArgs& args);

  // value.name and value[key] as Jinja2 reads them: a missing member is undefined, any member of an
  // undefined value is an error.
  Result<Value> get_attribute(const Value& value, std::string_view name);
  Result<Value> get_item(const Value& value, const Value& key);
  // The items that a for statement goes through, up to the first one that gives an error; `end` is
  // that error (Sequence::end).
  struct Items {
    std::vector<Value> items;
    Status end;

    // Leaves the items for which `is_wanted` holds, up to its first error.
    template <typename F>
    void keep_if(const F& is_wanted) {
      std::size_t kept = 0;
      for (std::size_t i = 0; i < items.size(); ++i) {
        const Result<bool> wanted = is_wanted(items[i]);
        if (!wanted.ok()) {
          end = wanted.status();
          break;
        }
        if (*wanted) items[kept++] = items[i];
      }
      items.resize(kept);
    }
    // Puts what `f` makes of each item in its place, up to its first error.
    template <typename F>
    void transform(const F& f) {
      for (std::size_t i = 0; i < items.size(); ++i) {
        Result<Value> made = f(items[i]);
        if (!made.ok()) {
          end = made.status();
          items.resize(i);
          return;
        }
        items[i] = std::move(*made);
      }
    }
  };
  // Takes the items of a generator. kInvalidArgument when the value has no items.
  Result<Items> iterate_until_error(const Value& value);
  // Takes the next item of a loop whose condition holds to loop.items; false when there is none.
  Result<bool> ask_next(Loop& loop);
  // All items, or the first error.
  Result<std::vector<Value>> iterate(const Value& value);

  Heap& heap() { return heap_; }
  // Shorthands for functions of the heap, which counts work and memory.
  Status charge(std::size_t units) { return heap_.charge(units); }
  Result<Value> make_text(std::string text) { return heap_.text(std::move(text)); }
  Result<Value> make_sequence(std::vector<Value> items, SequenceKind kind = SequenceKind::kList) {
    return heap_.sequence(std::move(items), kind);
  }
  // A generator that fails at once when there are no items: it looks at nothing before somebody
  // asks for its first item.
  Result<Value> make_generator(Result<Items> items) {
    if (!items.ok()) return heap_.sequence({}, SequenceKind::kGenerator, items.status());
    return heap_.sequence(std::move(items->items), SequenceKind::kGenerator, std::move(items->end));
  }
  // Charges a search of `part_bytes` in `text_bytes`, whose time is their product at worst.
  Status charge_search(std::size_t text_bytes, std::size_t part_bytes);
  // str(value), charged.
  Result<std::string> to_text(const Value& value);

  const Limits& limits() const { return heap_.limits(); }
  const CivilTime& now() const { return now_; }

 private:
  class Depth;
  class ScopeGuard;
  class LoopGuard;
  enum class Flow { kNext, kBreak, kContinue };

  Result<Flow> execute(const Block& block, Output& out);
  Result<Flow> execute(const Stmt& stmt, Output& out);
  Result<Flow> execute_if(const Stmt& stmt, Output& out);
  Result<Flow> execute_for(const Stmt& stmt, Output& out);
  Result<Flow> run_loop(const Stmt& stmt, const Value& iterable, std::size_t depth0, Output& out);
  Result<std::shared_ptr<Loop>> make_loop(const Stmt& stmt, const Value& iterable);
  Result<bool> is_wanted(const Loop& loop, const Value& item);
  Status execute_set(const Stmt& stmt);
  Result<Flow> execute_set_block(const Stmt& stmt);
  Status execute_call_block(const Stmt& stmt, Output& out);
  Result<Flow> execute_with(const Stmt& stmt, Output& out);
  Status define_macro(const Stmt& stmt);
  Status assign(const Target& target, const Value& value);
  Status assign_attribute(const Target& target, const Value& value);

  Result<Value> evaluate_node(const Expr& expr);
  Result<Value> evaluate_arithmetic(const Expr& expr);
  Result<Value> evaluate_compare(const Expr& expr);
  Result<Value> evaluate_concat(const Expr& expr);
  Result<Value> evaluate_slice(const Expr& expr);
  Result<Value> evaluate_filter(const Expr& expr, const Value* input);
  Result<Value> evaluate_dict(const Expr& expr);
  Result<std::vector<Value>> evaluate_all(const std::vector<ExprPtr>& args, std::size_t from);
  Result<CallArgs> evaluate_arguments(const Expr& expr);
  Result<Value> evaluate_call(const Expr& expr);
  Result<Value> lookup(const std::string& name);
  Result<Value> call_macro(const Macro& macro, const CallArgs& args);
  Result<Value> apply_filter_chain(const Expr& chain, const Value& input);

  Heap heap_;  // first: it outlives all values
  CivilTime now_;
  int depth_ = 0;
  Scope globals_;
  Scope* scope_ = &globals_;
  std::vector<std::unique_ptr<Scope>> kept_;
  const Value* filter_input_ = nullptr;  // of the filter chain without its own input
};

}  // namespace anemone::text::jinja
