// SPDX-License-Identifier: Apache-2.0
#include "engine/model/embedding_table.h"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/inner_file.h"
#include "tensor/bits.h"
#include "tensor/half.h"

namespace anemone::engine {
namespace {

// A row becomes a column whose elements lie `tokens` apart.
template <typename To, typename From>
void scatter(std::span<const From> row, std::span<To> out, std::size_t column, std::size_t tokens) {
  for (std::size_t c = 0; c < row.size(); ++c) {
    if constexpr (std::is_same_v<To, From>)
      out[c * tokens + column] = row[c];
    else if constexpr (std::is_same_v<To, float>)
      out[c * tokens + column] = to_float(row[c]);
    else
      out[c * tokens + column] = to_half(row[c]);
  }
}

// Elements [first, first + out.size()) of packed integers.
void read_integers(std::span<const std::byte> packed, DType dtype, std::size_t first,
                   std::span<std::int32_t> out) {
  switch (dtype) {
    case DType::kInt8:
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = std::to_integer<std::int8_t>(packed[first + i]);
      return;
    case DType::kUInt8:
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = std::to_integer<std::uint8_t>(packed[first + i]);
      return;
    case DType::kInt4:
    case DType::kUInt4: {
      // Sign extension of a nibble: flip its top bit, then subtract that bit.
      const int flip = dtype == DType::kInt4 ? 8 : 0;
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::size_t at = first + i;
        const int nibble = (std::to_integer<int>(packed[at / 2]) >> (at % 2 * 4)) & 15;
        out[i] = (nibble ^ flip) - flip;
      }
      return;
    }
    default:
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = unpack_bits(packed, dtype, first + i);
  }
}

// A range of the file; kCorrupt if the file is too short. `what` names the range in the error.
Result<std::span<const std::byte>> bytes_of(const MappedFile& file, std::uint64_t offset,
                                            std::uint64_t bytes, const std::string& what) {
  const std::uint64_t size = file.bytes().size();
  if (offset <= size && bytes <= size - offset)
    return file.bytes().subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes));
  return corrupt("[{}] expected {} bytes from byte {} for {}, got a file of {} bytes", file.path(),
                 bytes, offset, what, size);
}

}  // namespace

Result<EmbeddingTable> EmbeddingTable::open(const std::string& folder,
                                            const artifact::Embedding& embedding) {
  EmbeddingTable table;
  table.dtype_ = embedding.dtype;
  table.columns_ = embedding.columns;
  std::int64_t end = 0;
  for (const artifact::EmbeddingPart& part : embedding.parts) {
    ANEMONE_ASSIGN_OR_RETURN(const std::string path, inner_file(folder, part.file));
    ANEMONE_ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
    const DType dtype = artifact::element_type(embedding, part);
    Part own;
    end += part.rows;
    own.end = end;
    own.quantization = part.quantization;
    ANEMONE_ASSIGN_OR_RETURN(
        own.bytes, bytes_of(*file, part.offset, artifact::row_bytes(embedding, part),
                            fmt::format("{} rows of {} in {}", part.rows, embedding.columns,
                                        dtype_name(dtype))));
    if (part.quantization && part.quantization->scales.empty()) {
      const std::uint64_t values = artifact::block_values(embedding, part);
      ANEMONE_ASSIGN_OR_RETURN(
          own.blocks,
          bytes_of(*file, part.quantization->offset, dtype_bytes(embedding.dtype, values),
                   fmt::format("{} {} in {}", values,
                               artifact::is_palette_index(dtype) ? "values of palettes" : "scales",
                               dtype_name(embedding.dtype))));
    }
    own.file = std::move(file);
    table.parts_.push_back(std::move(own));
  }
  return table;
}

template <typename From>
void EmbeddingTable::decode(const Part& part, std::int64_t row, std::int64_t first_column,
                            std::span<From> out) const {
  const artifact::Quantization& quantization = *part.quantization;
  std::vector<std::int32_t> elements(out.size());
  read_integers(part.bytes, quantization.dtype,
                static_cast<std::size_t>(row * columns_ + first_column), elements);
  const auto* blocks = reinterpret_cast<const From*>(part.blocks.data());
  const auto block_columns = static_cast<std::size_t>(quantization.block_columns);
  const std::size_t first_block = static_cast<std::size_t>(row / quantization.block_rows) *
                                  (static_cast<std::size_t>(columns_) / block_columns);
  if (artifact::is_palette_index(quantization.dtype)) {
    // A palette spans all columns of its block_rows rows (artifact::Quantization).
    const From* palette = blocks + (first_block << dtype_bits(quantization.dtype));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = palette[elements[i]];
    return;
  }
  const auto scale_of = [&](std::size_t block) {
    if (!quantization.scales.empty()) return quantization.scales[block];
    if constexpr (std::is_same_v<From, float>)
      return blocks[block];
    else
      return to_float(blocks[block]);
  };
  const auto first = static_cast<std::size_t>(first_column);
  for (std::size_t i = 0; i < out.size();) {
    const std::size_t block = (first + i) / block_columns;
    const std::size_t end = std::min(out.size(), (block + 1) * block_columns - first);
    const float scale = scale_of(first_block + block);
    for (; i < end; ++i) {
      const float value = scale * static_cast<float>(elements[i]);
      if constexpr (std::is_same_v<From, float>)
        out[i] = value;
      else
        out[i] = to_half(value);
    }
  }
}

template <typename From, typename To>
void EmbeddingTable::look_up_as(std::span<const std::int32_t> ids, std::int64_t first_column,
                                std::size_t tokens, std::span<To> out) const {
  const std::size_t columns = out.size() / tokens;
  std::vector<From> decoded;
  for (std::size_t t = 0; t < tokens; ++t) {
    const std::int64_t id = ids[std::min(t, ids.size() - 1)];
    std::size_t part = 0;
    while (id >= parts_[part].end) ++part;
    const std::int64_t row = part == 0 ? id : id - parts_[part - 1].end;
    const From* values = nullptr;
    if (parts_[part].quantization) {
      // Columns after the last id are padding; they repeat its row, which is decoded already.
      if (t < ids.size()) {
        decoded.resize(columns);
        decode<From>(parts_[part], row, first_column, decoded);
      }
      values = decoded.data();
    } else {
      values = reinterpret_cast<const From*>(parts_[part].bytes.data()) +
               static_cast<std::size_t>(row * columns_ + first_column);
    }
    scatter(std::span(values, columns), out, t, tokens);
  }
}

Status EmbeddingTable::look_up(std::span<const std::int32_t> ids, std::int64_t first_column,
                               const MutableTensorView& out) const {
  ANEMONE_CHECK(!ids.empty());
  // One of the two is the token axis, whatever the layout, and the other is 1.
  const auto tokens = static_cast<std::size_t>(out.shape[2] * out.shape[3]);
  const bool from_half = dtype_ == DType::kFp16;
  const bool to_halves = out.dtype == DType::kFp16;
  if (from_half && to_halves)
    look_up_as<Half>(ids, first_column, tokens, out.as<Half>());
  else if (from_half)
    look_up_as<Half>(ids, first_column, tokens, out.as<float>());
  else if (to_halves)
    look_up_as<float>(ids, first_column, tokens, out.as<Half>());
  else
    look_up_as<float>(ids, first_column, tokens, out.as<float>());
  for (const Part& part : parts_) ANEMONE_RETURN_IF_ERROR(part.file->check());
  return {};
}

}  // namespace anemone::engine
