// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/isa.h"

#include <array>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace anemone::kernels::simd {
namespace {

constexpr std::array<std::pair<Isa, std::string_view>, 7> kNames = {
    {{Isa::kPlain, "plain"},
     {Isa::kNeon, "neon"},
     {Isa::kAvx2, "avx2"},
     {Isa::kAvx512, "avx512"},
     {Isa::kAvx512Vnni, "avx512vnni"},
     {Isa::kAvx512Vbmi, "avx512vbmi"},
     {Isa::kAmx, "amx"}}};

#if defined(__x86_64__)
bool has_bit(unsigned value, int bit) {
  return (value >> bit & 1) != 0;
}

// The state components that the system saves.
unsigned saved_state() {
  unsigned low = 0;
  unsigned high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

// Leaf 7: AMX-TILE is bit 24 and AMX-INT8 bit 25 of EDX, AMX-BF16 bit 22. The tile registers are
// state components 17 and 18; Linux gives the second to a process that asks for it
// (ARCH_REQ_XCOMP_PERM).
bool may_use_amx(unsigned edx) {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  constexpr unsigned kTileState = 3u << 17;
  return has_bit(edx, 24) && has_bit(edx, 25) && has_bit(edx, 22) &&
         (saved_state() & kTileState) == kTileState &&
         ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return edx == 0 && false;
#endif
}

void add_x86(std::vector<Isa>& out) {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || !has_bit(c, 27)) return;  // OSXSAVE
  const bool has_fma_and_f16c = has_bit(c, 12) && has_bit(c, 29);
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return;
  constexpr unsigned kYmm = 6;
  constexpr unsigned kZmm = 0xe6;
  const unsigned saved = saved_state();
  if (!has_fma_and_f16c || !has_bit(b, 5) || (saved & kYmm) != kYmm) return;
  out.push_back(Isa::kAvx2);
  // The bits of AVX-512 F, DQ, BW and VL.
  const bool has_avx512 = has_bit(b, 16) && has_bit(b, 17) && has_bit(b, 30) && has_bit(b, 31) &&
                          (saved & kZmm) == kZmm;
  if (!has_avx512) return;
  out.push_back(Isa::kAvx512);
  if (!has_bit(c, 11)) return;
  out.push_back(Isa::kAvx512Vnni);
  if (!has_bit(c, 1)) return;
  out.push_back(Isa::kAvx512Vbmi);
  if (may_use_amx(d)) out.push_back(Isa::kAmx);
}
#endif

}  // namespace

std::string_view isa_name(Isa isa) {
  for (const auto& [known, name] : kNames)
    if (known == isa) return name;
  return "";
}

std::optional<Isa> parse_isa(std::string_view name) {
  for (const auto& [isa, known] : kNames)
    if (known == name) return isa;
  return std::nullopt;
}

std::vector<Isa> known_isas() {
  std::vector<Isa> all;
  for (const auto& [isa, name] : kNames) all.push_back(isa);
  return all;
}

std::vector<Isa> supported_isas() {
  static const std::vector<Isa> found = [] {
    std::vector<Isa> out = {Isa::kPlain};
#if defined(__aarch64__)
    out.push_back(Isa::kNeon);
#elif defined(__x86_64__)
    add_x86(out);
#endif
    return out;
  }();
  return found;
}

Isa best_isa() {
  return supported_isas().back();
}

}  // namespace anemone::kernels::simd
