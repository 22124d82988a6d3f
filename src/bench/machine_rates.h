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

// Measures for about a second. Each figure is the rate of `threads` threads together, the best of
// several tries, since other load can only make it smaller. `isa`: name of the instruction set that
// the model will use ("avx2"); any other name: the best of this processor. The memory test takes at
// most an eighth of the available memory, and 512 MiB if possible.
MachineRates measure_machine(int threads, std::string_view isa);

}  // namespace anemone::bench
