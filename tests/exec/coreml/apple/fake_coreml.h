// SPDX-License-Identifier: Apache-2.0
// How the fake Core ML of tools/ci/objcxx behaves.
#pragma once

#include <atomic>

namespace anemone::exec::coreml::testing {

struct FakeCoreMl {
  enum class Trouble { kNone, kError, kException };
  std::atomic<bool> uses_backings = true;
  std::atomic<int> row_elements = 3;  // stride of rows in arrays that the fake makes, 3 or more
  std::atomic<Trouble> trouble = Trouble::kNone;  // of the next prediction or load, once
  std::atomic<int> live_arrays = 0;
  std::atomic<int> live_models = 0;
  std::atomic<int> live_states = 0;
};
FakeCoreMl& fake_coreml();

}  // namespace anemone::exec::coreml::testing
