// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/filter_tools.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_tools.h"
#include "text/unicode.h"

namespace anemone::text::jinja {

Result<Value> attribute_path(Interpreter& interpreter, const Value& value, const Value& path) {
  if (path.is_integer()) return interpreter.get_item(value, path);
  const std::string* text = path.as_text();
  if (text == nullptr)
    return invalid_argument("[chat template] expected an attribute name, got {}", path.type_name());
  Value current = value;
  for (const std::string& part : split_at(*text, ".", -1)) {
    const bool number =
        !part.empty() && part.size() < 10 &&
        std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    ANEMONE_ASSIGN_OR_RETURN(
        current, interpreter.get_item(
                     current, number ? Value::integer(std::stol(part)) : Value::text(part)));
  }
  return current;
}

Result<Value> comparison_key(Interpreter& interpreter, const Value& value, const Value* path,
                             bool case_sensitive) {
  Value key = value;
  if (path != nullptr && !path->is_none()) {
    ANEMONE_ASSIGN_OR_RETURN(key, attribute_path(interpreter, value, *path));
  }
  if (case_sensitive || !key.is_text()) return key;
  return interpreter.make_text(to_lower(*key.as_text()));
}

Status sort_by_keys(Interpreter& interpreter, std::vector<Value>& items,
                    const std::vector<Value>& keys, bool reverse) {
  // An own merge sort: std::stable_sort must not meet a comparison that fails half-way.
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
