// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/loaded_program.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <thread>
#include <utility>

#include "exec/ane_direct/error_map.h"
#include "exec/ane_direct/text_form.h"

namespace anemone::exec::ane_direct {
namespace {

Status status_of(const RuntimeError& error, std::string_view subject, std::string_view action) {
  return map_error(error, subject, action).status;
}

Status access(AneRuntime& runtime, const Surface& surface, AneRuntime::Access how,
              std::string_view subject, const std::function<void(std::span<std::byte>)>& use) {
  if (const Failure failure = runtime.access(surface.handle(), how, use))
    return status_of(*failure, subject, "cannot access a surface");
  return {};
}

}  // namespace

Result<Surface> Surface::make(AneRuntime& runtime, std::uint64_t bytes, std::string_view subject) {
  const auto made = runtime.make_surface(bytes);
  if (!made.ok())
    return status_of(made.error(), subject,
                     fmt::format("cannot make a surface of {} bytes", bytes));
  Surface out(runtime, *made);
  ANEMONE_RETURN_IF_ERROR(
      access(runtime, out, AneRuntime::Access::kWrite, subject,
             [](std::span<std::byte> memory) { std::ranges::fill(memory, std::byte{0}); }));
  return out;
}

Surface::Surface(Surface&& other) noexcept
    : runtime_(other.runtime_), handle_(std::exchange(other.handle_, SurfaceHandle::kNone)) {}

Surface::~Surface() {
  if (handle_ != SurfaceHandle::kNone) runtime_.release(handle_);
}

LoadedAneProgram::LoadedAneProgram(std::shared_ptr<const Device> device, std::string subject,
                                   BindingPlan plan, ModelHandle model)
    : device_(std::move(device)),
      subject_(std::move(subject)),
      plan_(std::move(plan)),
      model_(model) {}

// A failed unload leaves nothing to be done: the handle is released all the same.
LoadedAneProgram::~LoadedAneProgram() {
  AneRuntime& runtime = device_->runtime();
  if (is_loaded_) static_cast<void>(runtime.unload(model_, device_->options().qos));
  runtime.release(model_);
}

std::size_t LoadedAneProgram::place(const std::vector<Port>& ports, std::size_t index) {
  const auto found = std::ranges::find(ports, index, &Port::index);
  return static_cast<std::size_t>(found - ports.begin());
}

Result<std::unique_ptr<LoadedAneProgram>> LoadedAneProgram::make(
    std::shared_ptr<const Device> device, const ir::Program& program, std::string subject,
    std::optional<BindingOptions> bindings) {
  // The text is written first: it checks that there is one function.
  ANEMONE_ASSIGN_OR_RETURN(const ProgramText text, write_text(program));
  ANEMONE_ASSIGN_OR_RETURN(BindingPlan plan, plan_bindings(*program.functions()[0],
                                                           bindings.value_or(device->bindings())));
  ANEMONE_RETURN_IF_ERROR(device->budget().take(subject));
  const std::vector<WeightFile> weights = text.weights();
  const auto compiled = device->runtime().compile(text.mil, weights, device->options().qos);
  if (!compiled.ok()) return status_of(compiled.error(), subject, "cannot compile");
  std::unique_ptr<LoadedAneProgram> out(
      new LoadedAneProgram(std::move(device), std::move(subject), std::move(plan), *compiled));
  ANEMONE_RETURN_IF_ERROR(out->load());
  ANEMONE_RETURN_IF_ERROR(out->make_surfaces());
  return out;
}

// A load may fail once for no reason that shows.
Status LoadedAneProgram::load() {
  const DeviceOptions& options = device_->options();
  Failure failure = device_->runtime().load(model_, options.qos);
  if (failure) {
    std::this_thread::sleep_for(std::chrono::milliseconds(options.load_pause_ms));
    failure = device_->runtime().load(model_, options.qos);
  }
  if (failure) return status_of(*failure, subject_, "cannot load");
  is_loaded_ = true;
  return {};
}

// The surfaces that there are stay where new ones cannot be made.
Status LoadedAneProgram::make_surfaces() {
  std::vector<Surface> inputs;
  std::vector<Surface> outputs;
  for (const auto& [ports, surfaces] :
       {std::pair{&plan_.inputs, &inputs}, {&plan_.outputs, &outputs}}) {
    for (const Port& port : *ports) {
      ANEMONE_ASSIGN_OR_RETURN(Surface surface,
                               Surface::make(device_->runtime(), port.bytes, subject_));
      surfaces->push_back(std::move(surface));
    }
  }
  inputs_.swap(inputs);
  outputs_.swap(outputs);
  return {};
}

Status LoadedAneProgram::write(std::size_t input, const Columns<const Half>& tokens,
                               std::int64_t first, std::int64_t count) {
  const std::size_t at = place(plan_.inputs, input);
  return access(
      device_->runtime(), inputs_[at], AneRuntime::Access::kWrite, subject_,
      [&](std::span<std::byte> memory) { pack(tokens, first, count, plan_.inputs[at], memory); });
}

Status LoadedAneProgram::read(std::size_t output, std::int64_t first, std::int64_t count,
                              const Columns<Half>& tokens) const {
  const std::size_t at = place(plan_.outputs, output);
  return access(device_->runtime(), outputs_[at], AneRuntime::Access::kRead, subject_,
                [&](std::span<std::byte> memory) {
                  unpack(memory, plan_.outputs[at], first, count, tokens);
                });
}

Failure LoadedAneProgram::evaluate_once() {
  const auto handles_of = [](const std::vector<Surface>& surfaces) {
    std::vector<SurfaceHandle> out;
    for (const Surface& surface : surfaces) out.push_back(surface.handle());
    return out;
  };
  return device_->runtime().evaluate(model_, handles_of(inputs_), handles_of(outputs_),
                                     device_->options().qos);
}

Status LoadedAneProgram::evaluate() {
  Failure failure = evaluate_once();
  if (failure && !has_run_ && !has_equal_surfaces() &&
      map_error(*failure, subject_, "").cause == Cause::kSurface) {
    ANEMONE_RETURN_IF_ERROR(make_surfaces_equal());
    failure = evaluate_once();
  }
  if (failure) return status_of(*failure, subject_, "cannot run");
  has_run_ = true;
  return {};
}

bool LoadedAneProgram::has_equal_surfaces() const {
  const std::uint64_t bytes = plan_.inputs[0].bytes;
  const auto is_equal = [&](const Port& port) { return port.bytes == bytes; };
  return std::ranges::all_of(plan_.inputs, is_equal) &&
         std::ranges::all_of(plan_.outputs, is_equal);
}

Status LoadedAneProgram::make_surfaces_equal() {
  std::uint64_t most = 0;
  for (auto* ports : {&plan_.inputs, &plan_.outputs})
    for (const Port& port : *ports) most = std::max(most, port.bytes);
  for (auto* ports : {&plan_.inputs, &plan_.outputs})
    for (Port& port : *ports) port.bytes = most;
  std::vector<std::vector<std::byte>> kept;
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    ANEMONE_RETURN_IF_ERROR(access(
        device_->runtime(), inputs_[i], AneRuntime::Access::kRead, subject_,
        [&](std::span<std::byte> memory) { kept.emplace_back(memory.begin(), memory.end()); }));
  ANEMONE_RETURN_IF_ERROR(make_surfaces());
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    ANEMONE_RETURN_IF_ERROR(access(device_->runtime(), inputs_[i], AneRuntime::Access::kWrite,
                                   subject_, [&](std::span<std::byte> memory) {
                                     std::memcpy(memory.data(), kept[i].data(), kept[i].size());
                                   }));
  return {};
}

}  // namespace anemone::exec::ane_direct
