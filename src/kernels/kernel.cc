// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel.h"

namespace anemone::kernels {

std::int64_t KernelCall::integer(std::string_view parameter, std::int64_t fallback) const {
  return has(parameter) ? element_as_int(input(parameter), 0) : fallback;
}

double KernelCall::number(std::string_view parameter, double fallback) const {
  return has(parameter) ? element_as_double(input(parameter), 0) : fallback;
}

bool KernelCall::boolean(std::string_view parameter, bool fallback) const {
  return has(parameter) ? element_as_int(input(parameter), 0) != 0 : fallback;
}

std::optional<std::vector<std::int64_t>> KernelCall::ints(std::string_view parameter) const {
  if (!has(parameter)) return std::nullopt;
  return to_ints(input(parameter));
}

std::vector<std::int64_t> KernelCall::ints_or(std::string_view parameter,
                                              std::vector<std::int64_t> fallback) const {
  return has(parameter) ? to_ints(input(parameter)) : std::move(fallback);
}

}  // namespace anemone::kernels
