// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace anemone {

// Finds the items of a vector, or the objects that its pointers lead to, by their `name`. The time
// does not grow with their number, which in a file of somebody else may be forty thousand. The
// vector must not change while the index is in use. Read-only, so thread-safe.
template <typename T>
class NameIndex {
 public:
  explicit NameIndex(const std::vector<T>& named) : named_(named) {
    if (named.size() <= kFew) return;
    places_.reserve(named.size());
    for (std::size_t i = 0; i < named.size(); ++i) places_.emplace(name_of(named[i]), i);
  }

  // The place of the first one of that name.
  std::optional<std::size_t> place(std::string_view name) const {
    if (named_.size() > kFew) {
      const auto found = places_.find(name);
      return found == places_.end() ? std::nullopt : std::optional(found->second);
    }
    for (std::size_t i = 0; i < named_.size(); ++i)
      if (name_of(named_[i]) == name) return i;
    return std::nullopt;
  }
  // nullptr when there is none.
  const T* find(std::string_view name) const {
    const auto found = place(name);
    return found ? &named_[*found] : nullptr;
  }

 private:
  static constexpr std::size_t kFew = 16;  // so many names are compared faster than hashed

  static std::string_view name_of(const T& named) {
    if constexpr (std::is_pointer_v<T>)
      return named->name;
    else if constexpr (std::is_convertible_v<const T&, std::string_view>)
      return named;
    else
      return named.name;
  }

  const std::vector<T>& named_;
  std::unordered_map<std::string_view, std::size_t> places_;
};

// The first names of a list, "a, b, c", for an error that says which names exist.
template <typename T>
std::string names_of(const std::vector<T>& named) {
  constexpr std::size_t kMost = 100;
  std::string out;
  for (std::size_t i = 0; i < named.size() && i < kMost; ++i) {
    if (i > 0) out += ", ";
    if constexpr (std::is_convertible_v<const T&, std::string_view>)
      out += named[i];
    else
      out += named[i].name;
  }
  if (named.size() > kMost) out += " and " + std::to_string(named.size() - kMost) + " more";
  return named.empty() ? "none" : out;
}

}  // namespace anemone
