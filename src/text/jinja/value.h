// SPDX-License-Identifier: Apache-2.0
// The values of a template: those of Python that Jinja2 templates meet.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"

namespace anemone::text::jinja {

class Value;
class Heap;
class Interpreter;
struct Stmt;
struct Scope;
struct CallArgs;

// Wide enough for every integer of a JSON document; arithmetic beyond it is an error.
using Int = __int128;

// A value that other values are in. Its heap deletes it; a copy belongs to no heap yet.
class Container {
 public:
  Container() = default;
  Container(Container&&) noexcept {}
  Container& operator=(Container&&) = delete;
  virtual ~Container() = default;
  // Drops the values inside.
  virtual void clear() = 0;

 private:
  friend class Heap;
  Heap* heap_ = nullptr;
  Container* previous_ = nullptr;  // in the heap's lists
  Container* next_ = nullptr;
  std::size_t bytes_ = 0;
  bool is_live_ = false;
};

// A text that counts in its heap; a constant of the template has none.
struct TextObject {
  explicit TextObject(std::string text, Heap* owner = nullptr, std::size_t counted = 0)
      : text(std::move(text)), heap(owner), bytes(counted) {}
  TextObject(const TextObject&) = delete;
  TextObject& operator=(const TextObject&) = delete;
  ~TextObject();

  const std::string text;
  Heap* const heap;
  const std::size_t bytes;
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

// Those that hold values are defined after Value.
class Dict;
struct Sequence;
struct DictObject;
struct Namespace;
struct BoundMethod;
struct Loop;

class Value {
 public:
  struct Undefined {
    std::shared_ptr<const TextObject> hint;  // "'x' is undefined", for errors
  };
  struct None {};
  using Text = std::shared_ptr<const TextObject>;
  using SequencePtr = std::shared_ptr<Sequence>;
  using DictPtr = std::shared_ptr<DictObject>;
  using Variant = std::variant<Undefined, None, bool, Int, double, Text, SequencePtr, DictPtr,
                               std::shared_ptr<Namespace>, std::shared_ptr<const Macro>,
                               std::shared_ptr<const Function>, std::shared_ptr<BoundMethod>,
                               std::shared_ptr<Loop>>;

  Value() = default;  // undefined
  static Value none() { return Value(None{}); }
  static Value boolean(bool value) { return Value(value); }
  static Value integer(Int value) { return Value(value); }
  static Value size(std::size_t value) { return Value(static_cast<Int>(value)); }
  static Value number(double value) { return Value(value); }
  // A constant of a template. Heap makes the texts and containers of a render.
  static Value text(std::string value) {
    return Value(std::make_shared<const TextObject>(std::move(value)));
  }
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
  // The object that holds a list, tuple, dict or namespace.
  Container* as_container() const;
  Namespace* as_namespace() const;
  Loop* as_loop() const;
  const Macro* as_macro() const;
  const Function* as_function() const;
  const BoundMethod* as_method() const;
  // as_integer() requires is_integer(), as_number() requires is_number().
  Int as_integer() const;
  double as_number() const;
  // "'x' is undefined"; only when is_undefined().
  std::string undefined_hint() const;

  bool truthy() const;
  // "str", "int", "list", ... as Python names the type.
  std::string_view type_name() const;
  const Variant& data() const { return data_; }

 private:
  friend class Heap;
  template <typename T>
  explicit Value(T data) : data_(std::move(data)) {}
  Variant data_;
};

// What Python prints as "list" and "tuple", and the lazy result of filters such as map (always
// true, no length). A generator gives each item once; one that is made from another takes all items
// of that at once.
enum class SequenceKind { kList, kTuple, kGenerator };
struct Sequence : Container {
  SequenceKind kind = SequenceKind::kList;
  std::vector<Value> items;
  std::size_t next = 0;  // of a generator: the items before it are taken, and nobody meets them
  // The error that whoever goes beyond the items of a generator meets: the first of an item that
  // could not be made. Jinja2 makes items when they are asked for, so that a loop that is left
  // before does not meet it.
  Status end;
  void clear() override;
};

// A dict in insertion order. Keys are found by a hash, whatever they are, as long as Python could
// hash them: lists and dicts are no keys. The work is charged to the heap.
class Dict {
 public:
  // Bytes of an entry, with its part of the index.
  static constexpr std::size_t kEntryBytes = 160;

  // nullptr when it is not there. kInvalidArgument for a key that cannot be hashed, or a limit.
  Result<const Value*> find(Heap& heap, const Value& key) const;
  // A text key; the caller charges for its length.
  const Value* find(std::string_view key) const;
  Status set(Heap& heap, const Value& key, Value value);
  // False when it was not there. Linear.
  Result<bool> erase(Heap& heap, const Value& key);
  void clear();
  const std::vector<std::pair<Value, Value>>& entries() const { return entries_; }
  std::size_t size() const { return entries_.size(); }

 private:
  Result<std::size_t> position(Heap& heap, const Value& key, std::uint64_t hash) const;
  // The place of the first entry with this hash for which `is_key` holds.
  template <typename Predicate>
  std::size_t probe(std::uint64_t hash, Predicate&& is_key) const;
  void index_all();

  std::vector<std::pair<Value, Value>> entries_;
  std::vector<std::uint64_t> hashes_;  // of the keys
  std::vector<std::uint32_t> slots_;   // hash table: 0 or 1 + index of an entry; empty if few
};

struct DictObject : Container {
  Dict dict;
  void clear() override;
};

// namespace(): the one value whose attributes can be set.
struct Namespace : Container {
  Dict attributes;
  void clear() override;
};

// value.method, not yet called.
struct BoundMethod : Container {
  Value self;
  std::string name;
  void clear() override;
};

// The variable "loop" of a for statement. It asks for its items one by one, as it or its attributes
// come to them: what the body does may decide whether a condition holds.
struct Loop : Container {
  // The first `asked` are items of the loop; those from `next` on were not looked at yet.
  std::vector<Value> items;
  std::size_t asked = 0;
  std::size_t next = 0;
  Value::SequencePtr generator;  // where the items not asked for are taken from, if it is one
  Status end;                    // the error of the item after the last (Sequence::end)
  bool is_asking = false;        // evaluates the condition of an item
  std::size_t index0 = 0;
  std::size_t depth0 = 0;
  // The statement and the scope that it is in, while it runs.
  const Stmt* statement = nullptr;
  Scope* scope = nullptr;
  std::optional<Value> last_changed;  // what changed() was last called with
  // The statement is done: the loop may live on, but its scope does not.
  void finish();
  void clear() override;
};

// Values nested deeper than this cannot be compared, printed or converted.
inline constexpr int kMaxValueDepth = 150;
Status too_deep();

// Python's ==. kInvalidArgument beyond kMaxValueDepth, and for a limit.
Result<bool> equal(Heap& heap, const Value& a, const Value& b, int depth = 0);
// Hash of a value; equal values have equal hashes. kInvalidArgument for lists and dicts, beyond
// kMaxValueDepth, and for a limit.
Result<std::uint64_t> hash_of(Heap& heap, const Value& key, int depth = 0);

// The hash that hash_of() gives for a text. Nobody outside of the process can know which texts
// collide.
std::uint64_t hash_of_text(std::string_view text);
struct TextHash {
  std::size_t operator()(const std::string& text) const { return hash_of_text(text); }
};

}  // namespace anemone::text::jinja
