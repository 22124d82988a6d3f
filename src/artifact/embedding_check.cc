// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "artifact/manifest_check.h"
#include "base/error.h"

namespace anemone::artifact {
namespace {

// Bounds far above what any model needs; below them products of rows and columns cannot overflow.
constexpr std::int64_t kMaxRows = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxLayerColumns = 1 << 26;
// Most scales that the manifest itself holds; more of them lie in the part's file.
constexpr std::size_t kMaxScales = 64;

Status check_blocks(std::string_view subject, std::string_view file, std::string_view what,
                    std::int64_t size, std::int64_t block) {
  if (block >= 1 && size % block == 0) return {};
  return corrupt("[{}] expected the block size in \"{}\" to divide its {} {}, got {}", subject,
                 file, size, what, block);
}

Status check_quantization(const Embedding& embedding, const EmbeddingPart& part,
                          std::string_view subject) {
  const Quantization& quantization = *part.quantization;
  const bool has_palettes = is_palette_index(quantization.dtype);
  if (!has_palettes && quantization.dtype != DType::kInt4 && quantization.dtype != DType::kInt8)
    return corrupt("[{}] expected elements of int4, int8, uint4, uint6 or uint8 in \"{}\", got {}",
                   subject, part.file, dtype_name(quantization.dtype));
  ANEMONE_RETURN_IF_ERROR(
      check_blocks(subject, part.file, "rows", part.rows, quantization.block_rows));
  ANEMONE_RETURN_IF_ERROR(
      check_blocks(subject, part.file, "columns", embedding.columns, quantization.block_columns));
  if (has_palettes && quantization.block_columns != embedding.columns)
    return corrupt("[{}] expected palettes in \"{}\" for all {} columns, got {}", subject,
                   part.file, embedding.columns, quantization.block_columns);
  const std::vector<float>& scales = quantization.scales;
  if (scales.empty()) {
    const auto element = dtype_bytes(embedding.dtype, 1);
    if (quantization.offset % element == 0) return {};
    return corrupt("[{}] expected the offset of scales in \"{}\" to be a multiple of {}, got {}",
                   subject, part.file, element, quantization.offset);
  }
  if (has_palettes || quantization.offset != 0 || scales.size() > kMaxScales ||
      scales.size() != block_values(embedding, part))
    return corrupt(
        "[{}] expected one scale for each block of \"{}\", at most {} and no offset, got {}",
        subject, part.file, kMaxScales, scales.size());
  for (const float scale : scales)
    if (!std::isfinite(scale))
      return corrupt("[{}] expected finite scales of \"{}\", got {}", subject, part.file, scale);
  return {};
}

Status check_table(const Embedding& embedding, std::string_view field, std::string_view subject) {
  if (embedding.dtype != DType::kFp16 && embedding.dtype != DType::kFp32)
    return corrupt("[{}] expected {}.dtype fp16 or fp32, got {}", subject, field,
                   dtype_name(embedding.dtype));
  ANEMONE_RETURN_IF_ERROR(
      check_range(subject, fmt::format("{}.rows", field), embedding.rows, 1, kMaxRows));
  std::int64_t rows = 0;
  for (const EmbeddingPart& part : embedding.parts) {
    if (!is_inner_path(part.file))
      return corrupt("[{}] expected {}.parts to lie in the artifact folder, got \"{}\"", subject,
                     field, part.file);
    ANEMONE_RETURN_IF_ERROR(check_range(subject, fmt::format("rows of \"{}\"", part.file),
                                        part.rows, 1, embedding.rows - rows));
    if (part.quantization) {
      ANEMONE_RETURN_IF_ERROR(check_quantization(embedding, part, subject));
    } else if (const auto element = dtype_bytes(embedding.dtype, 1); part.offset % element != 0) {
      return corrupt("[{}] expected the offset in \"{}\" to be a multiple of {}, got {}", subject,
                     part.file, element, part.offset);
    }
    rows += part.rows;
  }
  if (rows != embedding.rows)
    return corrupt("[{}] expected {}.parts to hold {} rows, got {}", subject, field, embedding.rows,
                   rows);
  return {};
}

}  // namespace

Status check_embeddings(const Manifest& manifest, std::string_view subject) {
  if (manifest.embedding.columns != manifest.hidden_size)
    return corrupt("[{}] expected embedding.columns to equal hidden_size {}, got {}", subject,
                   manifest.hidden_size, manifest.embedding.columns);
  ANEMONE_RETURN_IF_ERROR(check_table(manifest.embedding, "embedding", subject));
  if (!manifest.layer_embedding) return {};
  const Embedding& layers = *manifest.layer_embedding;
  if (layers.columns < 1 || layers.columns % manifest.layers != 0 ||
      layers.columns > kMaxLayerColumns)
    return corrupt(
        "[{}] expected layer_embedding.columns to be a multiple of the {} layers, got {}", subject,
        manifest.layers, layers.columns);
  ANEMONE_RETURN_IF_ERROR(check_table(layers, "layer_embedding", subject));
  if (layers.rows < manifest.embedding.rows)
    return corrupt("[{}] expected layer_embedding.rows to be at least embedding.rows {}, got {}",
                   subject, manifest.embedding.rows, layers.rows);
  return {};
}

}  // namespace anemone::artifact
