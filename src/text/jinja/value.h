// SPDX-License-Identifier: Apache-2.0
// The values of a template: those of Python that Jinja2 templates meet.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"

namespace anemone::text::jinja {

class Value;
class Interpreter;
struct Stmt;
struct Scope;
struct CallArgs;

// Wide enough for every integer of a JSON document; arithmetic beyond it is an error.
using Int = __int128;

// What Python prints as "list" and "tuple", and the lazy result of filters such as map (always
// true, no length).
enum class SequenceKind { kList, kTuple, kGenerator };
struct Sequence {
  SequenceKind kind = SequenceKind::kList;
  std::vector<Value> items;
};

// A dict in insertion order. Text keys are found through an index once there are many.
class Dict {
 public:
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(const Value& key, Value value);
  bool erase(const Value& key);
  void clear();
  const std::vector<std::pair<Value, Value>>& entries() const { return entries_; }
  std::size_t size() const;

 private:
  std::size_t position(const Value& key) const;
  std::size_t position(std::string_view key) const;
  std::vector<std::pair<Value, Value>> entries_;
  std::unordered_map<std::string, std::size_t> index_;  // only when large
};

// namespace(): the one value whose attributes can be set.
struct Namespace {
  Dict attributes;
};

// A macro and the scope it was defined in; both live as long as the render.
struct Macro {
  const Stmt* definition;
  Scope* scope;
};

using NativeFunction = Result<Value> (*)(Interpreter&, const CallArgs&);
struct Function {
  std::string name;
  NativeFunction call;
};

// value.method, not yet called.
struct BoundMethod {
  std::shared_ptr<const Value> self;
  std::string name;
};

// The variable "loop" of a for statement.
struct Loop {
  std::vector<Value> items;
  std::size_t index0 = 0;
  std::size_t depth0 = 0;
  const Stmt* statement = nullptr;  // to call it again in a recursive loop
  Scope* scope = nullptr;
  std::shared_ptr<const Value> last_changed;
};

class Value {
 public:
  struct Undefined {
    std::shared_ptr<const std::string> hint;  // "'x' is undefined", for errors
  };
  struct None {};
  using Text = std::shared_ptr<const std::string>;
  using SequencePtr = std::shared_ptr<Sequence>;
  using DictPtr = std::shared_ptr<Dict>;
  using Variant = std::variant<Undefined, None, bool, Int, double, Text, SequencePtr, DictPtr,
                               std::shared_ptr<Namespace>, std::shared_ptr<const Macro>,
                               std::shared_ptr<const Function>, std::shared_ptr<const BoundMethod>,
                               std::shared_ptr<Loop>>;

  Value() = default;  // undefined
  static Value undefined(std::string hint);
  static Value none() { return Value(None{}); }
  static Value boolean(bool value) { return Value(value); }
  static Value integer(Int value) { return Value(value); }
  static Value size(std::size_t value) { return Value(static_cast<Int>(value)); }
  static Value number(double value) { return Value(value); }
  static Value text(std::string value) {
    return Value(std::make_shared<const std::string>(std::move(value)));
  }
  static Value sequence(std::vector<Value> items, SequenceKind kind = SequenceKind::kList);
  static Value dict(Dict dict) { return Value(std::make_shared<Dict>(std::move(dict))); }
  template <typename T>
  static Value object(std::shared_ptr<T> pointer) {
    return Value(std::move(pointer));
  }

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_text() const { return std::holds_alternative<Text>(data_); }
  bool is_float() const { return std::holds_alternative<double>(data_); }
  // True for bool too, as in Python.
  bool is_integer() const { return is_bool() || std::holds_alternative<Int>(data_); }
  bool is_number() const { return is_integer() || is_float(); }

  // Views of what it holds; nullptr when it is another kind.
  const std::string* as_text() const;
  Sequence* as_sequence() const;
  Dict* as_dict() const;
  Namespace* as_namespace() const;
  Loop* as_loop() const;
  const Macro* as_macro() const;
  const Function* as_function() const;
  const BoundMethod* as_method() const;
  // Only when is_integer(), is_number().
  Int as_integer() const;
  double as_number() const;
  // "'x' is undefined"; only when is_undefined().
  std::string undefined_hint() const;

  bool truthy() const;
  // "str", "int", "list", ... as Python names the type.
  std::string_view type_name() const;
  const Variant& data() const { return data_; }

 private:
  template <typename T>
  explicit Value(T data) : data_(std::move(data)) {}
  Variant data_;
};

// Here because it needs a complete Value.
inline std::size_t Dict::size() const {
  return entries_.size();
}

// Values nested deeper than this cannot be compared, printed or converted.
inline constexpr int kMaxValueDepth = 150;

// Python's ==. False beyond kMaxValueDepth.
bool equal(const Value& a, const Value& b, int depth = 0);
// Whether container `where` occurs inside of `value` (or is it): putting one into the other would
// make a cycle. True beyond kMaxValueDepth.
bool reaches(const Value& value, const void* where, int depth = 0);

// kInvalidArgument when nested too deep.
Result<Value> value_from_json(const Json& json, int depth = 0);

}  // namespace anemone::text::jinja
