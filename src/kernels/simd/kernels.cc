// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/kernels.h"

#include "kernels/simd/int8_split.h"

namespace anemone::kernels::simd {

namespace plain {
extern const Kernels kKernels;
}
#if defined(__x86_64__)
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
namespace int8_split {
extern const BlockProducts kVnniProducts;
extern const BlockProducts kAmxProducts;
}  // namespace int8_split
#elif defined(__aarch64__)
namespace neon {
extern const Kernels kKernels;
}
#endif

std::string_view Matrix::form_name() const {
  switch (form) {
    case Form::kFloat:
      return "fp32";
    case Form::kHalf:
      return "fp16";
    case Form::kInt8:
      return "int8";
    case Form::kInt4:
      return "int4";
    case Form::kPalette:
      return bits == 4 ? "lut4" : bits == 6 ? "lut6" : "lut8";
  }
  return "";
}

const Kernels& kernels_of(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
      return avx2::kKernels;
    case Isa::kAvx512:
    case Isa::kAvx512Vnni:
    case Isa::kAmx:
      return avx512::kKernels;
#elif defined(__aarch64__)
    case Isa::kNeon:
      return neon::kKernels;
#endif
    default:
      return plain::kKernels;
  }
}

const int8_split::BlockProducts* int8_split::block_products_of([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512Vnni) return &kVnniProducts;
  if (isa == Isa::kAmx) return &kAmxProducts;
#endif
  return nullptr;
}

}  // namespace anemone::kernels::simd
