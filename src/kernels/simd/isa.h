// SPDX-License-Identifier: Apache-2.0
// Which vector instructions the kernels of this folder use, chosen at run time.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace anemone::kernels::simd {

// The instruction sets from the plainest on; each of x86 has those before it. kPlain is what the
// compiler makes for any processor of the architecture.
enum class Isa { kPlain, kNeon, kAvx2, kAvx512, kAvx512Vnni, kAvx512Vbmi, kAmx };

// "plain", "neon", "avx2", "avx512", "avx512vnni", "avx512vbmi", "amx"
std::string_view isa_name(Isa isa);
std::optional<Isa> parse_isa(std::string_view name);

// All of them, whatever this build has.
std::vector<Isa> known_isas();

// What this build has and this processor can run, from the plainest to the best. AMX is there when
// the system lets the process use its registers.
std::vector<Isa> supported_isas();
Isa best_isa();

}  // namespace anemone::kernels::simd
