// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace anemone::exec {

// Working memory of one thread, 64-byte aligned, kept from call to call. One user at a time: the
// next take() ends the one before.
class Scratch {
 public:
  template <typename T>
  T* take(std::int64_t count) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T) + kAlignment;
    if (storage_.size() < bytes) storage_ = std::vector<std::byte>(bytes);
    const auto at = reinterpret_cast<std::uintptr_t>(storage_.data());
    return reinterpret_cast<T*>((at + kAlignment - 1) / kAlignment * kAlignment);
  }

 private:
  static constexpr std::size_t kAlignment = 64;
  std::vector<std::byte> storage_;
};

}  // namespace anemone::exec
