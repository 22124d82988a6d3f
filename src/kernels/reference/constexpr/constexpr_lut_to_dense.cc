// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "kernels/reference/constexpr/blocks.h"
#include "kernels/reference/constexpr/constexpr.h"
#include "kernels/reference/constexpr/elements.h"

namespace anemone::kernels::reference {
namespace {

DType index_dtype(std::int64_t palettes) {
  switch (palettes) {
    case 2:
      return DType::kUInt1;
    case 4:
      return DType::kUInt2;
    case 16:
      return DType::kUInt4;
    case 64:
      return DType::kUInt6;
    default:
      return DType::kUInt8;
  }
}

// Tables of `palettes` vectors of `vector` elements of `bytes` bytes. The elements of a vector are
// `inner` elements apart in the output, where `inner` is the stride of the vector axis.
struct Palette {
  TensorView lut;
  std::size_t bytes;
  std::int64_t palettes, vector, inner;

  void expand_row(const std::vector<std::int32_t>& row, std::int64_t first, const BlockMap& map,
                  std::int64_t block, std::byte* out) const {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const std::int64_t table = block + at / map.run();
      const std::byte* entry =
          lut.data + static_cast<std::size_t>((table * palettes + row[i]) * vector) * bytes;
      const std::int64_t element = first + at;
      const std::int64_t to = element / inner * inner * vector + element % inner;
      for (std::int64_t v = 0; v < vector; ++v)
        std::memcpy(out + static_cast<std::size_t>(to + v * inner) * bytes,
                    entry + static_cast<std::size_t>(v) * bytes, bytes);
    }
  }
};

}  // namespace

Status constexpr_lut_to_dense_kernel(const KernelCall& call) {
  constexpr std::int64_t kGrainElements = 32 * 1024;
  const MutableTensorView out = call.output();
  if (out.size() == 0) return {};
  TensorView indices = call.input("indices");
  Palette palette{call.input("lut"), 0, 0, 1, 1};
  palette.bytes = static_cast<std::size_t>(dtype_bits(palette.lut.dtype) / 8);
  Shape tables;
  if (call.has("shape")) {
    palette.palettes = palette.lut.shape[0];
    indices = as_packed(indices, index_dtype(palette.palettes), out.shape);
    if (out.shape.empty()) indices.shape = {1};
    tables.assign(indices.shape.size(), 1);
  } else {
    const std::size_t rank = indices.shape.size();
    palette.palettes = palette.lut.shape[rank];
    palette.vector = palette.lut.shape[rank + 1];
    tables.assign(palette.lut.shape.begin(), palette.lut.shape.end() - 2);
    if (palette.vector > 1) {
      ANEMONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                               normalize_axis(call.integer("vector_axis", 0), rank));
      palette.inner = strides_of(indices.shape)[static_cast<std::size_t>(axis)];
    }
  }
  const BlockMap map(indices.shape, tables);
  const std::int64_t length = map.row_length();
  call.threads().parallel_for(
      map.rows(), kGrainElements / length, [&](std::int64_t begin, std::int64_t end) {
        std::vector<std::int32_t> row(static_cast<std::size_t>(length));
        for (std::int64_t r = begin; r < end; ++r) {
          read_indices(indices, r * length, row);
          palette.expand_row(row, r * length, map, map.row_block(r), out.data);
        }
      });
  return {};
}

}  // namespace anemone::kernels::reference
