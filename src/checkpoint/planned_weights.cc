// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/planned_weights.h"

#include <algorithm>
#include <map>
#include <optional>

#include "checkpoint/mxfp4.h"

namespace anemone::checkpoint {
namespace {

class Zeros : public WeightDecoder {
 public:
  std::string_view storage() const override { return dtype_name(DType::kBf16); }
  void read(const WeightRef&, std::int64_t, std::span<float> out) const override {
    std::ranges::fill(out, 0.0F);
  }
};

class Mxfp4Zeros : public Zeros {
 public:
  std::string_view storage() const override { return "MXFP4"; }
  int quantized_bits() const override { return kMxfp4Bits; }
  std::optional<QuantizedForm> quantized_form() const override { return kMxfp4Form; }
  void read_quants(const WeightRef&, std::int64_t, std::span<std::int8_t> quants,
                   std::span<float> scales) const override {
    std::ranges::fill(quants, std::int8_t{0});
    std::ranges::fill(scales, 1.0F);
  }
};

class PlannedWeights : public WeightSource {
 public:
  PlannedWeights(std::string origin, bool has_mxfp4)
      : origin_(std::move(origin)), has_mxfp4_(has_mxfp4) {}

  const WeightRef* find(std::string_view name) const override {
    const auto it = made_.find(name);
    if (it != made_.end()) return &it->second;
    // A caller that asks for blocks takes them, or else the tensor that they stand for.
    return is_mxfp4(name) ? expect(name, {}) : nullptr;
  }
  const WeightRef* expect(std::string_view name, const Shape& shape) const override {
    WeightRef& weight = made_[std::string(name)];
    weight.name = name;
    weight.dtype = is_mxfp4(name) ? DType::kFp32 : DType::kBf16;
    weight.shape = shape;
    weight.decoder = is_mxfp4(name) ? &mxfp4_ : &zeros_;
    return &weight;
  }
  std::vector<const WeightRef*> all() const override {
    std::vector<const WeightRef*> out;
    for (const auto& [name, weight] : made_) out.push_back(&weight);
    return out;
  }
  const std::string& origin() const override { return origin_; }

 private:
  bool is_mxfp4(std::string_view name) const { return has_mxfp4_ && name.ends_with(kMxfp4Blocks); }

  const std::string origin_;
  const bool has_mxfp4_;
  const Zeros zeros_;
  const Mxfp4Zeros mxfp4_;
  mutable std::map<std::string, WeightRef, std::less<>> made_;
};

}  // namespace

std::shared_ptr<const WeightSource> planned_weights(std::string origin, bool has_mxfp4) {
  return std::make_shared<PlannedWeights>(std::move(origin), has_mxfp4);
}

}  // namespace anemone::checkpoint
