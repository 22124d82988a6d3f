// SPDX-License-Identifier: Apache-2.0
#include "base/json_reference.h"

#include <nlohmann/json.hpp>

#include "base/ascii.h"

namespace anemone {

bool is_inner_reference(std::string_view reference) {
  return reference == "#" || reference.starts_with("#/");
}

std::optional<std::vector<std::string>> reference_steps(std::string_view reference) {
  const auto pointer = percent_decode(reference.substr(1));
  if (!pointer) return std::nullopt;
  std::vector<std::string> steps;
  for (std::size_t i = 0; i < pointer->size(); ++i) {
    const char c = (*pointer)[i];
    if (c == '/')
      steps.emplace_back();
    else if (c == '~' && i + 1 < pointer->size() && (*pointer)[i + 1] != '/')
      steps.back() += (*pointer)[++i] == '1' ? '/' : '~';
    else
      steps.back() += c;
  }
  return steps;
}

const Json* json_step(const Json& at, const std::string& step) {
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
