// SPDX-License-Identifier: Apache-2.0
// Which operations are products: what the Neural Engine is for, and what reports of placement
// count.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace anemone::ops {

// Convolutions, linear operations, matrix products, attention and recurrent layers. `type` is
// without an opset.
constexpr bool is_product(std::string_view type) {
  constexpr std::array<std::string_view, 9> kTypes = {"conv",   "conv_transpose",
                                                      "linear", "matmul",
                                                      "einsum", "scaled_dot_product_attention",
                                                      "lstm",   "gru",
                                                      "rnn"};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

}  // namespace anemone::ops
