// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/columns.h"

#include <cstring>

#include "base/check.h"

namespace anemone::exec::ane_direct {
namespace {

void check_range(const Port& port, std::int64_t count, std::size_t bytes) {
  ANEMONE_CHECK(count >= 0 && count <= port.columns);
  ANEMONE_CHECK(bytes >= static_cast<std::uint64_t>(port.rows) * port.row_bytes);
}

}  // namespace

void pack(const Columns<const Half>& tokens, std::int64_t first, std::int64_t count,
          const Port& port, std::span<std::byte> surface) {
  check_range(port, count, surface.size());
  const auto used = static_cast<std::size_t>(count) * sizeof(Half);
  for (std::int64_t r = 0; r < port.rows; ++r) {
    std::byte* row = surface.data() + static_cast<std::uint64_t>(r) * port.row_bytes;
    const Half* from = tokens.data + r * tokens.row_stride + first * tokens.token_stride;
    if (tokens.token_stride == 1) {
      std::memcpy(row, from, used);
    } else {
      for (std::int64_t t = 0; t < count; ++t)
        std::memcpy(row + t * std::int64_t{sizeof(Half)}, from + t * tokens.token_stride,
                    sizeof(Half));
    }
    std::memset(row + used, 0, port.row_bytes - used);
  }
}

void unpack(std::span<const std::byte> surface, const Port& port, std::int64_t first,
            std::int64_t count, const Columns<Half>& tokens) {
  check_range(port, count, surface.size());
  for (std::int64_t r = 0; r < port.rows; ++r) {
    const std::byte* row = surface.data() + static_cast<std::uint64_t>(r) * port.row_bytes;
    Half* to = tokens.data + r * tokens.row_stride + first * tokens.token_stride;
    if (tokens.token_stride == 1) {
      std::memcpy(to, row, static_cast<std::size_t>(count) * sizeof(Half));
      continue;
    }
    for (std::int64_t t = 0; t < count; ++t)
      std::memcpy(to + t * tokens.token_stride, row + t * std::int64_t{sizeof(Half)}, sizeof(Half));
  }
}

}  // namespace anemone::exec::ane_direct
