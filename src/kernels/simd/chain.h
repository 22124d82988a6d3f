// SPDX-License-Identifier: Apache-2.0
// A chain of elementwise operations as a short program over registers, each of which holds a block
// of elements in fp32, rounded to fp16. A chain of any length therefore reads its inputs and writes
// its result once, and gives the bits of its operations one after the other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anemone::kernels::simd {

enum class ChainOp : std::uint8_t {
  kLoad,  // out = input number a
  // out = op(a, b)
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMaximum,
  kMinimum,
  // out = op(a) with the parameters p and q
  kAbs,
  kSquare,
  kCube,
  kSqrt,
  kRsqrt,    // 1 / sqrt(a + p)
  kInverse,  // 1 / (a + p)
  kExp,
  kSigmoid,
  kSilu,
  kTanh,
  kErf,
  kGelu,
  kGeluTanh,
  kGeluSigmoid,  // a / (1 + e^-1.702a)
  kSoftplus,
  kSoftsign,
  kElu,              // a > 0 ? a : p * (e^a - 1)
  kLeakyRelu,        // a < 0 ? p * a : a
  kClip,             // to [p, q]
  kAtLeast,          // to [p, infinity]
  kThresholdedRelu,  // a < p ? 0 : a
  kSigmoidHard,      // p * a + q, to [0, 1]
};

// Used in place of a register number: the constant p (or q, for the second operand).
inline constexpr std::uint8_t kChainConstant = 255;

struct ChainStep {
  ChainOp op = ChainOp::kLoad;
  std::uint8_t out = 0;
  std::uint8_t a = 0;
  std::uint8_t b = 0;
  float p = 0;
  float q = 0;
};

inline constexpr int kChainRegisters = 16;
inline constexpr std::size_t kChainInputs = 32;
inline constexpr std::int64_t kChainBlock = 512;

// Element i of the result takes element (i / inner) % size of an input. This covers tensors of the
// same shape, and all that broadcast along neighbouring axes.
struct ChainInput {
  std::int64_t inner = 1;
  std::int64_t size = 1;
};

struct Chain {
  const ChainInput* inputs = nullptr;
  const ChainStep* steps = nullptr;  // the result of the last one is that of the chain
  std::int64_t length = 0;
};

}  // namespace anemone::kernels::simd
