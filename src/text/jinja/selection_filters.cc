// SPDX-License-Identifier: Apache-2.0
// Filters that look at each item: map, select and their kin.
#include <algorithm>

#include "base/error.h"
#include "text/jinja/filter_tools.h"
#include "text/jinja/filters.h"
#include "text/jinja/interpreter_guards.h"
#include "text/jinja/operators.h"

namespace anemone::text::jinja {
namespace {

constexpr std::size_t kLookupCost = 100;  // of a filter or test by its name

const Value* find_named(const CallArgs& args, std::string_view name) {
  for (const auto& [key, value] : args.named)
    if (key == name) return &value;
  return nullptr;
}

// The arguments from the given one on, for a filter or test that a filter calls: their copy is
// charged, and its memory counts while it lives.
class RestArgs {
 public:
  RestArgs(Interpreter& interpreter, const CallArgs& args, std::size_t from)
      : held_(interpreter.heap(),
              (args.positional.size() + 4 * args.named.size()) * sizeof(Value)) {
    status_ = held_.status();
    if (status_.ok())
      status_ = interpreter.charge((args.positional.size() + 4 * args.named.size()) * cost::kItem);
    if (!status_.ok()) return;
    args_.positional.assign(args.positional.begin() + static_cast<std::ptrdiff_t>(from),
                            args.positional.end());
    args_.named = args.named;
  }
  const Status& status() const { return status_; }
  const CallArgs& operator*() const { return args_; }

 private:
  const HeldBytes held_;
  Status status_;
  CallArgs args_;
};

// What a filter makes that is a generator in Jinja2: it looks at nothing, not even its arguments,
// before somebody asks for the first item.
using ItemsFunction = Result<Interpreter::Items> (*)(Interpreter&, const Value& input,
                                                     const CallArgs&);
template <ItemsFunction make>
Result<Value> filter_lazily(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  if (!input.truthy()) return interpreter.make_generator(Interpreter::Items());
  return interpreter.make_generator(make(interpreter, input, args));
}

// map(attribute="a.b", default=x) or map("filter", arguments ...).
Result<Interpreter::Items> map_items(Interpreter& interpreter, const Value& input,
                                     const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(Interpreter::Items items, interpreter.iterate_until_error(input));
  if (const Value* path = find_named(args, "attribute");
      path != nullptr && args.positional.empty()) {
    const Value* fallback = find_named(args, "default");
    if (args.named.size() > (fallback != nullptr ? 2U : 1U))
      return invalid_argument(
          "[chat template] map with an attribute takes no other argument than default");
    if (fallback != nullptr && fallback->is_none()) fallback = nullptr;
    ANEMONE_ASSIGN_OR_RETURN(const AttributePath parsed, parse_path(interpreter, *path));
    items.transform([&](const Value& item) -> Result<Value> {
      ANEMONE_ASSIGN_OR_RETURN(Value value, attribute_path(interpreter, item, parsed));
      return value.is_undefined() && fallback != nullptr ? *fallback : std::move(value);
    });
    return items;
  }
  const std::string* name = args.positional.empty() ? nullptr : args.positional[0].as_text();
  if (name == nullptr) return invalid_argument("[chat template] map requires a filter argument");
  const RestArgs rest(interpreter, args, 1);
  ANEMONE_RETURN_IF_ERROR(rest.status());
  items.transform([&](const Value& item) -> Result<Value> {
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(kLookupCost));
    return interpreter.call_filter(*name, item, *rest);
  });
  return items;
}

// select(test, ...), reject(test, ...), and with an attribute first selectattr, rejectattr. If no
// test is named, an item passes if it is true.
template <bool by_attribute, bool wanted>
Result<Interpreter::Items> chosen_items(Interpreter& interpreter, const Value& input,
                                        const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(Interpreter::Items items, interpreter.iterate_until_error(input));
  constexpr std::size_t kTestAt = by_attribute ? 1 : 0;
  const std::size_t count = args.positional.size();
  if (count < kTestAt)
    return invalid_argument("[chat template] this filter needs an attribute name");
  const std::string* test = nullptr;
  const RestArgs rest(interpreter, args, std::min(count, kTestAt + 1));
  ANEMONE_RETURN_IF_ERROR(rest.status());
  if (count > kTestAt) {
    test = args.positional[kTestAt].as_text();
    if (test == nullptr) return invalid_argument("[chat template] this filter needs a test name");
  }
  AttributePath path;
  if (by_attribute) {
    ANEMONE_ASSIGN_OR_RETURN(path, parse_path(interpreter, args.positional[0]));
  }
  items.keep_if([&](const Value& item) -> Result<bool> {
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(kLookupCost));
    ANEMONE_ASSIGN_OR_RETURN(const Value tested, attribute_path(interpreter, item, path));
    bool holds = tested.truthy();
    if (test != nullptr) {
      ANEMONE_ASSIGN_OR_RETURN(holds, interpreter.call_test(*test, tested, *rest));
    }
    return holds == wanted;
  });
  return items;
}

// [(key, [items])], sorted by the key.
Result<Value> filter_groupby(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(
      const BoundArgs bound,
      BoundArgs::bind("groupby", args, {"attribute", "default", "case_sensitive"}, 1));
  ANEMONE_ASSIGN_OR_RETURN(std::vector<Value> items, interpreter.iterate(input));
  ANEMONE_ASSIGN_OR_RETURN(const AttributePath path, parse_path(interpreter, bound[0]));
  const bool has_default = bound.has(1) && !bound[1].is_none();
  std::vector<Value> keys;
  for (const Value& item : items) {
    ANEMONE_ASSIGN_OR_RETURN(Value key,
                             comparison_key(interpreter, item, path, bound.flag(2, false)));
    keys.push_back(key.is_undefined() && has_default ? bound[1] : std::move(key));
  }
  std::vector<Value> pairs;
  for (std::size_t i = 0; i < items.size(); ++i) {
    ANEMONE_ASSIGN_OR_RETURN(Value pair,
                             interpreter.make_sequence({keys[i], items[i]}, SequenceKind::kTuple));
    pairs.push_back(std::move(pair));
  }
  ANEMONE_RETURN_IF_ERROR(sort_by_keys(interpreter, pairs, keys, false));
  std::vector<Value> groups;
  for (std::size_t i = 0; i < pairs.size();) {
    const Value key = pairs[i].as_sequence()->items[0];
    std::vector<Value> group;
    for (; i < pairs.size(); ++i) {
      const std::vector<Value>& pair = pairs[i].as_sequence()->items;
      ANEMONE_ASSIGN_OR_RETURN(const bool same, equal(interpreter.heap(), pair[0], key));
      if (!same && !group.empty()) break;
      group.push_back(pair[1]);
    }
    // The name of the group is the attribute as its first item has it.
    ANEMONE_ASSIGN_OR_RETURN(Value name, attribute_path(interpreter, group[0], path));
    if (name.is_undefined() && bound.has(1)) name = bound[1];
    ANEMONE_ASSIGN_OR_RETURN(Value members, interpreter.make_sequence(std::move(group)));
    ANEMONE_ASSIGN_OR_RETURN(
        Value named,
        interpreter.make_sequence({std::move(name), std::move(members)}, SequenceKind::kTuple));
    groups.push_back(std::move(named));
  }
  return interpreter.make_sequence(std::move(groups));
}

constexpr FilterEntry kSelectionFilters[] = {
    {"map", filter_lazily<map_items>},
    {"select", filter_lazily<chosen_items<false, true>>},
    {"reject", filter_lazily<chosen_items<false, false>>},
    {"selectattr", filter_lazily<chosen_items<true, true>>},
    {"rejectattr", filter_lazily<chosen_items<true, false>>},
    {"groupby", filter_groupby},
};

}  // namespace

std::span<const FilterEntry> selection_filters() {
  return kSelectionFilters;
}

}  // namespace anemone::text::jinja
