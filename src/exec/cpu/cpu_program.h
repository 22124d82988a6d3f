// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/cpu/interpreter.h"
#include "exec/cpu/op_times.h"
#include "exec/cpu/prepared_program.h"
#include "exec/executor.h"

namespace anemone::exec {

// Threads that several programs take turns with. A run that finds them busy works on its own thread
// alone: the result is the same, only slower.
struct SharedThreads {
  explicit SharedThreads(const CpuOptions& options)
      : pool(options.threads > 0 ? options.threads : default_thread_count()),
        isa(options.isa),
        is_reference(options.is_reference) {}
  std::mutex mutex;
  ThreadPool pool;
  const kernels::simd::Isa isa;
  const bool is_reference;
};

// The place of a function by name; an empty name is the default function. kNotFound with the names
// that there are.
Result<std::size_t> index_of_function(const std::vector<std::string>& names,
                                      const std::string& default_function,
                                      std::string_view function);

// The states of all functions together. kCorrupt where two of them have one of the same name in
// different shapes.
Result<std::vector<Feature>> states_of(const std::vector<Signature>& signatures);

// A prepared program behind the interface. Thread-safe: what a run changes lies in a Frame of its
// own.
class CpuProgram : public LoadedProgram {
 public:
  // Prepares these functions of a verified program; one signature each.
  static Result<std::shared_ptr<const CpuProgram>> prepare_and_make(
      std::shared_ptr<const ir::Program> program, const std::vector<const ir::Function*>& functions,
      std::vector<Signature> signatures, std::string default_function,
      std::shared_ptr<SharedThreads> threads);

  const std::vector<std::string>& functions() const override { return names_; }
  const std::string& default_function() const override { return default_function_; }
  const Signature* signature(std::string_view function) const override;
  Result<std::unique_ptr<StateStore>> make_state() const override;
  Status run(std::string_view function, const Inputs& inputs, Outputs& outputs,
             StateStore* states) const override;
  Status run_batch(std::string_view function, std::span<const BatchItem> items) const override;

  // Runs that start while it is on add to the times, which start from zero. Thread-safe.
  void set_timed(bool is_timed) const;
  const OpTimes& times(const PreparedFunction& function) const;

  // kNotFound for an unknown name.
  Result<const PreparedFunction*> prepared(std::string_view function) const;

 private:
  CpuProgram(PreparedProgram program, std::string default_function,
             std::shared_ptr<SharedThreads> threads);
  Result<std::size_t> index_of(std::string_view function) const {
    return index_of_function(names_, default_function_, function);
  }
  Status run_together(std::size_t index, std::span<const BatchItem> items) const;
  std::unique_ptr<Frame> take_frame(std::size_t function) const;
  void give_frame(std::size_t function, std::unique_ptr<Frame> frame) const;

  PreparedProgram program_;
  std::string default_function_;
  std::shared_ptr<SharedThreads> threads_;
  std::vector<std::string> names_;
  std::vector<Feature> states_;  // of all functions together
  mutable std::atomic<bool> is_timed_ = false;
  mutable std::deque<OpTimes> times_;  // one a function
  mutable std::mutex frames_mutex_;
  mutable std::vector<std::vector<std::unique_ptr<Frame>>> idle_frames_;  // one list a function
};

}  // namespace anemone::exec
