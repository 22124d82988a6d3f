// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/export_tensors.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "checkpoint/safetensors.h"
#include "tensor/half.h"

namespace anemone::checkpoint {
namespace {

constexpr std::int64_t kElementsAtOnce = 1 << 20;

// A value that was finite may not become infinite.
Status check_half(const WeightRef& weight, std::span<const float> values) {
  for (const float value : values)
    if (std::isfinite(value) && std::abs(value) > kLargestHalf)
      return unsupported("[{}] expected values that fp16 can hold, got {}: use f32 or bf16",
                         weight.name, value);
  return {};
}

}  // namespace

Status export_tensors(const WeightSource& source, const std::string& path, DType dtype,
                      const ExportProgress& progress) {
  const std::vector<const WeightRef*> weights = source.all();
  std::vector<NamedType> types;
  std::uint64_t total = 0;
  for (const WeightRef* weight : weights) {
    types.push_back({weight->name, is_float(weight->dtype) ? dtype : weight->dtype, weight->shape});
    total += weight->bytes.size();
  }
  ANEMONE_ASSIGN_OR_RETURN(SafetensorsWriter writer, SafetensorsWriter::create(path, types));
  std::vector<float> values;
  std::uint64_t done = 0;
  for (const WeightRef* weight : weights) {
    const std::int64_t count = element_count(weight->shape);
    if (weight->decoder == nullptr && (!is_float(weight->dtype) || weight->dtype == dtype)) {
      const Status written = writer.append(weight->bytes);
      // First: the disk is not to blame for bytes that are no longer there.
      ANEMONE_RETURN_IF_ERROR(check_mapped_files());
      ANEMONE_RETURN_IF_ERROR(written);
    } else {
      for (std::int64_t begin = 0; begin < count; begin += kElementsAtOnce) {
        values.resize(static_cast<std::size_t>(std::min(kElementsAtOnce, count - begin)));
        read_floats(*weight, begin, values);
        if (dtype == DType::kFp16) ANEMONE_RETURN_IF_ERROR(check_half(*weight, values));
        Tensor piece(dtype, {static_cast<std::int64_t>(values.size())});
        store_floats(values, piece.mutable_view());
        ANEMONE_RETURN_IF_ERROR(writer.append(piece.view().bytes()));
        const auto share = static_cast<std::uint64_t>(begin) * weight->bytes.size() /
                           static_cast<std::uint64_t>(count);
        if (progress) progress(done + share, total, weight->name);
      }
    }
    ANEMONE_RETURN_IF_ERROR(check_mapped_files());
    weight->release();
    done += weight->bytes.size();
    if (progress) progress(done, total, weight->name);
  }
  return writer.commit();
}

}  // namespace anemone::checkpoint
