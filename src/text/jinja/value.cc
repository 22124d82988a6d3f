// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/error.h"
#include "text/jinja/heap.h"
#include "text/table_hash.h"

namespace anemone::text::jinja {
namespace {

template <typename T>
T* pointee(const Value::Variant& data) {
  const auto* pointer = std::get_if<std::shared_ptr<T>>(&data);
  return pointer == nullptr ? nullptr : pointer->get();
}

Result<bool> equal_items(Heap& heap, const std::vector<Value>& a, const std::vector<Value>& b,
                         int depth) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ANEMONE_ASSIGN_OR_RETURN(const bool same, equal(heap, a[i], b[i], depth));
    if (!same) return false;
  }
  return true;
}

Result<bool> equal_dicts(Heap& heap, const Dict& a, const Dict& b, int depth) {
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.entries()) {
    ANEMONE_ASSIGN_OR_RETURN(const Value* other, b.find(heap, key));
    if (other == nullptr) return false;
    ANEMONE_ASSIGN_OR_RETURN(const bool same, equal(heap, value, *other, depth));
    if (!same) return false;
  }
  return true;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * table_multiplier();
  return hash ^ hash >> 32;
}

// A number and all numbers that are equal to it have the hash of the integer.
std::uint64_t hash_of_integer(Int value) {
  return mix(mix(1, static_cast<std::uint64_t>(value)), static_cast<std::uint64_t>(value >> 64));
}

std::uint64_t hash_of_number(double value) {
  constexpr double kIntegersEnd = 0x1p126;
  if (std::abs(value) < kIntegersEnd && std::trunc(value) == value)
    return hash_of_integer(static_cast<Int>(value));
  return mix(2, std::bit_cast<std::uint64_t>(value));
}

constexpr std::size_t kCompareCost = 20;

}  // namespace

Status too_deep() {
  return invalid_argument("[chat template] expected a value of at most {} levels", kMaxValueDepth);
}

void Sequence::clear() {
  items.clear();
}
void DictObject::clear() {
  dict.clear();
}
void Namespace::clear() {
  attributes.clear();
}
void BoundMethod::clear() {
  self = Value();
}
void Loop::finish() {
  next = items.size();
  generator.reset();
  end = {};
  statement = nullptr;
  scope = nullptr;
}
void Loop::clear() {
  items.clear();
  generator.reset();
  last_changed.reset();
}

const std::string* Value::as_text() const {
  const auto* text = std::get_if<Text>(&data_);
  return text == nullptr ? nullptr : &(*text)->text;
}
Sequence* Value::as_sequence() const {
  return pointee<Sequence>(data_);
}
Dict* Value::as_dict() const {
  DictObject* object = pointee<DictObject>(data_);
  return object == nullptr ? nullptr : &object->dict;
}
Container* Value::as_container() const {
  if (Sequence* sequence = pointee<Sequence>(data_)) return sequence;
  if (DictObject* dict = pointee<DictObject>(data_)) return dict;
  return pointee<Namespace>(data_);
}
Namespace* Value::as_namespace() const {
  return pointee<Namespace>(data_);
}
Loop* Value::as_loop() const {
  return pointee<Loop>(data_);
}
const Macro* Value::as_macro() const {
  return pointee<const Macro>(data_);
}
const Function* Value::as_function() const {
  return pointee<const Function>(data_);
}
const BoundMethod* Value::as_method() const {
  return pointee<BoundMethod>(data_);
}

Int Value::as_integer() const {
  if (const auto* flag = std::get_if<bool>(&data_)) return *flag ? 1 : 0;
  return std::get<Int>(data_);
}

double Value::as_number() const {
  if (const auto* number = std::get_if<double>(&data_)) return *number;
  return static_cast<double>(as_integer());
}

std::string Value::undefined_hint() const {
  const auto* undefined = std::get_if<Undefined>(&data_);
  return undefined != nullptr && undefined->hint ? undefined->hint->text : "a value is undefined";
}

bool Value::truthy() const {
  if (is_undefined() || is_none()) return false;
  if (is_integer()) return as_integer() != 0;
  if (is_float()) return as_number() != 0;
  if (const std::string* text = as_text()) return !text->empty();
  if (const Sequence* sequence = as_sequence())
    return sequence->kind == SequenceKind::kGenerator || !sequence->items.empty();
  if (const Dict* dict = as_dict()) return dict->size() > 0;
  return true;
}

std::string_view Value::type_name() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (is_bool()) return "bool";
  if (is_integer()) return "int";
  if (is_float()) return "float";
  if (is_text()) return "str";
  if (const Sequence* sequence = as_sequence()) {
    if (sequence->kind == SequenceKind::kList) return "list";
    return sequence->kind == SequenceKind::kTuple ? "tuple" : "generator";
  }
  if (as_dict() != nullptr) return "dict";
  if (as_namespace() != nullptr) return "Namespace";
  if (as_macro() != nullptr) return "Macro";
  if (as_loop() != nullptr) return "LoopContext";
  return "function";
}

Result<bool> equal(Heap& heap, const Value& a, const Value& b, int depth) {
  if (depth > kMaxValueDepth) return too_deep();
  ANEMONE_RETURN_IF_ERROR(heap.charge(kCompareCost));
  if (a.is_integer() && b.is_integer()) return a.as_integer() == b.as_integer();
  if (a.is_number() && b.is_number()) return a.as_number() == b.as_number();
  if (a.data().index() != b.data().index()) return false;
  if (a.is_undefined() || a.is_none()) return true;
  if (const std::string* text = a.as_text()) {
    const std::string* other = b.as_text();
    if (text == other) return true;
    if (text->size() != other->size()) return false;
    ANEMONE_RETURN_IF_ERROR(heap.charge(cost::compared(text->size())));
    return *text == *other;
  }
  if (const Sequence* sequence = a.as_sequence()) {
    const Sequence* other = b.as_sequence();
    if (sequence == other) return true;
    if (sequence->kind != other->kind || sequence->kind == SequenceKind::kGenerator) return false;
    return equal_items(heap, sequence->items, other->items, depth + 1);
  }
  if (const Dict* dict = a.as_dict()) {
    if (dict == b.as_dict()) return true;
    return equal_dicts(heap, *dict, *b.as_dict(), depth + 1);
  }
  return std::visit(
      [&](const auto& left) {
        using T = std::decay_t<decltype(left)>;
        if constexpr (std::is_same_v<T, Value::Undefined> || std::is_same_v<T, Value::None>)
          return true;
        else
          return left == std::get<T>(b.data());
      },
      a.data());
}

std::uint64_t hash_of_text(std::string_view text) {
  const char* at = text.data();
  std::uint64_t hash = text.size() + 3;
  for (std::size_t left = text.size(); left > 0;) {
    const std::size_t count = std::min<std::size_t>(left, 8);
    std::uint64_t word = 0;
    std::memcpy(&word, at, count);
    hash = mix(hash, word);
    at += count;
    left -= count;
  }
  return hash;
}

Result<std::uint64_t> hash_of(Heap& heap, const Value& key, int depth) {
  if (depth > kMaxValueDepth) return too_deep();
  ANEMONE_RETURN_IF_ERROR(heap.charge(kCompareCost));
  if (const std::string* text = key.as_text()) {
    ANEMONE_RETURN_IF_ERROR(heap.charge(cost::bytes(text->size())));
    return hash_of_text(*text);
  }
  if (key.is_integer()) return hash_of_integer(key.as_integer());
  if (key.is_float()) return hash_of_number(key.as_number());
  const Sequence* sequence = key.as_sequence();
  if (sequence != nullptr && sequence->kind == SequenceKind::kTuple) {
    std::uint64_t hash = sequence->items.size() + 5;
    for (const Value& item : sequence->items) {
      ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t part, hash_of(heap, item, depth + 1));
      hash = mix(hash, part);
    }
    return hash;
  }
  if (key.as_dict() != nullptr || (sequence != nullptr && sequence->kind == SequenceKind::kList))
    return invalid_argument("[chat template] unhashable type: '{}'", key.type_name());
  return std::visit(
      [&](const auto& object) -> std::uint64_t {
        if constexpr (requires { object.get(); })
          return mix(7, reinterpret_cast<std::uintptr_t>(object.get()));
        else
          return mix(11, key.data().index());
      },
      key.data());
}

}  // namespace anemone::text::jinja
