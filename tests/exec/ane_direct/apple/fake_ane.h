// SPDX-License-Identifier: Apache-2.0
// How the fake private classes of tools/ci/objcxx behave. They hand every call to a CheckedAne,
// which enforces the rules and computes.
#pragma once

#include <atomic>
#include <string>

#include "tests/exec/ane_direct/checked_ane.h"

namespace anemone::exec::ane_direct::testing {

struct FakeAne {
  enum class Trouble { kNone, kNoReason, kException };
  CheckedAne ane;
  std::atomic<Trouble> trouble = Trouble::kNone;  // of the next call that can fail, once
  std::atomic<int> live_models = 0;
  std::atomic<int> live_surfaces = 0;
  std::atomic<int> locks = 0;  // of surfaces, that were not unlocked
};
FakeAne& fake_ane();

// Where models have their folders.
std::string temporary_folder();

}  // namespace anemone::exec::ane_direct::testing
