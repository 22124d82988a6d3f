// SPDX-License-Identifier: Apache-2.0
// Where the rows of a table of embeddings lie, and how they are stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace anemone::artifact {

// How a quantized matrix [rows, columns] encodes floats. It consists of blocks of `block_rows` x
// `block_columns`, which divide it. Block (i, j) is number i * (columns / block_columns) + j.
//   int4, int8           element * scale of its block; one float for each block
//   uint4, uint6, uint8  the palette of its block [element]; 2^bits floats for each block, which
//                        spans all columns
// The result is rounded to the float type of the table, which scales and palettes have, too.
struct Quantization {
  DType dtype = DType::kInt8;  // of the elements, packed as in tensor/bits.h
  std::int64_t block_rows = 1;
  std::int64_t block_columns = 1;
  std::uint64_t offset = 0;  // of the scales or palettes in the file, in bytes; 0 with `scales`
  // The scales themselves where they are so few that a package has them in its program.
  std::vector<float> scales = {};
};

// Consecutive rows of a table in one file, row-major without gaps.
struct EmbeddingPart {
  std::string file;          // relative to the artifact folder
  std::uint64_t offset = 0;  // of the first row, in bytes
  std::int64_t rows = 0;
  std::optional<Quantization> quantization = {};  // none: floats
};

// Embeddings for host lookup: a file of their own, or the weights of the heads where those are the
// same matrix (tied).
struct Embedding {
  DType dtype = DType::kFp16;  // fp16 or fp32: what rows are, or are decoded to
  std::int64_t rows = 0;       // of all parts
  std::int64_t columns = 0;
  std::vector<EmbeddingPart> parts;  // in the order of the vocabulary
};

bool is_quantized(const Embedding& embedding);
// Type of the elements of a part: "int4", "fp16".
DType element_type(const Embedding& embedding, const EmbeddingPart& part);

// Whether elements of this type are indices of a palette.
bool is_palette_index(DType dtype);

// Bytes of the rows of a part, without its scales or palettes.
std::uint64_t row_bytes(const Embedding& embedding, const EmbeddingPart& part);
// How many scales or palette values a part has; 0 if it is not quantized.
std::uint64_t block_values(const Embedding& embedding, const EmbeddingPart& part);
// Bytes of the rows and of their scales or palettes in the file; scales in the manifest do not
// count.
std::uint64_t stored_bytes(const Embedding& embedding, const EmbeddingPart& part);

}  // namespace anemone::artifact
