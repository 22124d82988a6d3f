// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace anemone {

static_assert(std::endian::native == std::endian::little,
              "all file formats here are little-endian");

// A bounds-checked cursor over bytes that someone else owns. `subject` (a file name) starts each
// error. Single-thread value.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string subject)
      : bytes_(bytes), subject_(std::move(subject)) {}

  std::span<const std::byte> bytes() const { return bytes_; }
  std::size_t offset() const { return offset_; }
  const std::string& subject() const { return subject_; }
  std::size_t remaining() const { return bytes_.size() - offset_; }
  // True once something was asked for that lies past the end: the bytes are not all there, or a
  // length in them is wrong.
  bool ran_out() const { return ran_out_; }
  // Sets ran_out(), for a reader that compares a count with remaining() itself.
  void mark_ran_out() { ran_out_ = true; }

  Status seek(std::uint64_t offset) {
    if (offset > bytes_.size())
      return corrupt("[{}] offset {} lies past the end ({} bytes)", subject_, offset,
                     bytes_.size());
    offset_ = static_cast<std::size_t>(offset);
    return {};
  }

  // Little-endian scalar; kCorrupt past the end. The cursor does not move on failure.
  template <typename T>
  Result<T> read() {
    static_assert(std::is_trivially_copyable_v<T>);
    if (remaining() < sizeof(T)) return truncated(sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  // A view of the next `size` bytes.
  Result<std::span<const std::byte>> take(std::uint64_t size) {
    if (size > remaining()) return truncated(size);
    auto part = bytes_.subspan(offset_, static_cast<std::size_t>(size));
    offset_ += static_cast<std::size_t>(size);
    return part;
  }

  Result<std::string_view> take_text(std::uint64_t size) {
    ANEMONE_ASSIGN_OR_RETURN(auto part, take(size));
    return std::string_view(reinterpret_cast<const char*>(part.data()), part.size());
  }

 private:
  Status truncated(std::uint64_t wanted) {
    ran_out_ = true;
    return corrupt("[{}] expected {} more bytes at offset {}, got {}", subject_, wanted, offset_,
                   remaining());
  }

  std::span<const std::byte> bytes_;
  std::string subject_;
  std::size_t offset_ = 0;
  bool ran_out_ = false;
};

}  // namespace anemone
