// SPDX-License-Identifier: Apache-2.0
#include "bench/machine_rates.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "base/huge_pages.h"
#include "base/machine.h"
#include "base/thread_pool.h"
#include "kernels/simd/isa.h"
#include "kernels/simd/peak.h"
#include "kernels/simd/prefetch.h"

namespace anemone::bench {
namespace {

using Clock = std::chrono::steady_clock;
using kernels::simd::Peak;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr int kTries = 5;
constexpr std::size_t kBlockBytes = 4 << 20;  // what a thread reads in one call

using Word = std::uint64_t __attribute__((vector_size(16)));

// Sums over several chains, so that enough loads are in flight and only memory limits the speed.
// Prefetches as products do: loads alone leave a quarter of the speed unused on processors whose
// own prefetchers are weak or off.
std::uint64_t sum_of(const std::byte* at, std::size_t bytes) {
  constexpr std::size_t kWords = 8;
  constexpr std::size_t kLine = 64;
  Word sums[kWords] = {};
  for (std::size_t i = 0; i < bytes; i += kWords * sizeof(Word)) {
    for (std::size_t line = 0; line < kWords * sizeof(Word); line += kLine)
      kernels::simd::prefetch_twice(at + i + line);
    for (std::size_t w = 0; w < kWords; ++w)
      sums[w] += *reinterpret_cast<const Word*>(at + i + w * sizeof(Word));
  }
  std::uint64_t total = 0;
  for (const Word& sum : sums) total += sum[0] + sum[1];
  return total;
}

double read_gb_s(ThreadPool& threads) {
  std::size_t bytes = std::size_t{512} << 20;
  const Machine machine = describe_machine();
  const std::uint64_t available =
      std::min(machine.memory_available_bytes,
               machine.cgroup.memory_bytes.value_or(machine.memory_available_bytes));
  while (available > 0 && bytes > available / 8 && bytes > (std::size_t{32} << 20)) bytes /= 2;
  // With small pages this would measure the page tables.
  const HugePages memory = allocate_huge_pages(bytes);
  if (memory == nullptr) return 0;
  const auto blocks = static_cast<std::int64_t>(bytes / kBlockBytes);
  threads.parallel_for(blocks, 1, [&](std::int64_t block, std::int64_t) {
    std::memset(memory.get() + static_cast<std::size_t>(block) * kBlockBytes, 1, kBlockBytes);
  });
  std::atomic<std::uint64_t> total = 0;
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto start = Clock::now();
    threads.parallel_for(blocks, 1, [&](std::int64_t block, std::int64_t) {
      total += sum_of(memory.get() + static_cast<std::size_t>(block) * kBlockBytes, kBlockBytes);
    });
    best = std::max(best, static_cast<double>(bytes) / seconds_since(start));
  }
  // Uses the sums, or the compiler would drop the loop; of so many equal bytes they are never zero.
  return total == 0 ? 0 : best * 1e-9;
}

// 10^12 operations per second.
double rate_of(const Peak& peak, ThreadPool& threads) {
  constexpr double kTrySeconds = 0.02;
  constexpr std::int64_t kFirst = 1000;
  const auto start = Clock::now();
  peak.run(kFirst);
  const double once = std::max(seconds_since(start), 1e-7);
  // Eight ranges per thread, so that a thread that starts late takes fewer.
  const std::int64_t ranges = 8 * threads.threads();
  const auto rounds =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(kTrySeconds / 8 / once * kFirst));
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto begin = Clock::now();
    threads.parallel_for(ranges, 1, [&](std::int64_t, std::int64_t) { peak.run(rounds); });
    best = std::max(best,
                    peak.operations * static_cast<double>(rounds * ranges) / seconds_since(begin));
  }
  return best * 1e-12;
}

}  // namespace

MachineRates measure_machine(int threads, std::string_view isa_name) {
  ThreadPool pool(threads);
  const kernels::simd::Isa isa =
      kernels::simd::parse_isa(isa_name).value_or(kernels::simd::best_isa());
  const Peak int8 = kernels::simd::int8_peak(isa);
  const Peak bf16 = kernels::simd::bf16_peak(isa);
  MachineRates out;
  out.read_gb_s = read_gb_s(pool);
  out.int8_tops = rate_of(int8, pool);
  out.bf16_tflops = rate_of(bf16, pool);
  out.int8_with = int8.instructions;
  out.bf16_with = bf16.instructions;
  return out;
}

}  // namespace anemone::bench
