// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace anemone::cli {

// Files that are read again when they change. Single-thread.
class FileWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // Looks at the files, so whoever reads them reads them after that.
  explicit FileWatch(std::vector<std::string> paths,
                     std::function<Clock::time_point()> now = Clock::now);

  // Looks at the files again, unless it did so within the last second: whether they are other ones
  // than at the look before. The error of a file that cannot be looked at is given once.
  Result<bool> has_changed();

 private:
  // What tells the files as they are now from any others, or an error from another one.
  std::string look(Status& error) const;

  const std::vector<std::string> paths_;
  const std::function<Clock::time_point()> now_;
  Clock::time_point next_look_;
  std::string seen_;
};

}  // namespace anemone::cli
