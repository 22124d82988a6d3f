// SPDX-License-Identifier: Apache-2.0
// The graphs of probes that are no compiled models: some layers of an MLP, which keep Core ML from
// leaving the package to the CPU, with what the probe is about between them. For most of them the
// compiler has no form. It has one for taps and for softplus, but in a model with delta nets a slow
// or wrong answer could come from any of their operations, and here only from the one in question.
#pragma once

#include <anemone/status.h>

#include <cstdint>

#include "mlpackage/model.h"
#include "probe/probe.h"

namespace anemone::probe {

struct BuiltGraph {
  mlpackage::Model model;
  std::uint64_t weight_bytes = 0;
};

// One function, "main". Its masks are called attention_mask [1, 1, 1, S], write_mask and keep_mask
// [1, 1, S, 1]; every other input takes any numbers. Weights are made when they are written.
Result<BuiltGraph> build_graph(const Build& build, const Sizes& sizes, std::uint64_t seed);

}  // namespace anemone::probe
