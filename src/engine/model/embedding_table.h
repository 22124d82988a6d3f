// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "artifact/embedding.h"
#include "base/mapped_file.h"
#include "tensor/tensor.h"

namespace anemone::engine {

// Rows for host lookup, read where they lie in the mapped files; rows that are stored quantized are
// decoded one by one, to the floats that the matrix stands for in a graph. Immutable and
// thread-safe.
class EmbeddingTable {
 public:
  // `embedding` is of a manifest that was read, so its fields fit together. kCorrupt when a file is
  // too short for its rows, scales or palettes.
  static Result<EmbeddingTable> open(const std::string& folder,
                                     const artifact::Embedding& embedding);

  // Writes columns [first_column, first_column + C) of the rows of `ids` to `out`, fp16 or fp32 in
  // either layout of hidden states of T tokens. Tokens after the last id are padding and repeat its
  // row. 1 <= ids.size() <= T, each id below the number of rows. kIo when a file was cut meanwhile.
  Status look_up(std::span<const std::int32_t> ids, std::int64_t first_column,
                 const MutableTensorView& out) const;

 private:
  // Consecutive rows that lie together; the parts are in the order of the vocabulary.
  struct Part {
    std::int64_t end = 0;  // the row after the last
    std::span<const std::byte> bytes;
    std::optional<artifact::Quantization> quantization = {};
    std::span<const std::byte> blocks = {};  // scales or palettes, unless `quantization` has them
    std::shared_ptr<const MappedFile> file;
  };
  // Columns [first_column, first_column + out.size()) of a row of a quantized part.
  template <typename From>
  void decode(const Part& part, std::int64_t row, std::int64_t first_column,
              std::span<From> out) const;
  template <typename From, typename To>
  void look_up_as(std::span<const std::int32_t> ids, std::int64_t first_column, std::size_t tokens,
                  std::span<To> out) const;

  DType dtype_ = DType::kFp16;
  std::int64_t columns_ = 0;
  std::vector<Part> parts_;
};

}  // namespace anemone::engine
