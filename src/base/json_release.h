// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace anemone {

// Takes a document apart, and leaves an empty container or the scalar that it was. The destructor
// of nlohmann's values puts all members into a list first; without memory for that list, the
// process ends. So a document whose size somebody else decides is released with this before it is
// destroyed. The function recurses as deep as the document, which the parser bounds.
inline void release_json(Json& value) noexcept {
  if (auto* const items = value.get_ptr<Json::array_t*>()) {
    for (Json& item : *items) release_json(item);
    items->clear();
  } else if (auto* const object = value.get_ptr<Json::object_t*>()) {
    auto& members = static_cast<Json::object_t::Container&>(*object);
    for (auto& member : members) release_json(member.second);
    members.clear();
  }
}

// Releases a document at the end of its scope. Stands right after the document, which outlives it.
class JsonReleaser {
 public:
  explicit JsonReleaser(Json& value) : value_(value) {}
  ~JsonReleaser() { release_json(value_); }
  JsonReleaser(const JsonReleaser&) = delete;
  JsonReleaser& operator=(const JsonReleaser&) = delete;

 private:
  Json& value_;
};

}  // namespace anemone
