// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/ane_direct/binding_plan.h"
#include "exec/ane_direct/columns.h"
#include "exec/ane_direct/device.h"
#include "ir/program.h"

namespace anemone::exec::ane_direct {

// Memory of the runtime, released with the object.
class Surface {
 public:
  // All zero.
  static Result<Surface> make(AneRuntime& runtime, std::uint64_t bytes, std::string_view subject);
  Surface(Surface&& other) noexcept;
  Surface& operator=(Surface&&) = delete;
  ~Surface();
  SurfaceHandle handle() const { return handle_; }

 private:
  Surface(AneRuntime& runtime, SurfaceHandle handle) : runtime_(runtime), handle_(handle) {}
  AneRuntime& runtime_;
  SurfaceHandle handle_;
};

// A program that is compiled, loaded and has its surfaces; unloaded and released with the object.
// Single-thread. Inputs and outputs are numbered as the function has them.
class LoadedAneProgram {
 public:
  // `subject` starts each error. Takes one compilation of the device's budget. kUnsupported for a
  // program outside the rules of runtime.h; kDevice, kIo where the device does not take it.
  // `bindings`: in the place of those that the device measured.
  static Result<std::unique_ptr<LoadedAneProgram>> make(
      std::shared_ptr<const Device> device, const ir::Program& program, std::string subject,
      std::optional<BindingOptions> bindings = std::nullopt);
  ~LoadedAneProgram();

  // The port of an input or output of the function.
  const Port& input(std::size_t index) const { return plan_.inputs[place(plan_.inputs, index)]; }
  const Port& output(std::size_t index) const { return plan_.outputs[place(plan_.outputs, index)]; }

  // Tokens [first, first + count) to an input, see pack().
  Status write(std::size_t input, const Columns<const Half>& tokens, std::int64_t first,
               std::int64_t count);
  // Runs once. Where the chip refuses surfaces of different sizes, they become equal once, and the
  // run is done again.
  Status evaluate();
  Status read(std::size_t output, std::int64_t first, std::int64_t count,
              const Columns<Half>& tokens) const;

 private:
  LoadedAneProgram(std::shared_ptr<const Device> device, std::string subject, BindingPlan plan,
                   ModelHandle model);
  static std::size_t place(const std::vector<Port>& ports, std::size_t index);
  Status load();
  Status make_surfaces();
  Failure evaluate_once();
  // kOk where all surfaces now have the size of the largest, with the inputs as they were.
  Status make_surfaces_equal();
  bool has_equal_surfaces() const;

  const std::shared_ptr<const Device> device_;
  const std::string subject_;
  BindingPlan plan_;
  const ModelHandle model_;
  bool is_loaded_ = false;
  bool has_run_ = false;
  std::vector<Surface> inputs_;  // by position, as the plan has them
  std::vector<Surface> outputs_;
};

}  // namespace anemone::exec::ane_direct
