// SPDX-License-Identifier: Apache-2.0
// Norms and softmax take the elements of x in groups: all elements that differ only in some
// axes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

// Calls f(values, group) for each group of x: `values` are its elements as fp32, row-major in the
// axes that `axes` marks (one flag per dimension of x), `group` counts row-major in the other
// dimensions. What f leaves in `values` goes to output 0, rounded once. Groups run on all threads.
void transform_groups(const KernelCall& call, const std::vector<bool>& axes,
                      const std::function<void(std::span<float>, std::int64_t)>& f);

// Turns scores into exp(score - max) / sum. Gives NaN where all scores are -inf, as the formula
// does.
void softmax(std::span<float> scores);

// values -> (values - mean) / sqrt(population variance + epsilon).
void standardize(std::span<float> values, float epsilon);

// values[i] -> values[i] * gamma[i] + beta[i]; an empty vector leaves its factor or term out.
void scale_and_shift(std::span<float> values, const std::vector<float>& gamma,
                     const std::vector<float>& beta);

// Elements of an optional float parameter; empty when it is absent.
std::vector<float> optional_floats(const KernelCall& call, std::string_view parameter);

}  // namespace anemone::kernels::reference
