// SPDX-License-Identifier: Apache-2.0
#include "compiler/weight_store.h"

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <numeric>

#include "ir/builder.h"
#include "ops/registry.h"

namespace anemone::compiler {
namespace {

// One fp32 matrix "m" whose element is its index.
class CountingMatrix : public checkpoint::WeightSource {
 public:
  CountingMatrix(std::int64_t rows, std::int64_t columns)
      : values_(static_cast<std::size_t>(rows * columns)) {
    std::iota(values_.begin(), values_.end(), 0.0f);
    weight_.name = "m";
    weight_.shape = {rows, columns};
    weight_.bytes = std::as_bytes(std::span(values_));
  }
  const checkpoint::WeightRef* find(std::string_view name) const override {
    return name == weight_.name ? &weight_ : nullptr;
  }
  std::vector<const checkpoint::WeightRef*> all() const override { return {&weight_}; }
  const std::string& origin() const override { return weight_.name; }

 private:
  std::vector<float> values_;
  checkpoint::WeightRef weight_;
};

models::Projection head_rows(std::int64_t begin, std::int64_t end) {
  return {.name = "head",
          .role = models::WeightRole::kHead,
          .parts = {{"m", begin, end - begin}},
          .inputs = 4};
}

std::vector<float> floats_of(const ir::Value* value) {
  const Tensor tensor = value->producer->attributes.at("val").tensor();
  std::vector<float> out(static_cast<std::size_t>(element_count(tensor.shape())));
  load_floats(tensor.view(), out);
  return out;
}

}  // namespace
}  // namespace anemone::compiler
