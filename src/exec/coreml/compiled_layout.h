// SPDX-License-Identifier: Apache-2.0
// The names in a cache of compiled models (compiled_cache.h), for what makes entries and what lists
// and clears them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace anemone::exec::coreml {

inline constexpr std::size_t kKeyDigits = 40;
inline constexpr std::string_view kLockEnding = ".lock";
inline constexpr std::string_view kScratchEnding = ".scratch";  // of base/scratch_folder.h

inline std::string model_of(const std::string& entry) {
  return entry + "/model.mlmodelc";
}
inline std::string marker_of(const std::string& entry) {
  return entry + "/complete";
}
inline std::string source_of(const std::string& entry) {
  return entry + "/source";
}
inline std::string lock_of(const std::string& entry) {
  return entry + std::string(kLockEnding);
}

inline bool is_key(std::string_view name) {
  return name.size() == kKeyDigits &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}
// "KEY.lock"
inline bool is_entry_lock(std::string_view name) {
  return name.ends_with(kLockEnding) && is_key(name.substr(0, name.size() - kLockEnding.size()));
}
// "KEY.N.scratch"
inline bool is_entry_scratch(std::string_view name) {
  if (!name.ends_with(kScratchEnding) || !is_key(name.substr(0, kKeyDigits))) return false;
  name.remove_suffix(kScratchEnding.size());
  name.remove_prefix(kKeyDigits);
  return name.size() > 1 && name.front() == '.' &&
         name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

}  // namespace anemone::exec::coreml
