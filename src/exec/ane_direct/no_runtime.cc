// SPDX-License-Identifier: Apache-2.0
// In the place of ane_runtime.mm where the private client is not built.
#include "exec/ane_direct/runtime.h"

namespace anemone::exec::ane_direct {

std::shared_ptr<AneRuntime> make_ane_runtime() {
  return nullptr;
}

}  // namespace anemone::exec::ane_direct
