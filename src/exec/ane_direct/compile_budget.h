// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <string_view>

namespace anemone::exec::ane_direct {

// Counts the compilations of a process, which the private compiler lets it have about 119 of (law
// compile-leak). Nothing gives one back: the compiler keeps what it leaked until the process ends.
// Thread-safe.
class CompileBudget {
 public:
  static constexpr int kMost = 96;

  explicit CompileBudget(int most = kMost) : most_(most) {}

  // Takes one, before the compilation, whether it will succeed or not. kDevice with the limit when
  // none is left; `subject` is what would be compiled.
  Status take(std::string_view subject);
  int used() const { return used_; }
  int left() const { return most_ - used_; }

 private:
  const int most_;
  std::atomic<int> used_ = 0;
};

// The budget of this process.
CompileBudget& process_budget();

}  // namespace anemone::exec::ane_direct
