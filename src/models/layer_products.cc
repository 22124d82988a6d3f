// SPDX-License-Identifier: Apache-2.0
// The products of a LayerGraph, in one operation or in several.
#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "models/layer_graph.h"

namespace anemone::models {

using ir::Literal;
using ir::Value;

namespace {

// How many outputs each of as few products as possible has, of which none is slow; `outputs` where
// there is no such number.
std::int64_t fast_range(std::int64_t outputs, std::int64_t inputs,
                        bool (*is_slow)(std::int64_t outputs, std::int64_t inputs)) {
  constexpr std::int64_t kMultiple = 32;
  constexpr std::int64_t kMostProducts = 8;
  for (std::int64_t count = 2; count <= kMostProducts; ++count) {
    const std::int64_t even = (outputs + count - 1) / count;
    const std::int64_t range = (even + kMultiple - 1) / kMultiple * kMultiple;
    const std::int64_t last = outputs % range == 0 ? range : outputs % range;
    if (!is_slow(range, inputs) && !is_slow(last, inputs)) return range;
  }
  return outputs;
}

}  // namespace

Value* LayerGraph::elements_of(Value* vector, std::int64_t begin, std::int64_t end,
                               std::string_view name) {
  const Literal* all = ir::constant_of(vector);
  if (all == nullptr) return nullptr;
  auto tensor = all->to_tensor();
  if (!tensor.ok()) {
    builder_.fail(tensor.status());
    return nullptr;
  }
  std::vector<float> values = to_floats(tensor->view());
  values = {values.begin() + begin, values.begin() + end};
  Tensor own(tensor->dtype(), {end - begin});
  store_floats(values, own.mutable_view());
  return builder_.constant(Literal::of(std::move(own)), name);
}

bool LayerGraph::is_slow(const Projection& projection) {
  return options_.is_slow_product != nullptr &&
         options_.is_slow_product(row_count(projection), projection.inputs) &&
         weights_.is_stored_as_float(projection);
}

Value* LayerGraph::project(Value* x, const Projection& projection, Value* bias) {
  if (!is_slow(projection)) return project_whole(x, projection, bias);
  const std::int64_t rows = row_count(projection);
  const std::int64_t range = fast_range(rows, projection.inputs, options_.is_slow_product);
  std::vector<Value*> parts;
  for (std::int64_t begin = 0; begin < rows; begin += range) {
    const std::int64_t end = std::min(rows, begin + range);
    const std::string name = fmt::format("{}_{}", projection.name, parts.size());
    Value* own = bias == nullptr ? nullptr : elements_of(bias, begin, end, name + "_bias");
    parts.push_back(project_whole(x, models::rows_of(projection, begin, end, name), own));
  }
  return parts.size() == 1 ? parts.front() : join(parts, 1, projection.name + "_joined");
}

Value* LayerGraph::project_whole(Value* x, const Projection& projection, Value* bias) {
  Value* weight = weights_.projection(builder_, projection);
  std::vector<ir::Builder::Input> inputs = {{"x", x}, {"weight", weight}};
  if (bias != nullptr) inputs.push_back({"bias", bias});
  return builder_.op("conv", std::move(inputs), projection.name + "_conv");
}

}  // namespace anemone::models
