// SPDX-License-Identifier: Apache-2.0
// An AneRuntime for tests. It parses the MIL text and the weight files, runs programs by the
// reference interpreter, and enforces the rules of exec/ane_direct/runtime.h: a call that breaks
// one ends with an error of kMisuseDomain and is kept in violations(). What the chip is known to
// refuse it refuses as the chip does: InvalidMILProgram, ANECCompile(), 0x1d. After a failed
// evaluation outputs are NaN. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "exec/ane_direct/binding_plan.h"
#include "exec/ane_direct/error_map.h"
#include "exec/ane_direct/runtime.h"
#include "exec/executor.h"

namespace anemone::exec::ane_direct::testing {

// An error to be given in the place of a result.
struct Fault {
  enum class Call { kCompile, kLoad, kEvaluate, kUnload, kMakeSurface, kAccess };
  Call call = Call::kCompile;
  RuntimeError error;
  int times = 1;  // that often, then no more; -1: for ever
  int after = 0;  // so many calls go well first
};

struct CheckedOptions {
  std::string chip = "Apple M4 Max";
  // The order that the chip has in truth.
  PortOrder inputs = PortOrder::kAlphabetical;
  PortOrder outputs = PortOrder::kAlphabetical;
  bool needs_equal_surfaces = false;
  // Compilations that go well; those after them fail without an NSError.
  int most_compiles = 119;
  // From one row of an input to the next, as the chip reads it; 0: the rule.
  std::uint64_t read_row_bytes = 0;
  // Compilations, counted from 1, whose programs compute something else.
  std::set<int> miscompiled = {};
};

class CheckedAne : public AneRuntime {
 public:
  explicit CheckedAne(CheckedOptions options = {});
  ~CheckedAne() override;

  std::string chip() const override { return options.chip; }
  Outcome<ModelHandle> compile(std::string_view mil, std::span<const WeightFile> weights,
                               std::uint32_t qos) override;
  Failure load(ModelHandle model, std::uint32_t qos) override;
  Failure evaluate(ModelHandle model, std::span<const SurfaceHandle> inputs,
                   std::span<const SurfaceHandle> outputs, std::uint32_t qos) override;
  Failure unload(ModelHandle model, std::uint32_t qos) override;
  void release(ModelHandle model) override;
  Outcome<SurfaceHandle> make_surface(std::uint64_t bytes) override;
  Failure access(SurfaceHandle surface, Access access,
                 const std::function<void(std::span<std::byte>)>& use) override;
  void release(SurfaceHandle surface) override;

  // May be changed while no call is in flight.
  CheckedOptions options;
  void inject(Fault fault);
  // Called while an evaluation runs.
  std::function<void()> in_evaluate;

  std::vector<std::string> violations() const;
  int compiles() const;
  int evaluations() const;
  std::size_t live_models() const;
  std::size_t live_surfaces() const;
  // The text of the last compilation.
  std::string last_text() const;

 private:
  struct Model;
  struct SurfaceMemory;
  // Marks models and surfaces as in use for the time of a call.
  class Use;

  RuntimeError misuse(const std::string& text);
  Failure fault(Fault::Call call);
  Failure check_qos(std::uint32_t qos);
  Outcome<std::shared_ptr<Model>> find(ModelHandle model);
  Outcome<std::shared_ptr<SurfaceMemory>> find(SurfaceHandle surface);
  Failure run(const Model& model, const std::vector<std::shared_ptr<SurfaceMemory>>& inputs,
              const std::vector<std::shared_ptr<SurfaceMemory>>& outputs) const;

  mutable std::mutex mutex_;  // of what follows
  std::vector<Fault> faults_;
  std::vector<std::string> violations_;
  std::map<ModelHandle, std::shared_ptr<Model>> models_;
  std::map<SurfaceHandle, std::shared_ptr<SurfaceMemory>> surfaces_;
  std::string last_text_;
  std::uint64_t next_ = 1;
  int compiles_ = 0;
  int evaluations_ = 0;
};

// What in a text is of the other syntax than its header, or of another target than the chip takes;
// empty: nothing. It looks at the words of the text alone, without our parser.
std::string syntax_fault(std::string_view mil, std::string_view chip);

}  // namespace anemone::exec::ane_direct::testing
