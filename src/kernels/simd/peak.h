// SPDX-License-Identifier: Apache-2.0
// How fast one core multiplies at best, with all operands in registers: what measured speeds are
// compared with. Nothing is computed with it.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/simd/isa.h"

namespace anemone::kernels::simd {

struct Peak {
  std::string_view instructions;  // "amx-int8", "avx512vnni", "avx2-fp32"
  double operations = 0;          // multiplications and additions of one round
  void (*run)(std::int64_t rounds) = nullptr;
};

// The highest rate of products of 8-bit integers with sums of at least 16 bits, and of products of
// bf16 with sums of fp32 (of fp32 where kernels do not use bf16). They use the fastest instructions
// that `isa` stands for, which supported_isas() lists. Thread-safe.
Peak int8_peak(Isa isa);
Peak bf16_peak(Isa isa);

}  // namespace anemone::kernels::simd
