// SPDX-License-Identifier: Apache-2.0
// Kernels are pure functions over tensors: they know nothing of programs. Each gets its operands by
// the parameter names of the MIL operation, and outputs that are already allocated with the final
// shapes.
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "tensor/tensor.h"

namespace anemone::kernels {

// The operands of one call. All shapes are static. Output storage never overlaps an input, but that
// it may be the operand that the kernel updates (KernelEntry), and may hold garbage. Operands were
// checked by the operation's type rule: kernels check only what the rule cannot see
// (values, such as an index out of range).
class KernelCall {
 public:
  virtual ~KernelCall() = default;
  // Number of arguments of a parameter; 0 when absent: then the operation's default applies.
  virtual std::size_t count(std::string_view parameter) const = 0;
  virtual TensorView input(std::string_view parameter, std::size_t i = 0) const = 0;
  // A scalar string parameter; `fallback` when absent.
  virtual std::string_view text(std::string_view parameter, std::string_view fallback) const = 0;
  virtual std::size_t output_count() const = 0;
  virtual MutableTensorView output(std::size_t i = 0) const = 0;
  virtual ThreadPool& threads() const = 0;

  bool has(std::string_view parameter) const { return count(parameter) > 0; }
  // Scalars and short vectors of parameters, with the operation's default.
  std::int64_t integer(std::string_view parameter, std::int64_t fallback) const;
  double number(std::string_view parameter, double fallback) const;
  bool boolean(std::string_view parameter, bool fallback) const;
  std::optional<std::vector<std::int64_t>> ints(std::string_view parameter) const;
  std::vector<std::int64_t> ints_or(std::string_view parameter,
                                    std::vector<std::int64_t> fallback) const;
};

using Kernel = Status (*)(const KernelCall&);

// Operation name -> kernel. The reference table has every operation of the registry that computes
// (not const, states, control flow: the interpreter does those itself).
struct KernelEntry {
  std::string_view op;
  Kernel kernel;
  // The operand whose values the output has where nothing else is written, and in whose memory the
  // kernel may be asked to work; empty: none.
  std::string_view updates = {};
};
Kernel find_reference_kernel(std::string_view op);                // nullptr when there is none
std::string_view updated_operand_of_kernel(std::string_view op);  // KernelEntry::updates

}  // namespace anemone::kernels
