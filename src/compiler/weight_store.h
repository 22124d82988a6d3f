// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/weight_source.h"
#include "compiler/recipe.h"
#include "models/weights.h"
#include "quant/scheme.h"

namespace anemone::compiler {

// One matrix of the artifact.
struct WeightReport {
  std::string name;  // "layer_3_mlp_down", "head 0-50015"
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  quant::Scheme scheme = quant::Scheme::kNone;
  std::uint64_t bytes = 0;
  std::string source = {};           // types in the checkpoint: "bf16", "Q4_K+Q6_K"
  bool is_source_quantized = false;  // any part of it is quantized in the checkpoint
  bool is_passthrough = false;       // its integers are those of the checkpoint
  bool is_exact = false;             // its scales are, too
  // Error of a matrix that this run quantized; only if the recipe asks for it.
  std::optional<quant::QuantError> error;
};

// Most neighbouring columns of an embedding row that share a scale: the columns of one layer in the
// table of the layers of Gemma 4.
inline constexpr std::int64_t kEmbeddingBlock = 256;

// Gives graph code the weights of a checkpoint, stored by the scheme of the recipe. Remembers what
// it made, so that all functions of a package share it. Single-thread but for embedding_rows(); any
// thread may read the literals that it makes.
class WeightStore : public models::WeightProvider {
 public:
  WeightStore(std::shared_ptr<const checkpoint::WeightSource> source, Recipe recipe,
              DType float_type)
      : source_(std::move(source)), recipe_(std::move(recipe)), float_type_(float_type) {}

  bool has(const std::string& tensor) const override { return source_->find(tensor) != nullptr; }
  ir::Value* projection(ir::Builder& builder, const models::Projection& projection) override;
  bool is_stored_as_float(const models::Projection& projection) override;
  ir::Value* vector(ir::Builder& builder, const std::vector<Vector>& parts, Shape shape,
                    const std::string& name) override;

  // What projection() emits; kept from call to call.
  Result<const quant::StoredWeight*> stored(const models::Projection& projection);

  // All projections so far, in the order in which they were first asked for. The errors are there
  // once the packages are written.
  std::vector<WeightReport> reports() const;

  // Rows [begin, begin + count) of an embedding table [rows, columns], which the host looks up. All
  // ranges of a table are stored in the same scheme: the recipe's for WeightRole::kEmbedding. Its
  // blocks may span rows; then ranges begin and end between blocks. Without one, no two rows share
  // a scale: a quantized table keeps its integers if the recipe keeps them, floats stay floats if
  // the recipe quantizes nothing or keeps them, and everything else becomes int8 with a scale for
  // at most kEmbeddingBlock columns. A table below QuantOptions::threshold stays floats.
  // Thread-safe.
  Result<quant::StoredWeight> embedding_rows(const std::string& tensor, const Shape& shape,
                                             std::int64_t begin, std::int64_t count) const;

  // A float tensor of the checkpoint with exactly this shape.
  Result<const checkpoint::WeightRef*> require(const std::string& tensor, const Shape& shape) const;

 private:
  Result<quant::StoredWeight> make(const models::Projection& projection) const;
  quant::QuantOptions table_options(const checkpoint::WeightRef& table) const;
  Result<ir::Literal> gather(const std::vector<Vector>& parts, const Shape& shape) const;

  std::shared_ptr<const checkpoint::WeightSource> source_;
  const Recipe recipe_;
  const DType float_type_;
  struct Entry {
    WeightReport report;
    quant::StoredWeight weight;
  };
  std::map<std::string, Entry> projections_;
  std::vector<const Entry*> order_;
  std::map<std::string, ir::Literal> vectors_;
};

}  // namespace anemone::compiler
