// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/planned_weights.h"

#include <algorithm>
#include <map>

namespace anemone::checkpoint {
namespace {

class Zeros : public WeightDecoder {
 public:
  std::string_view storage() const override { return dtype_name(DType::kBf16); }
  void read(const WeightRef&, std::int64_t, std::span<float> out) const override {
    std::ranges::fill(out, 0.0F);
  }
};

class PlannedWeights : public WeightSource {
 public:
  explicit PlannedWeights(std::string origin) : origin_(std::move(origin)) {}

  const WeightRef* find(std::string_view name) const override {
    const auto it = made_.find(name);
    return it == made_.end() ? nullptr : &it->second;
  }
  const WeightRef* expect(std::string_view name, const Shape& shape) const override {
    WeightRef& weight = made_[std::string(name)];
    weight.name = name;
    weight.dtype = DType::kBf16;
    weight.shape = shape;
    weight.decoder = &zeros_;
    return &weight;
  }
  std::vector<const WeightRef*> all() const override {
    std::vector<const WeightRef*> out;
    for (const auto& [name, weight] : made_) out.push_back(&weight);
    return out;
  }
  const std::string& origin() const override { return origin_; }

 private:
  const std::string origin_;
  const Zeros zeros_;
  mutable std::map<std::string, WeightRef, std::less<>> made_;
};

}  // namespace

std::shared_ptr<const WeightSource> planned_weights(std::string origin) {
  return std::make_shared<PlannedWeights>(std::move(origin));
}

}  // namespace anemone::checkpoint
