// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace anemone::serve {

enum class UnloadReason { kAsked, kIdle, kRoom };

// A model of a server was loaded or unloaded, or is about to be.
struct ModelEvent {
  enum class Kind { kLoading, kLoaded, kFailed, kUnloaded };
  Kind kind = Kind::kLoading;
  std::string model = {};   // the first of its names
  double seconds = 0;       // that the load took, also one that failed; that the model was idle
  std::uint64_t bytes = 0;  // of its files; of kLoaded and kUnloaded
  UnloadReason reason = UnloadReason::kAsked;
  std::string error = {};  // of kFailed, for whoever runs the server: it may name folders
};

}  // namespace anemone::serve
