// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/kernels.h"

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
namespace avx512vnni {
void attend(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
            float* scratch);
}
namespace amx {
void attend(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
            float* scratch);
}
namespace {
Kernels avx512_with(const Int8Kernels& int8) {
  Kernels kernels = avx512::kKernels;
  kernels.int8 = &int8;
  kernels.attend = avx512vnni::attend;
  kernels.attend_rows = 512;  // they share the integers that keys and values become
  return kernels;
}
}  // namespace
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
      return has_row_scale() ? "int8" : "int8-block";
    case Form::kInt4:
      return has_row_scale() ? "int4" : "int4-block";
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
      return avx512::kKernels;
    case Isa::kAvx512Vnni: {
      static const Kernels kernels = avx512_with(int8_split::kVnniKernels);
      return kernels;
    }
    case Isa::kAvx512Vbmi: {
      static const Kernels kernels = avx512_with(
          __builtin_cpu_is("amd") != 0 ? int8_split::kZenKernels : int8_split::kVbmiKernels);
      return kernels;
    }
    case Isa::kAmx: {
      static const Kernels kernels = [] {
        Kernels some = avx512_with(int8_split::kAmxKernels);
        some.attend = amx::attend;
        some.attend_rows = 512;  // they share the tiles that keys and values become
        return some;
      }();
      return kernels;
    }
#elif defined(__aarch64__)
    case Isa::kNeon:
      return neon::kKernels;
#endif
    default:
      return plain::kKernels;
  }
}

}  // namespace anemone::kernels::simd
