// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/constexpr/elements.h"

#include <algorithm>

#include "tensor/bits.h"

namespace anemone::kernels::reference {
namespace {

// Calls f(i, element) for elements begin + i of a packed or 8-bit integer tensor.
template <typename F>
void for_integers(const TensorView& view, std::int64_t begin, std::size_t count, F&& f) {
  const std::byte* data = view.data;
  switch (view.dtype) {
    case DType::kInt8:
      for (std::size_t i = 0; i < count; ++i)
        f(i, reinterpret_cast<const std::int8_t*>(data)[begin + static_cast<std::int64_t>(i)]);
      return;
    case DType::kUInt8:
      for (std::size_t i = 0; i < count; ++i)
        f(i, reinterpret_cast<const std::uint8_t*>(data)[begin + static_cast<std::int64_t>(i)]);
      return;
    case DType::kInt4:
    case DType::kUInt4: {
      // Sign extension of a nibble: flip its top bit, then subtract that bit.
      const int flip = view.dtype == DType::kInt4 ? 8 : 0;
      for (std::size_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(begin) + i;
        const int nibble = (std::to_integer<int>(data[at / 2]) >> (at % 2 * 4)) & 15;
        f(i, (nibble ^ flip) - flip);
      }
      return;
    }
    default: {
      const std::span<const std::byte> packed = view.bytes();
      for (std::size_t i = 0; i < count; ++i)
        f(i, unpack_bits(packed, view.dtype, static_cast<std::uint64_t>(begin) + i));
    }
  }
}

}  // namespace

void read_floats(const TensorView& view, std::int64_t begin, std::span<float> out) {
  const auto first = static_cast<std::size_t>(begin);
  if (view.dtype == DType::kFp16) {
    to_floats(std::span(reinterpret_cast<const Half*>(view.data) + first, out.size()), out);
  } else if (view.dtype == DType::kFp32) {
    const auto* from = reinterpret_cast<const float*>(view.data) + first;
    std::copy(from, from + out.size(), out.begin());
  } else {
    for_integers(view, begin, out.size(),
                 [&](std::size_t i, int value) { out[i] = static_cast<float>(value); });
  }
}

void read_indices(const TensorView& view, std::int64_t begin, std::span<std::int32_t> out) {
  for_integers(view, begin, out.size(), [&](std::size_t i, int value) { out[i] = value; });
}

void write_floats(std::span<const float> in, const MutableTensorView& view, std::int64_t begin) {
  const auto first = static_cast<std::size_t>(begin);
  if (view.dtype == DType::kFp16)
    to_halves(in, view.as<Half>().subspan(first, in.size()));
  else
    std::copy(in.begin(), in.end(), view.as<float>().subspan(first, in.size()).begin());
}

TensorView as_packed(const TensorView& bytes, DType dtype, const Shape& shape) {
  return {dtype, shape, bytes.data};
}

}  // namespace anemone::kernels::reference
