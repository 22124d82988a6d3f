// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/mxfp4.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/fp4.h"

namespace anemone::checkpoint {
namespace {

constexpr std::int64_t kGroup = kMxfp4Form.group;
constexpr std::int64_t kGroupBytes = 16;

class Mxfp4Decoder : public WeightDecoder {
 public:
  explicit Mxfp4Decoder(std::span<const std::byte> scales) : scales_(scales) {}

  std::string_view storage() const override { return "MXFP4"; }
  int quantized_bits() const override { return kMxfp4Bits; }
  std::optional<QuantizedForm> quantized_form() const override { return kMxfp4Form; }
  void read(const WeightRef& weight, std::int64_t begin, std::span<float> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto at = static_cast<std::size_t>(begin) + i;
      out[i] = scale(at / kGroup) * static_cast<float>(quant(weight, at));
    }
  }
  void read_quants(const WeightRef& weight, std::int64_t row, std::span<std::int8_t> quants,
                   std::span<float> scales) const override {
    const std::size_t begin = static_cast<std::size_t>(row) * quants.size();
    for (std::size_t i = 0; i < quants.size(); ++i) quants[i] = quant(weight, begin + i);
    for (std::size_t g = 0; g < scales.size(); ++g) scales[g] = scale(begin / kGroup + g);
  }

 private:
  static std::int8_t quant(const WeightRef& weight, std::size_t at) {
    const auto pair = std::to_integer<std::uint32_t>(weight.bytes[at / 2]);
    return kTwiceFp4[at % 2 == 0 ? pair & 15U : pair >> 4];
  }
  float scale(std::size_t group) const {
    const auto byte = std::to_integer<std::uint32_t>(scales_[group]);
    return byte == 255 ? std::numeric_limits<float>::quiet_NaN() : half_of_e8m0(byte);
  }

  std::span<const std::byte> scales_;
};

class Mxfp4Source : public WeightMap {
 public:
  explicit Mxfp4Source(std::shared_ptr<const WeightSource> source)
      : WeightMap(source->origin()), source_(std::move(source)) {}

  Status fill() {
    constexpr std::string_view kScales = "_scales";
    const auto partner = [this](std::string_view name, std::string_view suffix,
                                std::string_view other) -> const WeightRef* {
      if (!name.ends_with(suffix)) return nullptr;
      name.remove_suffix(suffix.size());
      return source_->find(std::string(name).append(other));
    };
    for (const WeightRef* weight : source_->all()) {
      if (partner(weight->name, kScales, kMxfp4Blocks) != nullptr) continue;
      if (!weight->name.ends_with(kMxfp4Blocks)) {
        add(weight->name, *weight);
        continue;
      }
      const WeightRef* scales = partner(weight->name, kMxfp4Blocks, kScales);
      if (scales == nullptr)
        return not_found("[{}] expected a tensor with the scales of {}, got none", origin(),
                         weight->name);
      ANEMONE_RETURN_IF_ERROR(add_blocks(*weight, *scales));
    }
    return {};
  }

 private:
  Status add_blocks(const WeightRef& blocks, const WeightRef& scales) {
    Shape shape = blocks.shape;
    const bool is_whole = shape.size() >= 3 && shape.back() == kGroupBytes;
    if (is_whole) shape.pop_back();
    if (!is_whole || blocks.dtype != DType::kUInt8 || scales.dtype != DType::kUInt8 ||
        scales.shape != shape)
      return corrupt(
          "[{}] expected {} as uint8 [..., groups, 16] and its scales as uint8 [..., groups], got "
          "{} {} and {} {}",
          origin(), blocks.name, dtype_name(blocks.dtype), to_string(blocks.shape),
          dtype_name(scales.dtype), to_string(scales.shape));
    WeightRef weight = blocks;
    weight.dtype = DType::kFp32;
    shape.back() *= kGroup;
    weight.shape = std::move(shape);
    weight.decoder = decoders_.emplace_back(std::make_unique<Mxfp4Decoder>(scales.bytes)).get();
    add(blocks.name, std::move(weight));
    return {};
  }

  std::shared_ptr<const WeightSource> source_;  // keeps the mapping
  std::vector<std::unique_ptr<const Mxfp4Decoder>> decoders_;
};

}  // namespace

Result<std::shared_ptr<const WeightSource>> read_mxfp4(std::shared_ptr<const WeightSource> source) {
  auto out = std::make_shared<Mxfp4Source>(std::move(source));
  ANEMONE_RETURN_IF_ERROR(out->fill());
  return std::shared_ptr<const WeightSource>(std::move(out));
}

}  // namespace anemone::checkpoint
