// SPDX-License-Identifier: Apache-2.0
// How graph code asks for weights. It names tensors of the checkpoint and says what they are for;
// the compiler decides how they are stored (quantization) and makes them constants of the function.
// Asking for the same weight in a second function gives the same bytes in the package.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/program.h"

namespace anemone::models {

// What a matrix does: recipes choose the scheme by it.
enum class WeightRole {
  kAttentionQkv,
  kAttentionOutput,
  kMlpGateUp,
  kMlpDown,
  kHead,
  kRouter,
  kEmbedding,  // tables of rows that the host looks up; no graph has them
};

// A projection [outputs, inputs, 1, 1]: the rows of several checkpoint matrices, one after the
// other.
struct Projection {
  std::string name;  // of the constant in the program
  WeightRole role = WeightRole::kAttentionQkv;
  struct Part {
    std::string tensor;
    std::int64_t row_begin = 0;
    std::int64_t rows = 0;
    std::int64_t row_step = 1;  // every so many rows of it
    // Shape of the tensor in the checkpoint: [rows_total, inputs]; or [matrices, rows_total,
    // inputs] or [matrices, inputs, rows_total], of which one matrix is read. Empty: [row_begin +
    // rows, inputs].
    Shape shape = {};
    std::int64_t matrix = 0;
    bool is_transposed = false;
  };
  std::vector<Part> parts;
  std::int64_t inputs = 0;
  // A range of the inputs that the tensors have, from `input_begin` on; 0: they have no others.
  std::int64_t input_begin = 0;
  std::int64_t all_inputs = 0;

  std::int64_t tensor_inputs() const { return all_inputs == 0 ? inputs : all_inputs; }
};

// Parts of `rows` each of one projection: tensors prefix + name + ".weight", or all rows of the one
// that there is.
std::vector<Projection::Part> stacked(const std::string& prefix,
                                      const std::vector<std::string>& names,
                                      const std::vector<std::int64_t>& rows);

// Rows [begin, end) of the `index`th of those parts.
Projection::Part rows_of_stacked(const std::string& prefix, const std::vector<std::string>& names,
                                 const std::vector<std::int64_t>& rows, std::int64_t inputs,
                                 std::size_t index, std::int64_t begin, std::int64_t end);

// Rows [begin, end) of a projection, named so.
Projection rows_of(const Projection& projection, std::int64_t begin, std::int64_t end,
                   std::string name);
std::int64_t row_count(const Projection& projection);

class WeightProvider {
 public:
  virtual ~WeightProvider() = default;
  virtual bool has(const std::string& tensor) const = 0;
  // The weight as a value of the function's float type; nullptr after an error (kept in the
  // builder): a missing tensor, a wrong shape, a dtype that is not a float.
  virtual ir::Value* projection(ir::Builder& builder, const Projection& projection) = 0;
  // Whether that weight is stored as floats; false after an error, which projection() gives.
  virtual bool is_stored_as_float(const Projection& projection) = 0;
  // Several vectors one after the other, reshaped: norm weights and biases.
  struct Vector {
    std::string tensor;
    std::int64_t size = 0;
    double offset = 0;       // added to each element before it is rounded
    Shape shape = {};        // in the checkpoint; empty: [size]
    std::int64_t begin = 0;  // of its elements in order, and from one to the next
    std::int64_t step = 1;
  };
  virtual ir::Value* vector(ir::Builder& builder, const std::vector<Vector>& parts, Shape shape,
                            const std::string& name) = 0;
};

}  // namespace anemone::models
