// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace anemone::checkpoint::onnx {

// One field of a protobuf message in its wire form. Messages are walked where they lie: an ONNX
// file may hold gigabytes of weights, which nobody wants to have a second time.
struct ProtoField {
  int number = 0;
  std::uint64_t value = 0;           // varint, or the bits of a fixed one
  std::span<const std::byte> bytes;  // of a length-delimited one
  bool is_bytes = false;

  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::int64_t integer() const { return static_cast<std::int64_t>(value); }
  float number32() const {
    const auto bits = static_cast<std::uint32_t>(value);
    float out;
    std::memcpy(&out, &bits, sizeof(out));
    return out;
  }
};

// Walks the fields of a message. Single-thread value.
class ProtoFields {
 public:
  ProtoFields(std::span<const std::byte> message, std::string_view subject)
      : rest_(message), subject_(subject) {}

  // false at the end; kCorrupt for what is no protobuf.
  Result<bool> next(ProtoField& field) {
    if (rest_.empty()) return false;
    ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t tag, varint());
    field = {};
    field.number = static_cast<int>(tag >> 3);
    if (tag >> 3 == 0 || tag >> 32 != 0) return damaged();
    switch (tag & 7) {
      case 0: {
        ANEMONE_ASSIGN_OR_RETURN(field.value, varint());
        return true;
      }
      case 1:
        return fixed(8, field.value);
      case 5:
        return fixed(4, field.value);
      case 2: {
        ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t size, varint());
        if (size > rest_.size()) return damaged();
        field.is_bytes = true;
        field.bytes = rest_.first(static_cast<std::size_t>(size));
        rest_ = rest_.subspan(static_cast<std::size_t>(size));
        return true;
      }
      default:
        return damaged();
    }
  }

  // The next varint of a packed list.
  Result<std::uint64_t> varint() {
    std::uint64_t out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return damaged();
      const auto byte = static_cast<std::uint64_t>(rest_.front());
      rest_ = rest_.subspan(1);
      out |= (byte & 0x7f) << shift;
      if (byte < 0x80) return out;
    }
    return damaged();
  }
  bool is_at_end() const { return rest_.empty(); }

 private:
  Result<bool> fixed(std::size_t size, std::uint64_t& out) {
    if (size > rest_.size()) return damaged();
    out = 0;
    std::memcpy(&out, rest_.data(), size);
    rest_ = rest_.subspan(size);
    return true;
  }
  Status damaged() const {
    return corrupt("[{}] expected an ONNX model, got a damaged one", subject_);
  }

  std::span<const std::byte> rest_;
  std::string_view subject_;
};

}  // namespace anemone::checkpoint::onnx
