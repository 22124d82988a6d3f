// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace anemone {

// Whether a reference is to a place of the document that it stands in: "#" or "#/a/0".
inline bool is_inner_reference(std::string_view reference) {
  return reference == "#" || reference.starts_with("#/");
}

// The steps of such a reference, a JSON pointer (RFC 6901) as the fragment of a URI, from the root
// to its place; nullopt where a percent sign has no two hex digits behind it.
inline std::optional<std::vector<std::string>> reference_steps(std::string_view reference) {
  std::vector<std::string> steps;
  for (std::size_t i = 1; i < reference.size(); ++i) {
    const char c = reference[i];
    if (c == '/') {
      steps.emplace_back();
    } else if (c == '~' && i + 1 < reference.size() && reference[i + 1] != '/') {
      steps.back() += reference[++i] == '1' ? '/' : '~';
    } else if (c == '%') {  // a percent-encoded byte of the fragment
      unsigned byte = 0;
      const char* first = reference.data() + i + 1;
      if (i + 2 >= reference.size() || std::from_chars(first, first + 2, byte, 16).ptr != first + 2)
        return std::nullopt;
      steps.back() += static_cast<char>(byte);
      i += 2;
    } else {
      steps.back() += c;
    }
  }
  return steps;
}

// The member of this name, or the element of this index; null where there is none. Takes time
// linear in the members of an object.
inline const Json* json_step(const Json& at, const std::string& step) {
  if (at.is_object()) {
    const auto found = at.find(step);
    return found == at.end() ? nullptr : &*found;
  }
  const bool is_index = at.is_array() && !step.empty() && step.size() <= 6 &&
                        step.find_first_not_of("0123456789") == step.npos;
  if (!is_index) return nullptr;
  const auto index = static_cast<std::size_t>(std::stoul(step));
  return index < at.size() ? &at[index] : nullptr;
}

}  // namespace anemone
