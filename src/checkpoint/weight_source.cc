// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/weight_source.h"

#include <cstring>

#include "base/check.h"

namespace anemone::checkpoint {

void WeightDecoder::read_quants(const WeightRef&, std::int64_t, std::span<std::int8_t>,
                                std::span<float>) const {
  ANEMONE_CHECK(quantized_form().has_value());  // who has one overrides this
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
      to_floats({reinterpret_cast<const Half*>(weight.bytes.data()) + first, out.size()}, out);
      return;
    case DType::kBf16:
      to_floats({reinterpret_cast<const BFloat16*>(weight.bytes.data()) + first, out.size()}, out);
      return;
    default:
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<float>(
            element_as_double(weight.view(), static_cast<std::int64_t>(first + i)));
  }
}

}  // namespace anemone::checkpoint
