// SPDX-License-Identifier: Apache-2.0
// Filters over lists as a whole.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/jinja/filter_tools.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"
#include "text/utf8.h"

namespace anemone::text::jinja {
namespace {

// The path in an argument; empty without one.
Result<AttributePath> path_arg(Interpreter& interpreter, const BoundArgs& bound, std::size_t i) {
  if (!bound.has(i) || bound[i].is_none()) return AttributePath();
  return parse_path(interpreter, bound[i]);
}

const Value* optional_arg(const BoundArgs& bound, std::size_t i) {
  return bound.has(i) && !bound[i].is_none() ? &bound[i] : nullptr;
}

Result<std::vector<Value>> keys_of(Interpreter& interpreter, const std::vector<Value>& items,
                                   const AttributePath& path, bool case_sensitive) {
  std::vector<Value> keys;
  keys.reserve(items.size());
  for (const Value& item : items) {
    ANEMONE_ASSIGN_OR_RETURN(Value key, comparison_key(interpreter, item, path, case_sensitive));
    keys.push_back(std::move(key));
  }
  return keys;
}

Result<Value> filter_length(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("length", args, {}).status());
  if (input.is_undefined()) return Value::integer(0);
  if (const std::string* text = input.as_text()) {
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(cost::bytes(text->size())));
    return Value::size(count_code_points(*text));
  }
  if (const Dict* dict = input.as_dict()) return Value::size(dict->size());
  const Sequence* sequence = input.as_sequence();
  if (sequence != nullptr && sequence->kind != SequenceKind::kGenerator)
    return Value::size(sequence->items.size());
  return invalid_argument("[chat template] object of type '{}' has no length", input.type_name());
}

Result<Value> filter_list(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("list", args, {}).status());
  ANEMONE_ASSIGN_OR_RETURN(std::vector<Value> items, interpreter.iterate(input));
  return interpreter.make_sequence(std::move(items));
}

template <bool last>
Result<Value> filter_end(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("first or last", args, {}).status());
  std::vector<Value> copied;
  const std::vector<Value>* items = &copied;
  Sequence* sequence = input.as_sequence();
  if (last && sequence != nullptr && sequence->kind == SequenceKind::kGenerator)
    return invalid_argument("[chat template] 'generator' object is not reversible");
  if (sequence != nullptr && sequence->kind == SequenceKind::kGenerator) {
    if (sequence->next < sequence->items.size()) return sequence->items[sequence->next++];
    ANEMONE_RETURN_IF_ERROR(std::exchange(sequence->end, {}));
  } else if (sequence != nullptr) {
    items = &sequence->items;
  } else {
    ANEMONE_ASSIGN_OR_RETURN(copied, interpreter.iterate(input));
  }
  if (items->empty())
    return interpreter.heap().undefined(last ? "No last item, sequence was empty."
                                             : "No first item, sequence was empty.");
  return last ? items->back() : items->front();
}

Result<Value> filter_join(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("join", args, {"d", "attribute"}));
  std::string separator;
  if (bound.has(0)) {
    ANEMONE_ASSIGN_OR_RETURN(separator, interpreter.to_text(bound[0]));
  }
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.iterate(input));
  ANEMONE_ASSIGN_OR_RETURN(const AttributePath path, path_arg(interpreter, bound, 1));
  Output out(interpreter.heap());
  for (std::size_t i = 0; i < items.size(); ++i) {
    ANEMONE_ASSIGN_OR_RETURN(const Value item, attribute_path(interpreter, items[i], path));
    ANEMONE_ASSIGN_OR_RETURN(const std::string text, interpreter.to_text(item));
    if (i > 0) ANEMONE_RETURN_IF_ERROR(out.append(separator));
    ANEMONE_RETURN_IF_ERROR(out.append(text));
  }
  return interpreter.make_text(out.take());
}

Result<Value> filter_reverse(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("reverse", args, {}).status());
  if (input.is_text())
    return slice(interpreter, input, Value::none(), Value::none(), Value::integer(-1));
  // What cannot be gone through from its end becomes a list.
  const Sequence* sequence = input.as_sequence();
  const bool is_generator = sequence != nullptr && sequence->kind == SequenceKind::kGenerator;
  ANEMONE_ASSIGN_OR_RETURN(std::vector<Value> items, interpreter.iterate(input));
  std::reverse(items.begin(), items.end());
  return interpreter.make_sequence(std::move(items),
                                   is_generator ? SequenceKind::kList : SequenceKind::kGenerator);
}

// The paths of "a.b,c".
Result<std::vector<AttributePath>> path_args(Interpreter& interpreter, const BoundArgs& bound,
                                             std::size_t i) {
  std::vector<AttributePath> paths;
  const std::string* text = bound.has(i) ? bound[i].as_text() : nullptr;
  if (text == nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(AttributePath path, path_arg(interpreter, bound, i));
    paths.push_back(std::move(path));
    return paths;
  }
  for (std::size_t begin = 0; begin <= text->size();) {
    const std::size_t end = std::min(text->find(',', begin), text->size());
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(cost::kItem));
    ANEMONE_ASSIGN_OR_RETURN(const Value part,
                             interpreter.make_text(text->substr(begin, end - begin)));
    ANEMONE_ASSIGN_OR_RETURN(AttributePath path, parse_path(interpreter, part));
    paths.push_back(std::move(path));
    begin = end + 1;
  }
  return paths;
}

Result<Value> filter_sort(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(
      const BoundArgs bound,
      BoundArgs::bind("sort", args, {"reverse", "case_sensitive", "attribute"}));
  ANEMONE_ASSIGN_OR_RETURN(std::vector<Value> items, interpreter.iterate(input));
  ANEMONE_ASSIGN_OR_RETURN(const auto paths, path_args(interpreter, bound, 2));
  // The keys are lists, as in Jinja2: of equal ones, none is asked whether it is less.
  std::vector<Value> keys;
  keys.reserve(items.size());
  for (const Value& item : items) {
    std::vector<Value> parts;
    for (const AttributePath& path : paths) {
      ANEMONE_ASSIGN_OR_RETURN(Value part,
                               comparison_key(interpreter, item, path, bound.flag(1, false)));
      parts.push_back(std::move(part));
    }
    ANEMONE_ASSIGN_OR_RETURN(Value key, interpreter.make_sequence(std::move(parts)));
    keys.push_back(std::move(key));
  }
  ANEMONE_RETURN_IF_ERROR(sort_by_keys(interpreter, items, keys, bound.flag(0, false)));
  return interpreter.make_sequence(std::move(items));
}

Result<Interpreter::Items> unique_items(Interpreter& interpreter, const Value& input,
                                        const BoundArgs& bound) {
  ANEMONE_ASSIGN_OR_RETURN(const AttributePath path, path_arg(interpreter, bound, 1));
  ANEMONE_ASSIGN_OR_RETURN(Interpreter::Items items, interpreter.iterate_until_error(input));
  Dict seen;
  items.keep_if([&](const Value& item) -> Result<bool> {
    ANEMONE_ASSIGN_OR_RETURN(const Value key,
                             comparison_key(interpreter, item, path, bound.flag(0, false)));
    const std::size_t before = seen.size();
    ANEMONE_RETURN_IF_ERROR(seen.set(interpreter.heap(), key, Value::none()));
    return seen.size() > before;
  });
  return items;
}

Result<Value> filter_unique(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("unique", args, {"case_sensitive", "attribute"}));
  return interpreter.make_generator(unique_items(interpreter, input, bound));
}

template <bool largest>
Result<Value> filter_extreme(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("min or max", args, {"case_sensitive", "attribute"}));
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.iterate(input));
  if (items.empty()) return interpreter.heap().undefined("No aggregated item, sequence was empty.");
  ANEMONE_ASSIGN_OR_RETURN(const AttributePath path, path_arg(interpreter, bound, 1));
  ANEMONE_ASSIGN_OR_RETURN(const auto keys,
                           keys_of(interpreter, items, path, bound.flag(0, false)));
  std::size_t best = 0;
  for (std::size_t i = 1; i < items.size(); ++i) {
    ANEMONE_ASSIGN_OR_RETURN(const bool better, largest ? less(interpreter, keys[best], keys[i])
                                                        : less(interpreter, keys[i], keys[best]));
    if (better) best = i;
  }
  return items[best];
}

Result<Value> filter_sum(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("sum", args, {"attribute", "start"}));
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<Value> items, interpreter.iterate(input));
  Value total = bound.has(1) ? bound[1] : Value::integer(0);
  ANEMONE_ASSIGN_OR_RETURN(const AttributePath path, path_arg(interpreter, bound, 0));
  for (const Value& item : items) {
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(cost::kNode));
    ANEMONE_ASSIGN_OR_RETURN(const Value term, attribute_path(interpreter, item, path));
    ANEMONE_ASSIGN_OR_RETURN(total, apply_binary(interpreter, "+", total, term));
  }
  return total;
}

Result<Value> filter_dictsort(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("dictsort", args, {"case_sensitive", "by", "reverse"}));
  ANEMONE_ASSIGN_OR_RETURN(const std::string by, bound.text(interpreter.heap(), 1, "key"));
  if (by != "key" && by != "value")
    return invalid_argument("[chat template] You can only sort by either \"key\" or \"value\"");
  const Dict* dict = input.as_dict();
  if (dict == nullptr)
    return invalid_argument("[chat template] dictsort expected a dict, got {}", input.type_name());
  ANEMONE_ASSIGN_OR_RETURN(std::vector<Value> items, pairs_of(interpreter, *dict));
  const AttributePath path = {Value::integer(by == "key" ? 0 : 1)};
  ANEMONE_ASSIGN_OR_RETURN(const auto keys,
                           keys_of(interpreter, items, path, bound.flag(0, false)));
  ANEMONE_RETURN_IF_ERROR(sort_by_keys(interpreter, items, keys, bound.flag(2, false)));
  return interpreter.make_sequence(std::move(items));
}

Result<Value> filter_items(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_RETURN_IF_ERROR(BoundArgs::bind("items", args, {}).status());
  Interpreter::Items items;
  if (const Dict* dict = input.as_dict()) {
    ANEMONE_ASSIGN_OR_RETURN(items.items, pairs_of(interpreter, *dict));
  } else if (!input.is_undefined()) {
    items.end = invalid_argument("[chat template] Can only get item pairs from a mapping.");
  }
  return interpreter.make_generator(std::move(items));
}

Result<Interpreter::Items> batch_items(Interpreter& interpreter, const Value& input,
                                       const BoundArgs& bound) {
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t count, bound.integer(0, 1));
  if (count < 1 || count > 100'000)
    return invalid_argument("[chat template] batch expected a count from 1 to 100000");
  ANEMONE_ASSIGN_OR_RETURN(Interpreter::Items all, interpreter.iterate_until_error(input));
  const std::vector<Value>& items = all.items;
  const auto width = static_cast<std::size_t>(count);
  // A row is given when the item after it comes.
  const std::size_t end =
      all.end.ok() || items.empty() ? items.size() : (items.size() - 1) / width * width;
  Interpreter::Items rows;
  rows.end = std::move(all.end);
  for (std::size_t at = 0; at < end; at += width) {
    const auto begin = items.begin() + static_cast<std::ptrdiff_t>(at);
    std::vector<Value> row(begin,
                           begin + static_cast<std::ptrdiff_t>(std::min(width, items.size() - at)));
    if (optional_arg(bound, 1) != nullptr) {
      ANEMONE_RETURN_IF_ERROR(interpreter.charge((width - row.size()) * cost::kItem));
      row.resize(width, bound[1]);
    }
    ANEMONE_ASSIGN_OR_RETURN(Value made, interpreter.make_sequence(std::move(row)));
    rows.items.push_back(std::move(made));
  }
  return rows;
}

Result<Value> filter_batch(Interpreter& interpreter, const Value& input, const CallArgs& args) {
  ANEMONE_ASSIGN_OR_RETURN(const BoundArgs bound,
                           BoundArgs::bind("batch", args, {"linecount", "fill_with"}, 1));
  return interpreter.make_generator(batch_items(interpreter, input, bound));
}

constexpr FilterEntry kSequenceFilters[] = {
    {"length", filter_length},      {"count", filter_length},      {"list", filter_list},
    {"first", filter_end<false>},   {"last", filter_end<true>},    {"join", filter_join},
    {"reverse", filter_reverse},    {"sort", filter_sort},         {"unique", filter_unique},
    {"min", filter_extreme<false>}, {"max", filter_extreme<true>}, {"sum", filter_sum},
    {"dictsort", filter_dictsort},  {"items", filter_items},       {"batch", filter_batch},
};

}  // namespace

std::span<const FilterEntry> sequence_filters() {
  return kSequenceFilters;
}

}  // namespace anemone::text::jinja
