// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/weight_source.h"
#include "compiler/recipe.h"
#include "models/weights.h"
#include "quant/scheme.h"

namespace anemone::compiler {

// Gives graph code the weights of a checkpoint, stored by the scheme of the recipe. Remembers what
// it made, so that all functions of a package share it. Single-thread; the literals it makes are
// thread-safe.
class WeightStore : public models::WeightProvider {
 public:
  WeightStore(std::shared_ptr<const checkpoint::WeightSource> source, Recipe recipe,
              DType float_type)
      : source_(std::move(source)), recipe_(std::move(recipe)), float_type_(float_type) {}

  ir::Value* projection(ir::Builder& builder, const models::Projection& projection) override;
  ir::Value* vector(ir::Builder& builder, const std::vector<Vector>& parts, Shape shape,
                    const std::string& name) override;

  // A float tensor of the checkpoint with exactly this shape.
  Result<const checkpoint::WeightRef*> require(const std::string& tensor, const Shape& shape) const;

 private:
  Result<quant::StoredWeight> store(const models::Projection& projection) const;
  Result<ir::Literal> gather(const std::vector<Vector>& parts, const Shape& shape) const;

  std::shared_ptr<const checkpoint::WeightSource> source_;
  const Recipe recipe_;
  const DType float_type_;
  std::map<std::string, quant::StoredWeight> projections_;
  std::map<std::string, ir::Literal> vectors_;
};

}  // namespace anemone::compiler
