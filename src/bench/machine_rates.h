// SPDX-License-Identifier: Apache-2.0
// What the machine can do at best, measured: the limit that speeds are compared with.
#pragma once

#include <string>
#include <string_view>

namespace anemone::bench {

struct MachineRates {
  double read_gb_s = 0;    // from memory, over a buffer that no cache holds
  double int8_tops = 0;    // 10^12 multiplications and additions of 8-bit integers per second
  double bf16_tflops = 0;  // of bf16, or of fp32 where kernels do not use bf16
  std::string int8_with;   // the instructions: "amx-int8"
  std::string bf16_with;
};

// Takes about a second. All figures are those of `threads` threads together, the best of several
// tries, since what else runs can only make them smaller. `isa`: the instructions that the model
// will use, by their name ("avx2"); any other name: the best of this processor. Of memory, at most
// an eighth of what is available is taken, 512 MiB if possible.
MachineRates measure_machine(int threads, std::string_view isa);

}  // namespace anemone::bench
