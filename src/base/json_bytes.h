// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace anemone {

// About how much memory a document takes, for those who bound it. Recurses as deep as the document,
// which the parser bounds.
inline std::size_t json_bytes(const Json& value) {
  constexpr std::size_t kHeapHeader = 16;  // of a piece of the heap
  std::size_t bytes = sizeof(Json);
  if (const auto* text = value.get_ptr<const Json::string_t*>()) {
    bytes += sizeof(*text) + kHeapHeader + text->size();
  } else if (const auto* items = value.get_ptr<const Json::array_t*>()) {
    bytes += sizeof(*items) + 2 * kHeapHeader;
    for (const Json& item : *items) bytes += json_bytes(item);
  } else if (const auto* object = value.get_ptr<const Json::object_t*>()) {
    bytes += sizeof(*object) + 2 * kHeapHeader;
    for (const auto& [name, member] : *object)
      bytes += sizeof(name) + kHeapHeader + name.size() + json_bytes(member);
  }
  return bytes;
}

}  // namespace anemone
