// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace anemone::exec {

// Working memory of one thread, 64-byte aligned, not set to zero, kept from call to call. One user
// at a time: the next take() ends the one before.
class Scratch {
 public:
  template <typename T>
  T* take(std::int64_t count) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T) + kAlignment;
    if (bytes_ < bytes) {
      storage_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      bytes_ = bytes;
    }
    return taken<T>();
  }
  // What the last take() gave.
  template <typename T>
  T* taken() const {
    const auto at = reinterpret_cast<std::uintptr_t>(storage_.get());
    return reinterpret_cast<T*>((at + kAlignment - 1) / kAlignment * kAlignment);
  }

 private:
  static constexpr std::size_t kAlignment = 64;
  std::unique_ptr<std::byte[]> storage_;
  std::size_t bytes_ = 0;
};

}  // namespace anemone::exec
