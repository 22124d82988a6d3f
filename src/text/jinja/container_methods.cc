// SPDX-License-Identifier: Apache-2.0
// Methods of dict, list and tuple.
#include <algorithm>

#include "base/error.h"
#include "text/jinja/filter_tools.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"

namespace anemone::text::jinja {
namespace {

// Room for one more entry, unless the key is there.
Status put(Interpreter& interpreter, const Value& self, const Value& key, Value value) {
  Dict& dict = *self.as_dict();
  ANEMONE_ASSIGN_OR_RETURN(const Value* found, dict.find(interpreter.heap(), key));
  if (found == nullptr)
    ANEMONE_RETURN_IF_ERROR(interpreter.heap().grow(*self.as_container(), Dict::kEntryBytes));
  return dict.set(interpreter.heap(), key, std::move(value));
}

Result<Value> dict_get(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("get", args, {"key", "default"}, 1));
  ANEMONE_ASSIGN_OR_RETURN(const Value* found, self.as_dict()->find(interpreter.heap(), bound[0]));
  if (found != nullptr) return *found;
  return bound.has(1) ? bound[1] : Value::none();
}

Result<Value> dict_items(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("items", args, {}).status());
  ANEMONE_ASSIGN_OR_RETURN(std::vector<Value> items, pairs_of(interpreter, *self.as_dict()));
  return interpreter.make_sequence(std::move(items));
}

Result<Value> dict_keys(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("keys", args, {}).status());
  std::vector<Value> items;
  for (const auto& entry : self.as_dict()->entries()) items.push_back(entry.first);
  return interpreter.make_sequence(std::move(items));
}

Result<Value> dict_values(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("values", args, {}).status());
  std::vector<Value> items;
  for (const auto& entry : self.as_dict()->entries()) items.push_back(entry.second);
  return interpreter.make_sequence(std::move(items));
}

Result<Value> dict_pop(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("pop", args, {"key", "default"}, 1));
  Dict& dict = *self.as_dict();
  ANEMONE_ASSIGN_OR_RETURN(const Value* found, dict.find(interpreter.heap(), bound[0]));
  if (found == nullptr) {
    if (bound.has(1)) return bound[1];
    return invalid_argument("[chat template] pop: there is no such key");
  }
  const Value value = *found;
  ANEMONE_RETURN_IF_ERROR(dict.erase(interpreter.heap(), bound[0]).status());
  return value;
}

Result<Value> dict_update(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  if (args.positional.size() > 1)
    return invalid_argument("[chat template] update takes at most 1 argument");
  if (!args.positional.empty()) {
    const Dict* other = args.positional[0].as_dict();
    if (other == nullptr)
      return invalid_argument("[chat template] update expected a dict, got {}",
                              args.positional[0].type_name());
    if (other != self.as_dict())
      for (const auto& [key, value] : other->entries())
        ANEMONE_RETURN_IF_ERROR(put(interpreter, self, key, value));
  }
  for (const auto& [name, value] : args.named) {
    ANEMONE_ASSIGN_OR_RETURN(const Value key, interpreter.make_text(name));
    ANEMONE_RETURN_IF_ERROR(put(interpreter, self, key, value));
  }
  return Value::none();
}

Result<Value> dict_setdefault(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("setdefault", args, {"key", "default"}, 1));
  ANEMONE_ASSIGN_OR_RETURN(const Value* found, self.as_dict()->find(interpreter.heap(), bound[0]));
  if (found != nullptr) return *found;
  const Value value = bound.has(1) ? bound[1] : Value::none();
  ANEMONE_RETURN_IF_ERROR(put(interpreter, self, bound[0], value));
  return value;
}

Result<Value> dict_copy(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("copy", args, {}).status());
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(self.as_dict()->size() * 4 * cost::kItem));
  return interpreter.heap().dict(*self.as_dict());
}

// Charges the memory for `more` items, before they are added: a vector that grows may take twice
// the memory that it needs.
Status make_room(Interpreter& interpreter, Sequence& list, std::size_t more) {
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(more * 2 * cost::kItem));
  if (list.items.size() + more <= interpreter.limits().items)
    return interpreter.heap().grow(list, more * 2 * sizeof(Value));
  return invalid_argument("[chat template] expected at most {} items", interpreter.limits().items);
}

Result<Value> list_append(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("append", args, {"item"}, 1));
  Sequence& list = *self.as_sequence();
  ANEMONE_RETURN_IF_ERROR(make_room(interpreter, list, 1));
  list.items.push_back(bound[0]);
  return Value::none();
}

Result<Value> list_extend(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("extend", args, {"items"}, 1));
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.iterate(bound[0]));
  Sequence& list = *self.as_sequence();
  ANEMONE_RETURN_IF_ERROR(make_room(interpreter, list, items.size()));
  list.items.insert(list.items.end(), items.begin(), items.end());
  return Value::none();
}

Result<Value> list_insert(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("insert", args, {"index", "item"}, 2));
  ANEMONE_ASSIGN_OR_RETURN(std::int64_t index, bound.integer(0, 0));
  Sequence& list = *self.as_sequence();
  ANEMONE_RETURN_IF_ERROR(make_room(interpreter, list, 1));
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(list.items.size() * cost::kItem));
  const auto length = static_cast<std::int64_t>(list.items.size());
  index = std::clamp<std::int64_t>(index < 0 ? index + length : index, 0, length);
  list.items.insert(list.items.begin() + index, bound[1]);
  return Value::none();
}

Result<Value> list_pop(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("pop", args, {"index"}));
  ANEMONE_ASSIGN_OR_RETURN(std::int64_t index, bound.integer(0, -1));
  Sequence& list = *self.as_sequence();
  const auto length = static_cast<std::int64_t>(list.items.size());
  if (index < 0) index += length;
  if (index < 0 || index >= length)
    return invalid_argument("[chat template] pop: the index is out of range");
  ANEMONE_RETURN_IF_ERROR(
      interpreter.charge(static_cast<std::size_t>(length - index) * cost::kItem));
  const Value value = list.items[static_cast<std::size_t>(index)];
  list.items.erase(list.items.begin() + index);
  return value;
}

Result<Value> list_reverse(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("reverse", args, {}).status());
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(self.as_sequence()->items.size() * cost::kItem));
  std::reverse(self.as_sequence()->items.begin(), self.as_sequence()->items.end());
  return Value::none();
}

Result<Value> list_copy(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("copy", args, {}).status());
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(self.as_sequence()->items.size() * cost::kItem));
  return interpreter.make_sequence(self.as_sequence()->items);
}

Result<Value> list_index(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("index", args, {"item"}, 1));
  const auto& items = self.as_sequence()->items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    ANEMONE_ASSIGN_OR_RETURN(const bool same, equal(interpreter.heap(), items[i], bound[0]));
    if (same) return Value::size(i);
  }
  return invalid_argument("[chat template] index: the item is not in the list");
}

Result<Value> list_count(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("count", args, {"item"}, 1));
  std::size_t count = 0;
  for (const Value& item : self.as_sequence()->items) {
    ANEMONE_ASSIGN_OR_RETURN(const bool same, equal(interpreter.heap(), item, bound[0]));
    if (same) ++count;
  }
  return Value::size(count);
}

constexpr MethodEntry kDictMethods[] = {
    {"get", dict_get},   {"items", dict_items},
    {"keys", dict_keys}, {"values", dict_values},
    {"pop", dict_pop},   {"update", dict_update},
    {"copy", dict_copy}, {"setdefault", dict_setdefault},
};
constexpr MethodEntry kListMethods[] = {
    {"append", list_append}, {"extend", list_extend},   {"insert", list_insert},
    {"pop", list_pop},       {"reverse", list_reverse}, {"copy", list_copy},
    {"index", list_index},   {"count", list_count},
};

}  // namespace

const MethodEntry* find_dict_method(std::string_view name) {
  for (const MethodEntry& entry : kDictMethods)
    if (entry.name == name) return &entry;
  return nullptr;
}

const MethodEntry* find_list_method(std::string_view name) {
  for (const MethodEntry& entry : kListMethods)
    if (entry.name == name) return &entry;
  return nullptr;
}

}  // namespace anemone::text::jinja
