// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace anemone::text::jinja {

class Heap;

// The evaluated arguments of a call, a filter or a test.
struct CallArgs {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

// Arguments matched to parameter names, in the order of the names.
class BoundArgs {
 public:
  // kInvalidArgument for too many, unknown or doubled arguments, and when one of the first
  // `required` is missing. `function` names the callee in errors.
  static Result<BoundArgs> bind(std::string_view function, const CallArgs& args,
                                std::initializer_list<std::string_view> names,
                                std::size_t required = 0);

  bool has(std::size_t i) const { return values_[i].has_value(); }
  // Requires has(i).
  const Value& operator[](std::size_t i) const { return *values_[i]; }

  bool flag(std::size_t i, bool fallback) const { return has(i) ? values_[i]->truthy() : fallback; }
  // A copy, charged; the fallback also stands for none. kInvalidArgument when it is not text.
  Result<std::string> text(Heap& heap, std::size_t i, std::string fallback) const;
  // kInvalidArgument when it is not an integer, or beyond +-2^31.
  Result<std::int64_t> integer(std::size_t i, std::int64_t fallback) const;

 private:
  std::string function_;
  std::vector<std::string_view> names_;
  std::vector<std::optional<Value>> values_;
};

}  // namespace anemone::text::jinja
