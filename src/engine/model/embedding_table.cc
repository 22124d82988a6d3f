// SPDX-License-Identifier: Apache-2.0
#include "engine/model/embedding_table.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/inner_file.h"

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
    // No overflow: the manifest bounds rows and columns.
    const std::uint64_t bytes =
        dtype_bytes(embedding.dtype, static_cast<std::uint64_t>(part.rows * embedding.columns));
    const std::uint64_t size = file->bytes().size();
    if (part.offset > size || bytes > size - part.offset)
      return corrupt("[{}] expected {} bytes at {} for {} rows of {} in {}, got a file of {}", path,
                     bytes, part.offset, part.rows, embedding.columns, dtype_name(embedding.dtype),
                     size);
    end += part.rows;
    const auto rows = file->bytes().subspan(part.offset, bytes);
    table.parts_.push_back({end, rows, std::move(file)});
  }
  return table;
}

template <typename From, typename To>
void EmbeddingTable::look_up_as(std::span<const std::int32_t> ids, std::int64_t first_column,
                                std::size_t tokens, std::span<To> out) const {
  const std::size_t columns = out.size() / tokens;
  for (std::size_t t = 0; t < tokens; ++t) {
    const std::int64_t id = ids[std::min(t, ids.size() - 1)];
    std::size_t part = 0;
    while (id >= parts_[part].end) ++part;
    const std::int64_t begin = part == 0 ? 0 : parts_[part - 1].end;
    const auto* row = reinterpret_cast<const From*>(parts_[part].bytes.data()) +
                      static_cast<std::size_t>((id - begin) * columns_ + first_column);
    scatter(std::span(row, columns), out, t, tokens);
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
