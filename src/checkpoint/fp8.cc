// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/fp8.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/e4m3.h"

namespace anemone::checkpoint {
namespace {

constexpr std::int64_t kUsualBlock = 128;

// The value of each of the 256 bytes of E4M3.
const std::array<float, 256>& fp8_values() {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> out{};
    for (std::uint32_t code = 0; code < 256; ++code) out[code] = e4m3_value(code);
    return out;
  }();
  return values;
}

void read_plain(const WeightRef& weight, std::int64_t begin, std::span<float> out) {
  const auto& values = fp8_values();
  const auto bytes = weight.bytes.subspan(static_cast<std::size_t>(begin), out.size());
  std::ranges::transform(bytes, out.begin(), [&](std::byte byte) {
    return values[std::to_integer<std::size_t>(byte)];
  });
}

class Fp8Decoder : public WeightDecoder {
 public:
  std::string_view storage() const override { return "F8_E4M3"; }
  void read(const WeightRef& weight, std::int64_t begin, std::span<float> out) const override {
    read_plain(weight, begin, out);
  }
};

struct Fp8Block {
  std::int64_t rows = kUsualBlock;
  std::int64_t columns = kUsualBlock;
};

class ScaledFp8Decoder : public WeightDecoder {
 public:
  ScaledFp8Decoder(WeightRef scales, Fp8Block block) : scales_(std::move(scales)), block_(block) {}

  std::string_view storage() const override { return "F8_E4M3"; }
  void read(const WeightRef& weight, std::int64_t begin, std::span<float> out) const override {
    read_plain(weight, begin, out);
    const std::int64_t columns = weight.shape.back();
    const std::int64_t rows = weight.shape[weight.shape.size() - 2];
    while (!out.empty()) {
      const std::int64_t column = begin % columns;
      const std::int64_t row = begin / columns % rows;
      const std::int64_t matrix = begin / columns / rows;
      const std::int64_t end = std::min(columns, (column / block_.columns + 1) * block_.columns);
      const auto run = std::min(out.size(), static_cast<std::size_t>(end - column));
      const float scale = scale_at(matrix, rows, columns, row, column);
      for (float& value : out.first(run)) value *= scale;
      out = out.subspan(run);
      begin += static_cast<std::int64_t>(run);
    }
  }

 private:
  float scale_at(std::int64_t matrix, std::int64_t rows, std::int64_t columns, std::int64_t row,
                 std::int64_t column) const {
    const std::int64_t down = (rows + block_.rows - 1) / block_.rows;
    const std::int64_t across = (columns + block_.columns - 1) / block_.columns;
    float scale = 0;
    read_floats(scales_, (matrix * down + row / block_.rows) * across + column / block_.columns,
                {&scale, 1});
    return scale;
  }

  const WeightRef scales_;
  const Fp8Block block_;
};

// Reads weight_block_size; nullopt stands for one scale per tensor.
Result<std::optional<Fp8Block>> read_block(const HfConfig& config) {
  const Json& quantization = config.json()["quantization_config"];
  if (!quantization.contains("weight_block_size")) return std::optional(Fp8Block());
  const Json& size = quantization["weight_block_size"];
  if (size.is_null()) return std::optional<Fp8Block>();
  const auto is_size = [](const Json& item) {
    return item.is_number_integer() && item > 0 && item < (1 << 30);
  };
  if (!size.is_array() || size.size() != 2 || !is_size(size[0]) || !is_size(size[1]))
    return parse_error("[{}] expected weight_block_size to be two positive sizes or null, got {}",
                       config.subject(), dump_json(size));
  return std::optional(Fp8Block{size[0].get<std::int64_t>(), size[1].get<std::int64_t>()});
}

class Fp8Source : public WeightMap {
 public:
  Fp8Source(std::shared_ptr<const WeightSource> source, std::optional<Fp8Block> block)
      : WeightMap(source->origin()), source_(std::move(source)), block_(block) {}

  Status fill() {
    constexpr std::string_view kScale = "_scale_inv";
    for (const WeightRef* weight : source_->all()) {
      const std::string_view name = weight->name;
      if (name.ends_with(kScale) &&
          source_->find(name.substr(0, name.size() - kScale.size())) != nullptr)
        continue;
      const bool is_fp8 = weight->decoder == &fp8_decoder();
      const WeightRef* scales = source_->find(weight->name + std::string(kScale));
      if (!is_fp8 || scales == nullptr) {
        if (is_fp8)
          return not_found("[{}] expected the scales of {} beside it, got none", origin(), name);
        add(weight->name, *weight);
        continue;
      }
      ANEMONE_RETURN_IF_ERROR(add_scaled(*weight, *scales));
    }
    return {};
  }

 private:
  Status add_scaled(const WeightRef& matrix, const WeightRef& scales) {
    if (matrix.shape.size() < 2)
      return corrupt("[{}] expected {} to be a matrix, got {}", origin(), matrix.name,
                     to_string(matrix.shape));
    // One scale for all is a block of any size.
    Fp8Block block = block_.value_or(Fp8Block());
    Shape expected = matrix.shape;
    std::int64_t& rows = expected[expected.size() - 2];
    std::int64_t& columns = expected.back();
    if (!block_) block = {std::max<std::int64_t>(rows, 1), std::max<std::int64_t>(columns, 1)};
    rows = (rows + block.rows - 1) / block.rows;
    columns = (columns + block.columns - 1) / block.columns;
    const bool fits = block_ ? scales.shape == expected : element_count(scales.shape) == 1;
    if (!fits || !is_float(scales.dtype) || (!block_ && matrix.shape.size() != 2))
      return corrupt("[{}] expected the scales of {} {} as floats {}, got {} {}", origin(),
                     matrix.name, to_string(matrix.shape), to_string(expected),
                     dtype_name(scales.dtype), to_string(scales.shape));
    WeightRef weight = matrix;
    weight.decoder =
        decoders_.emplace_back(std::make_unique<ScaledFp8Decoder>(scales, block)).get();
    add(matrix.name, std::move(weight));
    return {};
  }

  std::shared_ptr<const WeightSource> source_;  // keeps the mapping
  const std::optional<Fp8Block> block_;
  std::vector<std::unique_ptr<const ScaledFp8Decoder>> decoders_;
};

}  // namespace

const WeightDecoder& fp8_decoder() {
  static const Fp8Decoder decoder;
  return decoder;
}

Result<std::shared_ptr<const WeightSource>> read_fp8(std::shared_ptr<const WeightSource> source,
                                                     const HfConfig& config) {
  ANEMONE_ASSIGN_OR_RETURN(const auto block, read_block(config));
  auto out = std::make_shared<Fp8Source>(std::move(source), block);
  ANEMONE_RETURN_IF_ERROR(out->fill());
  return std::shared_ptr<const WeightSource>(std::move(out));
}

}  // namespace anemone::checkpoint
