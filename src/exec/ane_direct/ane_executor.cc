// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/ane_executor.h"

#include <utility>

#include "base/error.h"

namespace anemone::exec::ane_direct {
namespace {

class Implementation : public AneExecutor {
 public:
  Implementation(std::shared_ptr<KernelOffload> offload, std::unique_ptr<Executor> cpu)
      : offload_(std::move(offload)), cpu_(std::move(cpu)) {}

  std::string_view name() const override { return "ane-direct"; }
  Result<std::shared_ptr<const LoadedProgram>> load(const std::string& package_path,
                                                    const LoadOptions& options) override {
    return cpu_->load(package_path, options);
  }
  KernelOffload::Counts counts() const override { return offload_->counts(); }

 private:
  const std::shared_ptr<KernelOffload> offload_;
  const std::unique_ptr<Executor> cpu_;
};

}  // namespace

Result<std::unique_ptr<AneExecutor>> make_ane_executor(std::shared_ptr<AneRuntime> runtime,
                                                       AneExecutorOptions options) {
  if (options.cpu.is_reference)
    return invalid_argument(
        "[executor] expected the CPU engine beside the Neural Engine, got the reference "
        "interpreter");
  ANEMONE_ASSIGN_OR_RETURN(auto device, Device::open(std::move(runtime), options.device));
  auto offload = std::make_shared<KernelOffload>(std::move(device), std::move(options.on_note));
  options.cpu.offload = offload;
  return std::unique_ptr<AneExecutor>(
      std::make_unique<Implementation>(std::move(offload), make_cpu_executor(options.cpu)));
}

}  // namespace anemone::exec::ane_direct
