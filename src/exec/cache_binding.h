// SPDX-License-Identifier: Apache-2.0
// Caches that the caller owns. A run that takes one as a binding, and not as an input and an
// output, leaves what it stored in it, so that the next run of the same call sees it; an executor
// may work on the caller's memory and copy nothing.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "exec/executor.h"
#include "tensor/tensor.h"

namespace anemone::exec {

struct CacheBinding {
  enum class Kind {
    // The function takes the whole cache, of any shape, and gives it as it is after the step. The
    // storage of `cache` may be exchanged for another one.
    kReplace,
    // The function takes S positions of the cache, [1, heads, S, dim], and gives the rows of its T
    // tokens, [1, heads, T, dim]. The first `count` of them go to `position` and the positions
    // after it. `cache` is [1, heads, P, dim], where P may be more than S:
    //   0 <= position, 0 <= count <= T, position + count <= P.
    // The S positions are the first ones, and position <= S. A step whose tokens attend to a
    // `window` of at most S + 1 positions may have a larger position: then they are the last S
    // positions before it. Where the function leaves S open, `past` is S.
    kAppend,
  };
  // Names of the function's input and output, which are not among the inputs of the run; whether
  // the output is among its outputs afterwards is open. They outlive the run.
  std::string_view input;
  std::string_view output;
  Kind kind = Kind::kReplace;
  // Has the dtype of the input and the output, and outlives the run. After an error its values are
  // unspecified, unless the error is one of the inputs.
  Tensor* cache = nullptr;
  std::int64_t position = 0;  // kAppend
  std::int64_t count = 0;     // kAppend
  std::int64_t window = 0;    // kAppend; 0: none
  std::int64_t past = 0;      // kAppend: S of a function that leaves it open
};

// The shape that a function takes of a cache that is appended to. `declared` is the shape of its
// input; where that leaves the positions open, `binding.past` says how many they are.
Shape taken_shape(const Shape& declared, const CacheBinding& binding);

// Bindings are found by their inputs (base/name_index.h).
inline std::string_view name_of(const CacheBinding& binding) {
  return binding.input;
}

// kInvalidArgument where a binding does not fit the function: names, dtypes, shapes, positions.
Status check_binding(const Signature& signature, const CacheBinding& binding);
// The same for the input and the output of its names; nullptr where the function has none.
Status check_binding(const Feature* input, const Feature* output, const CacheBinding& binding);

// Does a run with bindings for an executor or a function that works on tensors alone. `run` gets
// the inputs of the item and the caches as inputs, and its outputs are then put into the caches.
// `bindings` were checked.
Status run_with_tensors(const BatchItem& item, std::span<const CacheBinding> bindings,
                        const Signature& signature,
                        const std::function<Status(const Inputs&, Outputs&)>& run);

}  // namespace anemone::exec
