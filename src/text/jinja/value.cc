// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/value.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/error.h"
#include "text/utf8.h"

namespace anemone::text::jinja {
namespace {

constexpr std::size_t kIndexFrom = 16;  // below it, looking at all keys is faster
constexpr std::size_t kAbsent = SIZE_MAX;

template <typename T>
T* pointee(const Value::Variant& data) {
  const auto* pointer = std::get_if<std::shared_ptr<T>>(&data);
  return pointer == nullptr ? nullptr : pointer->get();
}

bool equal_items(const std::vector<Value>& a, const std::vector<Value>& b, int depth) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!equal(a[i], b[i], depth)) return false;
  return true;
}

bool equal_dicts(const Dict& a, const Dict& b, int depth) {
  if (a.size() != b.size()) return false;
  return std::all_of(a.entries().begin(), a.entries().end(), [&](const auto& entry) {
    const Value* other = b.find(entry.first);
    return other != nullptr && equal(entry.second, *other, depth);
  });
}

}  // namespace

std::size_t Dict::position(std::string_view key) const {
  if (!index_.empty()) {
    const auto it = index_.find(std::string(key));
    return it == index_.end() ? kAbsent : it->second;
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::string* text = entries_[i].first.as_text();
    if (text != nullptr && *text == key) return i;
  }
  return kAbsent;
}

std::size_t Dict::position(const Value& key) const {
  if (const std::string* text = key.as_text()) return position(std::string_view(*text));
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (equal(entries_[i].first, key)) return i;
  return kAbsent;
}

const Value* Dict::find(const Value& key) const {
  const std::size_t at = position(key);
  return at == kAbsent ? nullptr : &entries_[at].second;
}

const Value* Dict::find(std::string_view key) const {
  const std::size_t at = position(key);
  return at == kAbsent ? nullptr : &entries_[at].second;
}

void Dict::set(const Value& key, Value value) {
  if (const std::size_t at = position(key); at != kAbsent) {
    entries_[at].second = std::move(value);
    return;
  }
  entries_.emplace_back(key, std::move(value));
  if (entries_.size() < kIndexFrom) return;
  for (std::size_t i = index_.empty() ? 0 : entries_.size() - 1; i < entries_.size(); ++i)
    if (const std::string* text = entries_[i].first.as_text()) index_.emplace(*text, i);
}

bool Dict::erase(const Value& key) {
  const std::size_t at = position(key);
  if (at == kAbsent) return false;
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
  index_.clear();
  if (entries_.size() < kIndexFrom) return true;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (const std::string* text = entries_[i].first.as_text()) index_.emplace(*text, i);
  return true;
}

void Dict::clear() {
  entries_.clear();
  index_.clear();
}

Value Value::undefined(std::string hint) {
  return Value(Undefined{std::make_shared<const std::string>(std::move(hint))});
}

Value Value::sequence(std::vector<Value> items, SequenceKind kind) {
  return Value(std::make_shared<Sequence>(Sequence{kind, std::move(items)}));
}

const std::string* Value::as_text() const {
  const auto* text = std::get_if<Text>(&data_);
  return text == nullptr ? nullptr : text->get();
}
Sequence* Value::as_sequence() const {
  return pointee<Sequence>(data_);
}
Dict* Value::as_dict() const {
  return pointee<Dict>(data_);
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
  return pointee<const BoundMethod>(data_);
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
  return undefined != nullptr && undefined->hint ? *undefined->hint : "a value is undefined";
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

bool equal(const Value& a, const Value& b, int depth) {
  if (depth > kMaxValueDepth) return false;
  if (a.is_integer() && b.is_integer()) return a.as_integer() == b.as_integer();
  if (a.is_number() && b.is_number()) return a.as_number() == b.as_number();
  if (a.data().index() != b.data().index()) return false;
  if (a.is_undefined() || a.is_none()) return true;
  if (const std::string* text = a.as_text()) return *text == *b.as_text();
  if (const Sequence* sequence = a.as_sequence()) {
    const Sequence* other = b.as_sequence();
    if (sequence == other) return true;
    if (sequence->kind != other->kind || sequence->kind == SequenceKind::kGenerator) return false;
    return equal_items(sequence->items, other->items, depth + 1);
  }
  if (const Dict* dict = a.as_dict())
    return dict == b.as_dict() || equal_dicts(*dict, *b.as_dict(), depth + 1);
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

bool reaches(const Value& value, const void* where, int depth) {
  if (depth > kMaxValueDepth) return true;
  const auto any = [&](const auto& items, auto&& get) {
    return std::any_of(items.begin(), items.end(),
                       [&](const auto& item) { return reaches(get(item), where, depth + 1); });
  };
  const auto second = [](const auto& entry) -> const Value& { return entry.second; };
  if (const Sequence* sequence = value.as_sequence())
    return sequence == where ||
           any(sequence->items, [](const Value& item) -> const Value& { return item; });
  if (const Dict* dict = value.as_dict()) return dict == where || any(dict->entries(), second);
  if (const Namespace* names = value.as_namespace())
    return names == where || any(names->attributes.entries(), second);
  if (const BoundMethod* method = value.as_method())
    return reaches(*method->self, where, depth + 1);
  if (const Loop* loop = value.as_loop())
    return any(loop->items, [](const Value& item) -> const Value& { return item; });
  return false;
}

Result<Value> value_from_json(const Json& json, int depth) {
  if (depth > kMaxValueDepth)
    return invalid_argument("[chat template] expected a value of at most {} levels",
                            kMaxValueDepth);
  switch (json.type()) {
    case Json::value_t::boolean:
      return Value::boolean(json.get<bool>());
    case Json::value_t::number_integer:
      return Value::integer(json.get<std::int64_t>());
    case Json::value_t::number_unsigned:
      return Value::integer(static_cast<Int>(json.get<std::uint64_t>()));
    case Json::value_t::number_float:
      return Value::number(json.get<double>());
    case Json::value_t::string:
      return Value::text(replace_invalid_utf8(json.get_ref<const std::string&>()));
    case Json::value_t::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const Json& item : json) {
        ANEMONE_ASSIGN_OR_RETURN(Value value, value_from_json(item, depth + 1));
        items.push_back(std::move(value));
      }
      return Value::sequence(std::move(items));
    }
    case Json::value_t::object: {
      Dict dict;
      for (const auto& [key, item] : json.items()) {
        ANEMONE_ASSIGN_OR_RETURN(Value value, value_from_json(item, depth + 1));
        dict.set(Value::text(replace_invalid_utf8(key)), std::move(value));
      }
      return Value::dict(std::move(dict));
    }
    default:
      return Value::none();
  }
}

}  // namespace anemone::text::jinja
