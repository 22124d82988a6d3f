// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/environment.h"
#include "hub/http_client.h"

namespace anemone::hub {

// Says how often and after how long to repeat a request that failed for a temporary reason. Not
// thread-safe.
class Retry {
 public:
  // Waits before the next try: twice as long each time, and at least as long as the answer asks for
  // (Retry-After, up to a minute). False after the last try.
  bool wait(const HttpAnswer& answer) {
    if (++tries_ >= kMaxTries) return false;
    std::chrono::milliseconds pause = first_pause() * (1 << (tries_ - 1));
    if (const auto asked = answer.headers.find("retry-after"); asked != answer.headers.end())
      pause = std::max(pause, std::chrono::milliseconds(
                                  1000 * std::clamp(std::atoi(asked->second.c_str()), 0, 60)));
    std::this_thread::sleep_for(pause);
    return true;
  }
  // Called when data arrived: the next failure starts the count again.
  void progress() { tries_ = 0; }

 private:
  static constexpr int kMaxTries = 6;
  // $ANEMONE_HUB_PAUSE_MS is for tests of what happens when a hub fails.
  static std::chrono::milliseconds first_pause() {
    const auto named = environment_variable("ANEMONE_HUB_PAUSE_MS");
    return std::chrono::milliseconds(named ? std::clamp(std::atoi(named->c_str()), 0, 10'000)
                                           : 500);
  }
  int tries_ = 0;
};

}  // namespace anemone::hub
