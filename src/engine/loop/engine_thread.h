// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

#include "engine/loop/engine.h"

namespace anemone::engine {

// A thread that runs the turns of an engine, which outlives it.
class EngineThread {
 public:
  explicit EngineThread(Engine& engine)
      : engine_(engine), thread_([this] {
          while (!is_ending_)
            if (!engine_.turn() && !is_ending_) engine_.wait();
        }) {}
  // Ends after the turn that runs.
  ~EngineThread() {
    is_ending_ = true;
    engine_.interrupt();
    thread_.join();
  }
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

 private:
  Engine& engine_;
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

}  // namespace anemone::engine
