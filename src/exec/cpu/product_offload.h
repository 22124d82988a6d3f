// SPDX-License-Identifier: Apache-2.0
// How something other than the CPU takes products with constant matrices off the CPU engine, which
// keeps everything else: attention, norms, caches. The CPU engine offers each product when it plans
// a function, and computes itself what nobody takes and what fails later.
#pragma once

#include <cstdint>
#include <memory>

#include "tensor/half.h"
#include "tensor/tensor.h"

namespace anemone::exec {

// Activations of some tokens: channel c of token t at data[c * channel_stride + t * token_stride].
template <typename Element>
struct ProductTokens {
  Element* data = nullptr;
  std::int64_t channel_stride = 1;
  std::int64_t token_stride = 1;
};

// A product that was taken. Thread-safe; shared by all plans that have it.
class OffloadedProduct {
 public:
  virtual ~OffloadedProduct() = default;
  // y = weights x + bias for `count` tokens. False: not computed, y is unspecified, and the CPU
  // computes it.
  virtual bool run(const ProductTokens<const Half>& x, std::int64_t count,
                   const ProductTokens<Half>& y) const = 0;
};

// What is offered. It lives for the call.
class ProductOffer {
 public:
  virtual ~ProductOffer() = default;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t k() const = 0;
  // The addresses of the weights and of the bias in the package, or null. As long as a product that
  // was taken lives, these and the sizes name it: an offer with the same has the same elements.
  virtual const void* weights_key() const = 0;
  virtual const void* bias_key() const = 0;
  virtual Tensor weights() const = 0;  // fp16 [rows, k], made anew from the form of the package
  virtual Tensor bias() const = 0;     // fp16 [rows], or empty
};

// Thread-safe.
class ProductOffload {
 public:
  virtual ~ProductOffload() = default;
  // nullptr: the CPU keeps the product.
  virtual std::shared_ptr<const OffloadedProduct> offer(const ProductOffer& product) = 0;
};

}  // namespace anemone::exec
