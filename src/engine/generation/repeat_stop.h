// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <vector>

namespace anemone::engine {

// Notices when a text goes in circles: its last N tokens are a run that it holds already (the runs
// may overlap). The prompt does not count.
class RepeatStop {
 public:
  explicit RepeatStop(std::int64_t n) : n_(n) {}  // 0: off

  // Whether the text repeats a run, now that `id` is its next token.
  bool push(std::int32_t id) {
    if (n_ == 0) return false;
    last_.push_back(id);
    if (static_cast<std::int64_t>(last_.size()) > n_) last_.erase(last_.begin());
    return static_cast<std::int64_t>(last_.size()) == n_ && !runs_.insert(last_).second;
  }

 private:
  std::int64_t n_;
  std::vector<std::int32_t> last_;
  std::set<std::vector<std::int32_t>> runs_;
};

}  // namespace anemone::engine
