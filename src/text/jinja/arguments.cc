// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/arguments.h"

#include <algorithm>

#include "base/error.h"
#include "text/jinja/heap.h"

namespace anemone::text::jinja {

Result<BoundArgs> BoundArgs::bind(std::string_view function, const CallArgs& args,
                                  std::initializer_list<std::string_view> names,
                                  std::size_t required) {
  BoundArgs bound;
  bound.function_ = function;
  bound.names_ = names;
  bound.values_.resize(names.size());
  if (args.positional.size() > names.size())
    return invalid_argument("[chat template] {} takes at most {} arguments, got {}", function,
                            names.size(), args.positional.size());
  std::copy(args.positional.begin(), args.positional.end(), bound.values_.begin());
  for (const auto& [name, value] : args.named) {
    const auto it = std::find(names.begin(), names.end(), name);
    const auto at = static_cast<std::size_t>(it - names.begin());
    if (it == names.end())
      return invalid_argument("[chat template] {} has no argument {}", function, name);
    if (bound.values_[at])
      return invalid_argument("[chat template] {} got the argument {} twice", function, name);
    bound.values_[at] = value;
  }
  for (std::size_t i = 0; i < required; ++i)
    if (!bound.values_[i])
      return invalid_argument("[chat template] {} needs the argument {}", function,
                              bound.names_[i]);
  return bound;
}

Result<std::string> BoundArgs::text(Heap& heap, std::size_t i, std::string fallback) const {
  if (!has(i) || values_[i]->is_none()) return fallback;
  if (const std::string* text = values_[i]->as_text()) {
    ANEMONE_RETURN_IF_ERROR(heap.charge(cost::bytes(text->size())));
    return *text;
  }
  return invalid_argument("[chat template] {} expected text as {}, got {}", function_, names_[i],
                          values_[i]->type_name());
}

Result<std::int64_t> BoundArgs::integer(std::size_t i, std::int64_t fallback) const {
  if (!has(i) || values_[i]->is_none()) return fallback;
  constexpr Int kLimit = Int(1) << 31;
  if (!values_[i]->is_integer() || values_[i]->as_integer() > kLimit ||
      values_[i]->as_integer() < -kLimit)
    return invalid_argument("[chat template] {} expected a small integer as {}, got {}", function_,
                            names_[i], values_[i]->type_name());
  return static_cast<std::int64_t>(values_[i]->as_integer());
}

}  // namespace anemone::text::jinja
