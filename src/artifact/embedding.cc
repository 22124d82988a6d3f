// SPDX-License-Identifier: Apache-2.0
#include "artifact/embedding.h"

#include <algorithm>

namespace anemone::artifact {

bool is_quantized(const Embedding& embedding) {
  return std::ranges::any_of(
      embedding.parts, [](const EmbeddingPart& part) { return part.quantization.has_value(); });
}

DType element_type(const Embedding& embedding, const EmbeddingPart& part) {
  return part.quantization ? part.quantization->dtype : embedding.dtype;
}

bool is_palette_index(DType dtype) {
  return dtype == DType::kUInt4 || dtype == DType::kUInt6 || dtype == DType::kUInt8;
}

std::uint64_t row_bytes(const Embedding& embedding, const EmbeddingPart& part) {
  return dtype_bytes(element_type(embedding, part),
                     static_cast<std::uint64_t>(part.rows * embedding.columns));
}

std::uint64_t block_values(const Embedding& embedding, const EmbeddingPart& part) {
  if (!part.quantization) return 0;
  const Quantization& quantization = *part.quantization;
  const auto blocks = static_cast<std::uint64_t>(part.rows / quantization.block_rows *
                                                 (embedding.columns / quantization.block_columns));
  return is_palette_index(quantization.dtype) ? blocks << dtype_bits(quantization.dtype) : blocks;
}

std::uint64_t stored_bytes(const Embedding& embedding, const EmbeddingPart& part) {
  const std::uint64_t rows = row_bytes(embedding, part);
  if (part.quantization && !part.quantization->scales.empty()) return rows;
  return rows + dtype_bytes(embedding.dtype, block_values(embedding, part));
}

}  // namespace anemone::artifact
