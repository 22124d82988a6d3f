// SPDX-License-Identifier: Apache-2.0
// Chains of elementwise operations, over the vectors of one instruction set. An element's result
// does not depend on where its block begins. Every step's result is rounded to fp16, as the program
// says it: which operations form a chain depends on the shapes, and so on the width of a step,
// which must not show in the bits.
#pragma once

#include "kernels/simd/chain.h"
#include "kernels/simd/functions.h"
#include "kernels/simd/kernels.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// Elements [begin, begin + count) of a chain's result, which take those of `in` as `form` says.
inline void load_chain_input(const Half* in, const ChainInput& form, std::int64_t begin,
                             std::int64_t count, float* out) {
  std::int64_t source = begin / form.inner % form.size;
  std::int64_t within = begin % form.inner;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t left = count - done;
    std::int64_t run = 0;
    if (form.inner == 1 && form.size > 1) {
      run = form.size - source < left ? form.size - source : left;
      to_floats(in + source, out + done, run);
      source += run;
    } else {
      run = form.size == 1 || form.inner - within > left ? left : form.inner - within;
      const float value = to_float(in[source]);
      for (std::int64_t i = 0; i < run; ++i) out[done + i] = value;
      ++source;
      within = 0;
    }
    if (source >= form.size) source = 0;
    done += run;
  }
}

using ChainRegisters = float (*)[kChainBlock];

template <typename F>
inline void map_one(const ChainStep& step, ChainRegisters registers, std::int64_t count, F f) {
  const float* a = registers[step.a];
  float* out = registers[step.out];
  for (std::int64_t i = 0; i < count; i += kWidth) store(out + i, f(load(a + i)));
}

template <typename F>
inline void map_two(const ChainStep& step, ChainRegisters registers, std::int64_t count, F f) {
  float* out = registers[step.out];
  if (step.a == kChainConstant) {
    const Floats p = broadcast(step.p);
    const float* b = registers[step.b];
    for (std::int64_t i = 0; i < count; i += kWidth) store(out + i, f(p, load(b + i)));
    return;
  }
  const float* a = registers[step.a];
  if (step.b == kChainConstant) {
    const Floats q = broadcast(step.q);
    for (std::int64_t i = 0; i < count; i += kWidth) store(out + i, f(load(a + i), q));
    return;
  }
  const float* b = registers[step.b];
  for (std::int64_t i = 0; i < count; i += kWidth) store(out + i, f(load(a + i), load(b + i)));
}

// Compares in the way of the reference kernels, so that NaN has the same effect.
inline void run_chain_step(const ChainStep& step, ChainRegisters registers, std::int64_t count) {
  const Floats p = broadcast(step.p);
  const Floats q = broadcast(step.q);
  const Floats zero{};
  const Floats one = broadcast(1.0f);
  const auto two = [&](auto f) { map_two(step, registers, count, f); };
  const auto map = [&](auto f) { map_one(step, registers, count, f); };
  switch (step.op) {
    case ChainOp::kLoad:
      return;
    case ChainOp::kAdd:
      return two([](Floats a, Floats b) { return a + b; });
    case ChainOp::kSub:
      return two([](Floats a, Floats b) { return a - b; });
    case ChainOp::kMul:
      return two([](Floats a, Floats b) { return a * b; });
    case ChainOp::kDiv:
      return two([](Floats a, Floats b) { return a / b; });
    case ChainOp::kMaximum:
      return two([](Floats a, Floats b) { return ((a > b) | (a != a)) ? a : b; });
    case ChainOp::kMinimum:
      return two([](Floats a, Floats b) { return ((a < b) | (a != a)) ? a : b; });
    case ChainOp::kAbs:
      return map([](Floats a) { return abs(a); });
    case ChainOp::kSquare:
      return map([](Floats a) { return a * a; });
    case ChainOp::kCube:
      return map([](Floats a) { return a * a * a; });
    case ChainOp::kSqrt:
      return map([](Floats a) { return sqrt(a); });
    case ChainOp::kRsqrt:
      return map([=](Floats a) { return one / sqrt(a + p); });
    case ChainOp::kInverse:
      return map([=](Floats a) { return one / (a + p); });
    case ChainOp::kExp:
      return map([](Floats a) { return unbounded_exp(a); });
    case ChainOp::kSigmoid:
      return map([](Floats a) { return sigmoid(a); });
    case ChainOp::kSilu:
      return map([](Floats a) { return times_sigmoid(a, a); });
    case ChainOp::kTanh:
      return map([](Floats a) { return tanh(a); });
    case ChainOp::kErf:
      return map([](Floats a) { return erf(a); });
    case ChainOp::kGelu:
      return map([](Floats a) { return gelu(a); });
    case ChainOp::kGeluTanh:
      return map([](Floats a) { return gelu_of_tanh(a); });
    case ChainOp::kGeluSigmoid:
      return map([](Floats a) { return times_sigmoid(a, 1.702f * a); });
    case ChainOp::kSoftplus:
      return map([](Floats a) { return softplus(a); });
    case ChainOp::kSoftsign:
      return map([=](Floats a) { return a / (one + abs(a)); });
    case ChainOp::kElu:
      return map([=](Floats a) { return a > zero ? a : p * exp_minus_1(a); });
    case ChainOp::kLeakyRelu:
      return map([=](Floats a) { return a < zero ? p * a : a; });
    case ChainOp::kClip:
      return map([=](Floats a) {
        const Floats low = a < p ? p : a;
        return low > q ? q : low;
      });
    case ChainOp::kAtLeast:
      return map([=](Floats a) { return a < p ? p : a; });
    case ChainOp::kThresholdedRelu:
      return map([=](Floats a) { return a < p ? zero : a; });
    case ChainOp::kSigmoidHard:
      return map([=](Floats a) {
        const Floats y = p * a + q;
        const Floats low = y < zero ? zero : y;
        return low > one ? one : low;
      });
  }
}

inline void run_chain(const Chain& chain, const Half* const* inputs, std::int64_t begin,
                      std::int64_t end, Half* out) {
  alignas(64) float registers[kChainRegisters][kChainBlock];
  for (; begin < end; begin += kChainBlock) {
    const std::int64_t count = end - begin < kChainBlock ? end - begin : kChainBlock;
    const std::int64_t padded = (count + kWidth - 1) / kWidth * kWidth;
    for (std::int64_t s = 0; s < chain.length; ++s) {
      const ChainStep& step = chain.steps[s];
      if (step.op != ChainOp::kLoad) {
        run_chain_step(step, registers, padded);
        if (s + 1 == chain.length) continue;
        float* made = registers[step.out];
        for (std::int64_t i = 0; i < padded; i += kWidth)
          store(made + i, nearest_halves(load(made + i)));
        continue;
      }
      float* loaded = registers[step.out];
      load_chain_input(inputs[step.a], chain.inputs[step.a], begin, count, loaded);
      for (std::int64_t i = count; i < padded; ++i) loaded[i] = 0;
    }
    to_halves(registers[chain.steps[chain.length - 1].out], out + begin, count);
  }
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
