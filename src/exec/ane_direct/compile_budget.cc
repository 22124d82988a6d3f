// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/compile_budget.h"

#include <fmt/format.h>

namespace anemone::exec::ane_direct {

Status CompileBudget::take(std::string_view subject) {
  int used = used_;
  while (used < most_)
    if (used_.compare_exchange_weak(used, used + 1)) return {};
  return Status(Code::kDevice,
                fmt::format("[{}] expected at most {} compilations for the Neural Engine in one "
                            "process, got one more",
                            subject, most_));
}

CompileBudget& process_budget() {
  static CompileBudget budget;
  return budget;
}

}  // namespace anemone::exec::ane_direct
