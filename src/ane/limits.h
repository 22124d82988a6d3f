// SPDX-License-Identifier: Apache-2.0
// What is known about the chip, as data. Each number has its source; docs/guide says more.
#pragma once

#include <cstdint>

namespace anemone::ane {

// Weights of one package. Apple publishes no number; the ane-book found every dense INT8 shard up
// to 223 MB resident and calls 250 MB the ceiling (larger ones were sometimes fine, sometimes moved
// to the CPU without a word).
inline constexpr std::uint64_t kShardBytes = 250'000'000;

// Weights of one package of experts. A package without states is moved to the CPU at a smaller size
// than one with states. The largest of a published stack of expert packages has 216 MB; 364 MB gave
// wrong tokens.
inline constexpr std::uint64_t kExpertPackBytes = 220'000'000;

// Weights of one package above which everything was seen on the CPU: 2.3 GB of Phi-4-mini were,
// 2.0 GB of it were on the chip (ane-book).
inline constexpr std::uint64_t kMaxPackageBytes = 2'100'000'000;

// Below these Core ML takes the CPU for cheaper. What was seen there has less than 0.1 MB, and 25
// MB; against the second one, packages of 2.4 and 8 MB were on the chip (ane-book).
inline constexpr std::uint64_t kTinyFunctionBytes = 1'000'000;
inline constexpr std::uint64_t kSmallPackageBytes = 50'000'000;

// Largest dimension of a tensor that every chip which was tried takes. M1, M2 and M2 Pro refuse
// longer ones (mobius#61, ANEForge#152), others were seen to take them.
inline constexpr std::int64_t kMaxChannels = 16'384;

// Most columns of a head whose package gives one output, above what some chips take: what the form
// blend-states has had from the first.
inline constexpr std::int64_t kMaxWholeHead = 65'536;

// Most layers and operations, constants not counted, of a function of a package: ANEForge#254 saw a
// failure at about 31 layers whatever their width, speech-swift#282 at 28 where 14 work. Against
// it, mobius#77 ran 1,919 operations.
inline constexpr std::int64_t kMaxLayers = 16;
inline constexpr std::int64_t kMaxOperations = 1'500;

// The chip deals the outputs of a product to so many cores, and each streams the weights of its
// own. Within kNotchWindow bytes of a multiple of kNotchPeriod the prefetch stops, and 17-19 GB/s
// remain of 45-60 (stablehlo-coreml#110, measured with fp16 on an M4).
inline constexpr std::int64_t kCores = 16;
inline constexpr std::uint64_t kNotchPeriod = 1 << 20;
inline constexpr std::uint64_t kNotchWindow = 16 << 10;

// Head ranges are multiples of this, so that the last axis of a logits tensor is 64-byte aligned in
// fp16.
inline constexpr std::int64_t kChannelMultiple = 32;

// A page of memory of an Apple chip, which a smaller tensor occupies anyway.
inline constexpr std::uint64_t kPageBytes = 16'384;

}  // namespace anemone::ane
