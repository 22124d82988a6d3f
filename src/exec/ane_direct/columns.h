// SPDX-License-Identifier: Apache-2.0
// Activations in the memory of the caller, and in the rows of a surface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "exec/ane_direct/binding_plan.h"
#include "tensor/half.h"

namespace anemone::exec::ane_direct {

// Tokens of `rows` channels each: channel r of token t is data[r * row_stride + t * token_stride].
// The memory is of somebody else.
template <typename Element>
struct Columns {
  Element* data = nullptr;
  std::int64_t row_stride = 1;
  std::int64_t token_stride = 1;
};

// Writes tokens [first, first + count) to columns [0, count) of a surface, and zeros to its other
// columns, which are computed as well.
// `surface` has at least port.rows * port.row_bytes bytes; count <= port.columns.
void pack(const Columns<const Half>& tokens, std::int64_t first, std::int64_t count,
          const Port& port, std::span<std::byte> surface);

// The other way; the remaining columns are not read.
void unpack(std::span<const std::byte> surface, const Port& port, std::int64_t first,
            std::int64_t count, const Columns<Half>& tokens);

}  // namespace anemone::exec::ane_direct
