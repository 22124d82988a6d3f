// SPDX-License-Identifier: Apache-2.0
// Products with constant matrices on the Neural Engine: what a language model spends its time with.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "exec/ane_direct/columns.h"
#include "exec/ane_direct/device.h"
#include "exec/ane_direct/loaded_program.h"
#include "ir/program.h"
#include "tensor/tensor.h"

namespace anemone::exec::ane_direct {

// Most channels of an input or output, which every chip that was tried takes; some refuse more.
inline constexpr std::int64_t kMostChannels = 16'384;

// One matrix of a kernel: y = weights x + bias.
struct KernelMatrix {
  Tensor weights;  // fp16 [rows, k], row-major
  Tensor bias;     // fp16 [rows], or empty
};

// Products of several matrices with the same activations, in one program: one compilation and one
// dispatch for all of them, such as those of queries, keys and values.
struct KernelSpec {
  std::string name;  // for messages
  std::vector<KernelMatrix> matrices;
  // Tokens of one run; a multiple of kColumnMultiple. Fewer cost the same.
  std::int64_t columns = kColumnMultiple;
};

// The program of a kernel: 1x1 convolutions, and additions for the biases, since the private
// compiler takes no bias (law conv-bias). Input "i0_x" [1, k, 1, columns], outputs "o00_y",
// "o01_y", ... [1, rows, 1, columns]: names whose alphabetical order is that of the program.
// kUnsupported for sizes that no chip is known to take, kInvalidArgument for a spec that
// contradicts itself.
Result<ir::Program> kernel_program(const KernelSpec& spec, ir::Opset target);

// A kernel that is loaded and has computed what the CPU engine computes. Thread-safe; runs wait for
// each other.
class Kernel {
 public:
  // Largest difference from the CPU engine that a kernel may have, relative to the size of the
  // output (root of the mean of squares). Sums in fp16 stay below it; surfaces in a wrong order,
  // with wrong strides or of another kernel are far above.
  static constexpr double kMostError = 0.02;

  // Compiles, loads and compares. kDevice names the output that differs.
  static Result<std::unique_ptr<Kernel>> make(std::shared_ptr<const Device> device,
                                              KernelSpec spec);

  std::int64_t k() const { return k_; }
  // The products of `count` tokens, one output per matrix, in blocks of the kernel's columns.
  // kInvalidArgument for another number of outputs. After an error outputs are unspecified.
  Status run(const Columns<const Half>& x, std::int64_t count,
             std::span<const Columns<Half>> outputs);

 private:
  Kernel(std::unique_ptr<LoadedAneProgram> program, std::string name, std::int64_t k,
         std::size_t outputs, std::int64_t columns);
  Status compare(std::shared_ptr<const ir::Program> program);

  const std::unique_ptr<LoadedAneProgram> program_;
  const std::string name_;
  const std::int64_t k_;
  const std::size_t outputs_;
  const std::int64_t columns_;
  std::mutex mutex_;  // of program_
};

}  // namespace anemone::exec::ane_direct
