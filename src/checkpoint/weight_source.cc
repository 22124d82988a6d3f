// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/weight_source.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"

namespace anemone::checkpoint {
namespace {

// Elements of 16 bits from any address: a safetensors file may have a header of any length, and the
// tensors lie behind it.
template <typename T>
void read_halves(const std::byte* bytes, std::span<float> out) {
  std::array<T, 512> block;
  while (!out.empty()) {
    const std::size_t count = std::min(block.size(), out.size());
    std::memcpy(block.data(), bytes, count * sizeof(T));
    to_floats(std::span<const T>(block).first(count), out.first(count));
    bytes += count * sizeof(T);
    out = out.subspan(count);
  }
}

}  // namespace

void WeightDecoder::read_quants(const WeightRef&, std::int64_t, std::span<std::int8_t>,
                                std::span<float>) const {
  ANEMONE_CHECK(quantized_form().has_value());  // who has one overrides this
}

void WeightDecoder::read_minimums(const WeightRef&, std::int64_t, std::span<float>) const {
  const auto form = quantized_form();
  ANEMONE_CHECK(form.has_value() && form->has_minimums);  // who has them overrides this
}

const WeightRef* WeightMap::find(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? nullptr : &it->second;
}

std::vector<const WeightRef*> WeightMap::all() const {
  std::vector<const WeightRef*> out;
  for (const auto& [name, weight] : tensors_) out.push_back(&weight);
  return out;
}

bool WeightMap::add(std::string name, WeightRef weight) {
  weight.name = name;
  return tensors_.emplace(std::move(name), std::move(weight)).second;
}

void read_floats(const WeightRef& weight, std::int64_t begin, std::span<float> out) {
  if (weight.decoder != nullptr) return weight.decoder->read(weight, begin, out);
  const auto first = static_cast<std::size_t>(begin);
  switch (weight.dtype) {
    case DType::kFp32:
      if (!out.empty())
        std::memcpy(out.data(), weight.bytes.data() + first * sizeof(float),
                    out.size() * sizeof(float));
      return;
    case DType::kFp16:
      read_halves<Half>(weight.bytes.data() + first * sizeof(Half), out);
      return;
    case DType::kBf16:
      read_halves<BFloat16>(weight.bytes.data() + first * sizeof(BFloat16), out);
      return;
    default:
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<float>(
            element_as_double(weight.view(), static_cast<std::int64_t>(first + i)));
  }
}

}  // namespace anemone::checkpoint
