// SPDX-License-Identifier: Apache-2.0
// How a weight matrix is stored in a package. Each kind of scheme (float, linear, palette,
// passthrough) has a file; this header is what the compiler sees.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/literal.h"
#include "quant/matrix_source.h"
#include "quant/quant_error.h"
#include "tensor/dtype.h"

namespace anemone::quant {

enum class Scheme {
  kNone,         // the float type of the function
  kInt8,         // symmetric, one scale per matrix
  kInt8Channel,  // symmetric, one scale per output channel
  kInt8Block,    // symmetric, one scale per run of inputs of an output channel: the largest divisor
                 // of them that is not above block_size
  kInt4Block,
  kLut4,  // indices of 4, 6 or 8 bits into a palette
  kLut6,
  kLut8,
  // Stores a matrix in the checkpoint's own form: integers, scales and minimums are taken over,
  // floats stay floats. A form that has no counterpart here (integers of more than 4 bits with
  // minimums) becomes kInt8Block.
  kPassthrough,
};

enum class PaletteMode { kKmeans, kUniform };

struct QuantOptions {
  Scheme scheme = Scheme::kInt8;
  // A matrix that the source holds quantized gets a palette of about as many bits in place of the
  // scheme, and its error is measured.
  bool keeps_bits = false;
  std::int64_t block_size = 32;  // of the block schemes
  PaletteMode palette_mode = PaletteMode::kKmeans;
  std::int64_t group_size = 32;   // output channels that share a palette; 0: all
  std::int64_t threshold = 2048;  // matrices of at most so many elements stay floats
  bool measure_error = false;     // fill StoredWeight::error; costs another pass of arithmetic
};

std::string_view scheme_name(Scheme scheme);  // as on the command line: "int8-channel"
std::optional<Scheme> parse_scheme(std::string_view name);
std::vector<std::string_view> scheme_names();

// A weight [rows, columns, 1, 1] ready to become an operation of a function: a `const`, or a
// constexpr operation with its literals. The data is lazy: it is computed when the package is
// written. Emitting the same StoredWeight in several functions shares the bytes.
struct StoredWeight {
  Scheme scheme = Scheme::kNone;  // what became of the one that was asked for
  // The integers of the checkpoint, taken over; its scales, too, where `is_exact`.
  bool is_passthrough = false;
  bool is_exact = false;
  std::string op;  // "const" or "constexpr_..."
  std::vector<std::pair<std::string, ir::Literal>> parameters;
  std::uint64_t bytes = 0;  // in the package
  // Complete once the data is; null when it was not asked for or nothing is quantized.
  std::shared_ptr<const QuantError> error;
};

// Whether a matrix of so many elements is stored as floats.
bool stays_float(const QuantOptions& options, std::int64_t elements);

// `float_type` is fp16 or fp32.
StoredWeight store_weight(const QuantOptions& options, std::shared_ptr<const MatrixSource> matrix,
                          DType float_type);

// The weight as a value of the function under construction, in the form that the function's opset
// has (older_form.h). Null after an error, which the builder keeps.
ir::Value* emit(ir::Builder& builder, const StoredWeight& weight, std::string_view name);

// Bytes that a matrix will take in the package, without reading it; for plans. For kPassthrough it
// is the size of the largest form that the matrix may get.
std::uint64_t stored_bytes(const QuantOptions& options, std::int64_t rows, std::int64_t columns,
                           DType float_type);

}  // namespace anemone::quant
