// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/mapped_file.h"
#include "exec/executor.h"
#include "ir/program.h"
#include "kernels/simd/isa.h"

namespace anemone::exec {

class ProductOffload;  // product_offload.h

struct CpuOptions {
  int threads = 0;  // 0: as many as this process may use
  // The best that the processor has, or a plainer one.
  kernels::simd::Isa isa = kernels::simd::best_isa();
  // Runs the reference interpreter: one plain kernel per operation and no fusions, as the program
  // is written. It is the oracle for the fast kernels.
  bool is_reference = false;
  // Weights are used where they lie in the mapped files of a package. Otherwise they are read into
  // memory, in huge pages where the system gives them: the load takes longer, steps are faster, and
  // no other process shares the memory.
  bool maps_weights = true;
  // Steps of several tokens compute gated delta nets in chunks, as products of matrices in fp32:
  // that is faster, but the result depends on where steps begin, and so on how a prompt is cut.
  // Otherwise a step gives the bits of its tokens one by one. The reference computes none in
  // chunks.
  bool chunks_delta_nets = false;
  // What the values of all runs may take together; weights, states and the caller's tensors are not
  // counted. 0: three quarters of the memory that this process may use. A run that needs more ends
  // with kOutOfMemory.
  std::uint64_t memory_bytes = 0;
  // Most rounds of all loops of one run together, so that a damaged program cannot run for ever.
  std::int64_t max_rounds = 1 << 20;
  // When the CPU engine plans a function, it offers every product with a constant matrix to this
  // object; null: the CPU computes all. The reference offers none. Products that the object takes
  // may give other bits.
  std::shared_ptr<ProductOffload> offload = nullptr;
};

// Plans a function with fixed input shapes once, when it is loaded or first run (LoadOptions), and
// one with open shapes for each set of shapes that runs bring. Patterns of operations become fused
// operations over the weights as they lie in the package; reference kernels run the rest. Results
// do not depend on the number of threads. All programs of one executor share its threads.
std::unique_ptr<Executor> make_cpu_executor(const CpuOptions& options = {});

// What a package says about its functions beyond the types of the program.
struct ProgramInterface {
  std::map<std::string, Signature, std::less<>>
      signatures;                // a function that is absent gets a signature from its types
  std::string default_function;  // empty: "main", or the first
  // The files that hold the constants of the program. Once one of them is cut short, every run
  // fails with kIo.
  std::vector<std::shared_ptr<const MappedFile>> weight_files;
};

// Makes a program in memory runnable. It is verified first: kCorrupt names the broken rule,
// kUnsupported an operation outside the op set. The program must not change afterwards.
Result<std::shared_ptr<const LoadedProgram>> load_program(
    std::shared_ptr<const ir::Program> program, const ProgramInterface& interface = {},
    const LoadOptions& load_options = {}, const CpuOptions& options = {});

}  // namespace anemone::exec
