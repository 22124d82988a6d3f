// SPDX-License-Identifier: Apache-2.0
// In the place of coreml_runtime.mm where there is no Core ML.
#include "exec/coreml/runtime.h"

namespace anemone::exec::coreml {

std::shared_ptr<CoreMlRuntime> make_coreml_runtime(std::int64_t /*row_bytes*/) {
  return nullptr;
}

}  // namespace anemone::exec::coreml
