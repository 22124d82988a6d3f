// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "kernels/reference/constexpr/blocks.h"
#include "kernels/reference/constexpr/constexpr.h"
#include "kernels/reference/constexpr/elements.h"
#include "kernels/reference/constexpr/sparse.h"
#include "tensor/bits.h"

namespace anemone::kernels::reference {

// Each index stands for a vector along `vector_axis`: the mask grows along it, and the vectors'
// elements are put out in the row-major order of the grown mask.
Status constexpr_lut_to_sparse_kernel(const KernelCall& call) {
  const TensorView mask = call.input("indices_mask");
  const TensorView nonzero = call.input("indices_nonzero_data");
  const TensorView lut = call.input("lut");
  const MutableTensorView out_mask = call.output(0);
  const MutableTensorView out = call.output(1);
  const std::size_t rank = mask.shape.size();
  const std::int64_t palettes = lut.shape[rank];
  const std::int64_t vector = lut.shape[rank + 1];
  std::int64_t inner = 1;
  if (vector > 1) {
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                             normalize_axis(call.integer("vector_axis", 0), rank));
    inner = strides_of(mask.shape)[static_cast<std::size_t>(axis)];
  }
  ANEMONE_ASSIGN_OR_RETURN(const auto positions,
                           positions_of(mask, nonzero.size(), "constexpr_lut_to_sparse_c5"));
  std::vector<std::int32_t> indices(positions.size());
  read_indices(nonzero, 0, indices);

  // The source of an element, by its place in the grown tensor.
  struct Element {
    std::int64_t place;
    std::int64_t entry;  // element of the table
  };
  std::vector<Element> elements;
  const BlockMap map(mask.shape, {lut.shape.begin(), lut.shape.end() - 2});
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::int64_t entry = (map.block_of(positions[i]) * palettes + indices[i]) * vector;
    const std::int64_t first = positions[i] / inner * inner * vector + positions[i] % inner;
    for (std::int64_t v = 0; v < vector; ++v) elements.push_back({first + v * inner, entry + v});
  }
  std::sort(elements.begin(), elements.end(),
            [](const Element& a, const Element& b) { return a.place < b.place; });

  std::fill_n(out_mask.data, out_mask.size_bytes(), std::byte{0});
  const auto bytes = static_cast<std::size_t>(dtype_bits(out.dtype) / 8);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::int64_t place = elements[i].place;
    out_mask.data[place / 8] |= std::byte{1} << (place % 8);
    std::memcpy(out.data + i * bytes,
                lut.data + static_cast<std::size_t>(elements[i].entry) * bytes, bytes);
  }
  return {};
}

}  // namespace anemone::kernels::reference
