// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace anemone {

// The name by which an item is found. A type whose `name` is another member has its own name_of()
// in its namespace.
template <typename T>
std::string_view name_of(const T& named) {
  if constexpr (std::is_pointer_v<T>)
    return named->name;
  else if constexpr (std::is_convertible_v<const T&, std::string_view>)
    return named;
  else
    return named.name;
}

// The place of the first one of that name.
template <typename T>
std::optional<std::size_t> first_place(std::span<const T> named, std::string_view name) {
  for (std::size_t i = 0; i < named.size(); ++i)
    if (name_of(named[i]) == name) return i;
  return std::nullopt;
}

// Finds the items of a vector, or the objects that its pointers lead to, by their names. The time
// does not grow with their number, which in a file of somebody else may be forty thousand. The
// vector must not change while the index is in use. Read-only, so thread-safe.
template <typename T>
class NameIndex {
 public:
  explicit NameIndex(std::span<const T> named) : named_(named) {
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
    return first_place(named_, name);
  }
  // nullptr when there is none.
  const T* find(std::string_view name) const {
    const auto found = place(name);
    return found ? &named_[*found] : nullptr;
  }

 private:
  static constexpr std::size_t kFew = 16;  // so many names are compared faster than hashed

  const std::span<const T> named_;
  std::unordered_map<std::string_view, std::size_t> places_;
};
template <typename T>
NameIndex(const std::vector<T>&) -> NameIndex<T>;

// Finds the items of a vector whose names mostly come in its order, each once: then one comparison
// finds it. The rules of NameIndex hold. For one thread at a time.
template <typename T>
class NameCursor {
 public:
  explicit NameCursor(std::span<const T> named) : named_(named) {}

  std::optional<std::size_t> place(std::string_view name) {
    std::optional<std::size_t> found;
    if (next_ < named_.size() && name_of(named_[next_]) == name)
      found = next_;
    else if (named_.size() <= kFew)
      found = first_place(named_, name);
    else
      found = (index_ ? *index_ : index_.emplace(named_)).place(name);
    if (found) next_ = *found + 1;
    return found;
  }
  // nullptr when there is none.
  const T* find(std::string_view name) {
    const auto found = place(name);
    return found ? &named_[*found] : nullptr;
  }

 private:
  // An index of so many names costs more than a few searches.
  static constexpr std::size_t kFew = 256;

  const std::span<const T> named_;
  std::size_t next_ = 0;
  std::optional<NameIndex<T>> index_;
};
template <typename T>
NameCursor(const std::vector<T>&) -> NameCursor<T>;

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
