// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "kernels/reference/constexpr/constexpr.h"
#include "kernels/reference/constexpr/elements.h"
#include "kernels/reference/constexpr/sparse.h"
#include "tensor/bits.h"

namespace anemone::kernels::reference {

Status constexpr_sparse_to_dense_kernel(const KernelCall& call) {
  const MutableTensorView out = call.output();
  const TensorView nonzero = call.input("nonzero_data");
  TensorView mask = call.input("mask");
  if (call.has("shape")) mask = as_packed(mask, DType::kUInt1, out.shape);
  ANEMONE_ASSIGN_OR_RETURN(const auto positions,
                           positions_of(mask, nonzero.size(), "constexpr_sparse_to_dense_c3"));
  if (is_sub_byte(out.dtype)) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(out.size()), 0);
    for (std::size_t i = 0; i < positions.size(); ++i)
      values[static_cast<std::size_t>(positions[i])] =
          unpack_bits(nonzero.bytes(), nonzero.dtype, i);
    pack_bits(values, out.dtype, out.bytes());
    return {};
  }
  const auto bytes = static_cast<std::size_t>(dtype_bits(out.dtype) / 8);
  std::fill_n(out.data, static_cast<std::size_t>(out.size()) * bytes, std::byte{0});
  for (std::size_t i = 0; i < positions.size(); ++i)
    std::memcpy(out.data + static_cast<std::size_t>(positions[i]) * bytes, nonzero.data + i * bytes,
                bytes);
  return {};
}

}  // namespace anemone::kernels::reference
