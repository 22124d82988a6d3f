// SPDX-License-Identifier: Apache-2.0
// Methods of dict, list and tuple.
#include <algorithm>

#include "base/error.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"

namespace anemone::text::jinja {
namespace {

// A container may not come to contain itself: printing it would not end.
Status check_no_cycle(const void* container, const Value& value) {
  if (!reaches(value, container)) return ok_status();
  return invalid_argument("[chat template] a value cannot contain itself");
}

Result<Value> dict_get(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("get", args, {"key", "default"}, 1));
  const Dict& dict = *self.as_dict();
  if (!bound[0].is_text()) ANEMONE_RETURN_IF_ERROR(interpreter.charge(dict.size()));
  if (const Value* found = dict.find(bound[0])) return *found;
  return bound.has(1) ? bound[1] : Value::none();
}

Result<Value> dict_items(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("items", args, {}).status());
  std::vector<Value> items;
  for (const auto& [key, value] : self.as_dict()->entries())
    items.push_back(Value::sequence({key, value}, SequenceKind::kTuple));
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
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(dict.size()));
  const Value* found = dict.find(bound[0]);
  if (found == nullptr) {
    if (bound.has(1)) return bound[1];
    return invalid_argument("[chat template] pop: there is no such key");
  }
  const Value value = *found;
  dict.erase(bound[0]);
  return value;
}

Result<Value> dict_update(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  Dict& dict = *self.as_dict();
  if (args.positional.size() > 1)
    return invalid_argument("[chat template] update takes at most 1 argument");
  if (!args.positional.empty()) {
    const Dict* other = args.positional[0].as_dict();
    if (other == nullptr)
      return invalid_argument("[chat template] update expected a dict, got {}",
                              args.positional[0].type_name());
    ANEMONE_RETURN_IF_ERROR(check_no_cycle(&dict, args.positional[0]));
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(other->size()));
    for (const auto& [key, value] : other->entries()) dict.set(key, value);
  }
  for (const auto& [name, value] : args.named) {
    ANEMONE_RETURN_IF_ERROR(check_no_cycle(&dict, value));
    dict.set(Value::text(name), value);
  }
  return Value::none();
}

Result<Value> dict_setdefault(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("setdefault", args, {"key", "default"}, 1));
  Dict& dict = *self.as_dict();
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(1));
  if (const Value* found = dict.find(bound[0])) return *found;
  const Value value = bound.has(1) ? bound[1] : Value::none();
  ANEMONE_RETURN_IF_ERROR(check_no_cycle(&dict, value));
  dict.set(bound[0], value);
  return value;
}

Result<Value> dict_copy(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("copy", args, {}).status());
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(self.as_dict()->size()));
  return Value::dict(*self.as_dict());
}

Status check_room(Interpreter& interpreter, const Sequence& list, std::size_t more) {
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(more));
  if (list.items.size() + more <= interpreter.limits().items) return ok_status();
  return invalid_argument("[chat template] expected at most {} items", interpreter.limits().items);
}

Result<Value> list_append(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("append", args, {"item"}, 1));
  Sequence& list = *self.as_sequence();
  ANEMONE_RETURN_IF_ERROR(check_no_cycle(&list, bound[0]));
  ANEMONE_RETURN_IF_ERROR(check_room(interpreter, list, 1));
  list.items.push_back(bound[0]);
  return Value::none();
}

Result<Value> list_extend(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("extend", args, {"items"}, 1));
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.iterate(bound[0]));
  Sequence& list = *self.as_sequence();
  ANEMONE_RETURN_IF_ERROR(check_room(interpreter, list, items.size()));
  for (const Value& item : items) ANEMONE_RETURN_IF_ERROR(check_no_cycle(&list, item));
  list.items.insert(list.items.end(), items.begin(), items.end());
  return Value::none();
}

Result<Value> list_insert(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("insert", args, {"index", "item"}, 2));
  ANEMONE_ASSIGN_OR_RETURN(std::int64_t index, bound.integer(0, 0));
  Sequence& list = *self.as_sequence();
  ANEMONE_RETURN_IF_ERROR(check_no_cycle(&list, bound[1]));
  ANEMONE_RETURN_IF_ERROR(check_room(interpreter, list, 1));
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(list.items.size()));
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
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(static_cast<std::size_t>(length - index)));
  const Value value = list.items[static_cast<std::size_t>(index)];
  list.items.erase(list.items.begin() + index);
  return value;
}

Result<Value> list_reverse(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("reverse", args, {}).status());
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(self.as_sequence()->items.size()));
  std::reverse(self.as_sequence()->items.begin(), self.as_sequence()->items.end());
  return Value::none();
}

Result<Value> list_copy(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("copy", args, {}).status());
  return interpreter.make_sequence(self.as_sequence()->items);
}

Result<Value> list_index(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("index", args, {"item"}, 1));
  const auto& items = self.as_sequence()->items;
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(items.size()));
  for (std::size_t i = 0; i < items.size(); ++i)
    if (equal(items[i], bound[0])) return Value::size(i);
  return invalid_argument("[chat template] index: the item is not in the list");
}

Result<Value> list_count(Interpreter& interpreter, const Value& self, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::bind("count", args, {"item"}, 1));
  const auto& items = self.as_sequence()->items;
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(items.size()));
  return Value::integer(std::count_if(items.begin(), items.end(),
                                      [&](const Value& item) { return equal(item, bound[0]); }));
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
