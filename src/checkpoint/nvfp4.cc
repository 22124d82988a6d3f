// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/nvfp4.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/e4m3.h"
#include "checkpoint/fp4.h"
#include "checkpoint/fp8.h"

namespace anemone::checkpoint {
namespace {

constexpr int kBits = 4;
// The floats of four bits, doubled, are integers up to 12.
constexpr QuantizedForm kForm = {.group = 16, .bits = 8, .has_half_scales = false};

constexpr std::string_view kPacked = ".weight_packed";
constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kScale = ".weight_scale";
constexpr std::string_view kDivisor = ".weight_global_scale";
constexpr std::string_view kFactor = ".weight_scale_2";
// Tensors that stand beside a quantized matrix and are no weights.
constexpr std::array kCompanions = {kScale, kDivisor, kFactor,
                                    std::string_view(".input_global_scale"),
                                    std::string_view(".input_scale")};
// Tensors that would change its values, and are not read.
constexpr std::array kUnread = {std::string_view(".weight_zero_point"),
                                std::string_view(".pre_quant_scale")};

class Nvfp4Decoder : public WeightDecoder {
 public:
  Nvfp4Decoder(std::span<const std::byte> scales, WeightRef global, bool divides)
      : scales_(scales), global_(std::move(global)), divides_(divides) {}

  std::string_view storage() const override { return "NVFP4"; }
  int quantized_bits() const override { return kBits; }
  std::optional<QuantizedForm> quantized_form() const override { return kForm; }
  void read(const WeightRef& weight, std::int64_t begin, std::span<float> out) const override {
    const float global = global_scale();
    const auto first = static_cast<std::size_t>(begin);
    constexpr auto kGroup = static_cast<std::size_t>(kForm.group);
    float group_scale = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t at = first + i;
      if (i == 0 || at % kGroup == 0) group_scale = scale(at / kGroup, global);
      out[i] = static_cast<float>(quant(weight, at)) * 0.5F * group_scale;
    }
  }
  void read_quants(const WeightRef& weight, std::int64_t row, std::span<std::int8_t> quants,
                   std::span<float> scales) const override {
    const float global = global_scale();
    const std::size_t begin = static_cast<std::size_t>(row) * quants.size();
    for (std::size_t i = 0; i < quants.size(); ++i) quants[i] = quant(weight, begin + i);
    const std::size_t group = begin / static_cast<std::size_t>(kForm.group);
    for (std::size_t g = 0; g < scales.size(); ++g) scales[g] = scale(group + g, global) * 0.5F;
  }

 private:
  static std::int8_t quant(const WeightRef& weight, std::size_t at) {
    const auto pair = std::to_integer<std::uint32_t>(weight.bytes[at / 2]);
    return kTwiceFp4[at % 2 == 0 ? pair & 15U : pair >> 4];
  }
  float global_scale() const {
    float value = 0;
    read_floats(global_, 0, {&value, 1});
    return value;
  }
  float scale(std::size_t group, float global) const {
    const float own = e4m3_value(std::to_integer<std::uint32_t>(scales_[group]));
    return divides_ ? own / global : own * global;
  }

  const std::span<const std::byte> scales_;
  const WeightRef global_;
  const bool divides_;
};

class Nvfp4Source : public WeightMap {
 public:
  explicit Nvfp4Source(std::shared_ptr<const WeightSource> source)
      : WeightMap(source->origin()), source_(std::move(source)) {}

  Status fill() {
    for (const WeightRef* weight : source_->all()) {
      const std::string_view name = weight->name;
      if (name.ends_with(kPacked)) {
        ANEMONE_RETURN_IF_ERROR(add_matrix(*weight, without(name, kPacked), kDivisor));
      } else if (name.ends_with(kWeight) && weight->dtype == DType::kUInt8) {
        ANEMONE_RETURN_IF_ERROR(add_matrix(*weight, without(name, kWeight), kFactor));
      } else if (!is_companion(name)) {
        ANEMONE_RETURN_IF_ERROR(check_plain(*weight));
        add(weight->name, *weight);
      }
    }
    return {};
  }

 private:
  static std::string without(std::string_view name, std::string_view suffix) {
    return std::string(name.substr(0, name.size() - suffix.size()));
  }
  const WeightRef* of(const std::string& module, std::string_view suffix) const {
    return source_->find(module + std::string(suffix));
  }
  bool is_quantized(const std::string& module) const {
    const WeightRef* weight = of(module, kWeight);
    return of(module, kPacked) != nullptr || (weight != nullptr && weight->dtype == DType::kUInt8);
  }
  bool is_companion(std::string_view name) const {
    for (const std::string_view suffix : kCompanions)
      if (name.ends_with(suffix) && is_quantized(without(name, suffix))) return true;
    return false;
  }

  Status check_plain(const WeightRef& weight) const {
    // A scale of its own would be left out.
    if (weight.decoder == &fp8_decoder())
      return unsupported("[{}] expected {} as NVFP4 or plain floats, got {}", origin(), weight.name,
                         weight.storage());
    for (const std::string_view suffix : kUnread)
      if (weight.name.ends_with(suffix) && is_quantized(without(weight.name, suffix)))
        return unsupported("[{}] expected NVFP4 with scales alone, got {}", origin(), weight.name);
    return {};
  }

  Status add_matrix(const WeightRef& packed, const std::string& module,
                    std::string_view global_suffix) {
    const WeightRef* scales = of(module, kScale);
    const WeightRef* global = of(module, global_suffix);
    if (scales == nullptr || global == nullptr)
      return not_found("[{}] expected a tensor {}{} with scales of {}, got none", origin(), module,
                       scales == nullptr ? kScale : global_suffix, packed.name);
    // [..., columns / 16] of scales for [..., columns / 2] of pairs.
    Shape shape = packed.shape;
    const bool is_whole =
        shape.size() >= 2 && packed.dtype == DType::kUInt8 && packed.shape.back() % 8 == 0;
    if (is_whole) shape.back() /= 8;
    if (!is_whole || scales->decoder != &fp8_decoder() || scales->shape != shape)
      return corrupt(
          "[{}] expected {} as uint8 [..., rows, columns / 2] and its scales as F8_E4M3 [..., "
          "rows, columns / 16], got {} {} and {} {}",
          origin(), packed.name, packed.storage(), to_string(packed.shape), scales->storage(),
          to_string(scales->shape));
    if (global->dtype != DType::kFp32 || global->decoder != nullptr ||
        element_count(global->shape) != 1)
      return corrupt("[{}] expected {} to be one fp32 number, got {} {}", origin(), global->name,
                     global->storage(), to_string(global->shape));
    WeightRef weight = packed;
    weight.name = module + std::string(kWeight);
    weight.dtype = DType::kFp32;
    weight.shape.back() *= 2;
    weight.decoder = decoders_
                         .emplace_back(std::make_unique<Nvfp4Decoder>(scales->bytes, *global,
                                                                      global_suffix == kDivisor))
                         .get();
    std::string name = weight.name;
    if (!add(std::move(name), std::move(weight)))
      return corrupt("[{}] expected one of {}{} and {}{}, got both", origin(), module, kPacked,
                     module, kWeight);
    return {};
  }

  std::shared_ptr<const WeightSource> source_;  // keeps the mapping
  std::vector<std::unique_ptr<const Nvfp4Decoder>> decoders_;
};

}  // namespace

Result<HfConfig> with_modelopt_config(const HfConfig& config, const Json& object,
                                      const std::string& subject) {
  const Json* quantization = object.is_object() ? json_member(object, "quantization") : nullptr;
  if (quantization == nullptr || !quantization->is_object())
    return parse_error("[{}] expected an object \"quantization\"", subject);
  ANEMONE_ASSIGN_OR_RETURN(const auto algorithm, json_string(*quantization, "quant_algo", subject));
  if (!algorithm) return config;  // none: only the caches of the model are quantized
  Json json = config.json();
  json["quantization_config"] = {{"quant_method", "modelopt"}, {"quant_algo", *algorithm}};
  return HfConfig::from_json(std::move(json), config.subject());
}

Result<std::shared_ptr<const WeightSource>> read_nvfp4(std::shared_ptr<const WeightSource> source) {
  auto out = std::make_shared<Nvfp4Source>(std::move(source));
  ANEMONE_RETURN_IF_ERROR(out->fill());
  return std::shared_ptr<const WeightSource>(std::move(out));
}

}  // namespace anemone::checkpoint
