// SPDX-License-Identifier: Apache-2.0
#include "values/fill.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "values/convert.h"

namespace anemone::values {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 30;

Status check_size(const Shape& shape, std::string_view subject) {
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t elements, checked_element_count(shape));
  if (elements <= kMostElements) return {};
  return invalid_argument("[{}] expected a shape of at most {} elements, got {}", subject,
                          kMostElements, to_string(shape));
}

}  // namespace

Result<Tensor> filled(DType dtype, const Shape& shape, std::int64_t value,
                      std::string_view subject) {
  ANEMONE_RETURN_IF_ERROR(check_size(shape, subject));
  Tensor out(DType::kInt64, shape);
  std::ranges::fill(out.mutable_view().as<std::int64_t>(), value);
  return convert(out.view(), dtype, subject);
}

Result<Tensor> random(DType dtype, const Shape& shape, std::uint64_t seed, bool is_picture,
                      std::string_view subject) {
  ANEMONE_RETURN_IF_ERROR(check_size(shape, subject));
  // The distributions of the standard library differ from one library to the next.
  std::mt19937_64 generator(seed);
  const double steps = dtype == DType::kFp32 ? 0x1p24 : dtype == DType::kFp16 ? 0x1p11 : 0x1p8;
  Tensor out(DType::kFp64, shape);
  for (double& value : out.mutable_view().as<double>()) {
    value = static_cast<double>(generator() >> 11) * 0x1p-53;
    if (is_picture)
      value = std::floor(value * 256);
    else if (!is_float(dtype))
      value = std::floor(value * 2);
    else if (dtype != DType::kFp64)
      value = std::floor(value * steps) / steps;  // a number of the type, so none is rounded to 1
  }
  return convert(out.view(), dtype, subject);
}

}  // namespace anemone::values
