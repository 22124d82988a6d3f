// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/filter_tools.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "text/jinja/operators.h"
#include "text/unicode.h"

namespace anemone::text::jinja {

Status too_many_parts(Interpreter& interpreter) {
  return invalid_argument("[chat template] expected at most {} items", interpreter.limits().items);
}

Result<AttributePath> parse_path(Interpreter& interpreter, const Value& path) {
  if (path.is_integer()) return AttributePath{path};
  if (path.is_none()) return AttributePath();
  const std::string* text = path.as_text();
  if (text == nullptr)
    return invalid_argument("[chat template] expected an attribute name, got {}", path.type_name());
  AttributePath out;
  for (std::size_t begin = 0; begin <= text->size();) {
    const std::size_t end = std::min(text->find('.', begin), text->size());
    if (out.size() >= interpreter.limits().items) return too_many_parts(interpreter);
    ANEMONE_RETURN_IF_ERROR(interpreter.charge(cost::kObject + cost::bytes(end - begin)));
    const std::string part = text->substr(begin, end - begin);
    const bool number =
        !part.empty() && part.size() < 10 &&
        std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (number) {
      out.push_back(Value::integer(std::stol(part)));
    } else {
      ANEMONE_ASSIGN_OR_RETURN(Value name, interpreter.make_text(part));
      out.push_back(std::move(name));
    }
    begin = end + 1;
  }
  return out;
}

Result<Value> attribute_path(Interpreter& interpreter, const Value& value,
                             const AttributePath& path) {
  Value current = value;
  for (const Value& part : path) {
    ANEMONE_ASSIGN_OR_RETURN(current, interpreter.get_item(current, part));
  }
  return current;
}

Result<Value> comparison_key(Interpreter& interpreter, const Value& value,
                             const AttributePath& path, bool case_sensitive) {
  ANEMONE_ASSIGN_OR_RETURN(Value key, attribute_path(interpreter, value, path));
  if (case_sensitive || !key.is_text()) return key;
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(key.as_text()->size() * cost::kCase));
  return interpreter.make_text(to_lower(*key.as_text()));
}

Result<std::vector<Value>> pairs_of(Interpreter& interpreter, const Dict& dict) {
  std::vector<Value> items;
  items.reserve(dict.size());
  for (const auto& [key, value] : dict.entries()) {
    ANEMONE_ASSIGN_OR_RETURN(Value pair,
                             interpreter.make_sequence({key, value}, SequenceKind::kTuple));
    items.push_back(std::move(pair));
  }
  return items;
}

Status sort_by_keys(Interpreter& interpreter, std::vector<Value>& items,
                    const std::vector<Value>& keys, bool reverse) {
  // An own merge sort: std::stable_sort must not meet a comparison that fails half-way.
  ANEMONE_RETURN_IF_ERROR(interpreter.charge(items.size() * cost::kItem));
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::size_t> merged(order.size());
  for (std::size_t width = 1; width < order.size(); width *= 2) {
    for (std::size_t begin = 0; begin < order.size(); begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, order.size());
      const std::size_t end = std::min(begin + 2 * width, order.size());
      std::size_t left = begin;
      std::size_t right = middle;
      for (std::size_t out = begin; out < end; ++out) {
        bool take_right = left == middle;
        if (left < middle && right < end) {
          const Value& a = keys[order[left]];
          const Value& b = keys[order[right]];
          ANEMONE_ASSIGN_OR_RETURN(take_right,
                                   reverse ? less(interpreter, a, b) : less(interpreter, b, a));
        }
        merged[out] = take_right ? order[right++] : order[left++];
      }
    }
    order.swap(merged);
  }
  std::vector<Value> sorted;
  sorted.reserve(items.size());
  for (const std::size_t at : order) sorted.push_back(std::move(items[at]));
  items = std::move(sorted);
  return ok_status();
}

}  // namespace anemone::text::jinja
