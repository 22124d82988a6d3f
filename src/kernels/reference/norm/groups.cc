// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/norm/groups.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "kernels/reference/common/elements.h"
#include "kernels/reference/linear/dot.h"

namespace anemone::kernels::reference {
namespace {

constexpr std::int64_t kGrainElements = 8 * 1024;

// Element offsets of all index tuples of the dimensions that have the flag `wanted`, row-major.
std::vector<std::int64_t> offsets_of(const Shape& shape, const std::vector<bool>& flags,
                                     bool wanted) {
  const std::vector<std::int64_t> strides = strides_of(shape);
  std::vector<std::int64_t> all{0};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (flags[d] != wanted) continue;
    std::vector<std::int64_t> next;
    next.reserve(all.size() * static_cast<std::size_t>(shape[d]));
    for (const std::int64_t base : all)
      for (std::int64_t i = 0; i < shape[d]; ++i) next.push_back(base + i * strides[d]);
    all = std::move(next);
  }
  return all;
}

template <typename T>
void transform_typed(const KernelCall& call, const std::vector<bool>& axes,
                     const std::function<void(std::span<float>, std::int64_t)>& f) {
  const TensorView x = call.input("x");
  const T* in = x.as<T>().data();
  T* out = call.output().as<T>().data();
  const std::vector<std::int64_t> inner = offsets_of(x.shape, axes, true);
  const std::vector<std::int64_t> outer = offsets_of(x.shape, axes, false);
  const auto count = static_cast<std::int64_t>(inner.size());
  call.threads().parallel_for(static_cast<std::int64_t>(outer.size()), kGrainElements / count,
                              [&](std::int64_t begin, std::int64_t end) {
                                std::vector<float> values(inner.size());
                                for (std::int64_t group = begin; group < end; ++group) {
                                  const std::int64_t base = outer[static_cast<std::size_t>(group)];
                                  for (std::size_t i = 0; i < inner.size(); ++i)
                                    values[i] = load_element(in[base + inner[i]]);
                                  f(values, group);
                                  for (std::size_t i = 0; i < inner.size(); ++i)
                                    out[base + inner[i]] = store_element<T>(values[i]);
                                }
                              });
}

}  // namespace

void transform_groups(const KernelCall& call, const std::vector<bool>& axes,
                      const std::function<void(std::span<float>, std::int64_t)>& f) {
  if (call.output().size() == 0) return;
  if (call.output().dtype == DType::kFp16) return transform_typed<Half>(call, axes, f);
  transform_typed<float>(call, axes, f);
}

void softmax(std::span<float> scores) {
  float highest = -std::numeric_limits<float>::infinity();
  for (const float score : scores) highest = std::max(highest, score);
  for (float& score : scores) score = std::exp(score - highest);
  const float total = sum(scores.data(), static_cast<std::int64_t>(scores.size()));
  for (float& score : scores) score /= total;
}

void standardize(std::span<float> values, float epsilon) {
  const auto n = static_cast<std::int64_t>(values.size());
  const float mean = sum(values.data(), n) / static_cast<float>(n);
  for (float& value : values) value -= mean;
  const float variance = dot(values.data(), values.data(), n) / static_cast<float>(n);
  const float scale = 1.0f / std::sqrt(variance + epsilon);
  for (float& value : values) value *= scale;
}

void scale_and_shift(std::span<float> values, const std::vector<float>& gamma,
                     const std::vector<float>& beta) {
  if (!gamma.empty())
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= gamma[i];
  if (!beta.empty())
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += beta[i];
}

std::vector<float> optional_floats(const KernelCall& call, std::string_view parameter) {
  return call.has(parameter) ? to_floats(call.input(parameter)) : std::vector<float>();
}

}  // namespace anemone::kernels::reference
