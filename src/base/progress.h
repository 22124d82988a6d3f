// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace anemone {

// A progress bar with speed and time left, on stderr, for work that takes more than a moment. Draws
// only when stderr is a terminal and the work has run for 0.2 s; otherwise silent. Thread-safe.
class Progress {
 public:
  enum class Unit { kItems, kBytes };

  // `label` is what is being done ("compiling"); `total` in the unit, 0 when unknown.
  Progress(std::string label, std::uint64_t total, Unit unit);
  // Removes the bar, so that the next line of output starts clean.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::uint64_t amount);
  // A word on the current item, shown after the bar.
  void note(std::string text);

 private:
  void draw(bool force);

  std::mutex mutex_;
  const std::string label_;
  const std::uint64_t total_;
  const Unit unit_;
  const std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_draw_;
  std::uint64_t done_ = 0;
  std::string note_;
  bool enabled_ = false;
  bool drawn_ = false;
};

// A Progress that begins with the first report, for work that itself says how far it is. One report
// at a time; outlives the work.
class ProgressReport {
 public:
  ProgressReport(std::string label, Progress::Unit unit) : label_(std::move(label)), unit_(unit) {}

  void operator()(std::uint64_t done, std::uint64_t total, std::string_view what = {});
  // Removes the bar.
  void clear() { bar_.reset(); }

 private:
  const std::string label_;
  const Progress::Unit unit_;
  std::optional<Progress> bar_;
  std::uint64_t shown_ = 0;
};

// "12.3 MB", "1.20 GB" (powers of 1000).
std::string format_bytes(std::uint64_t bytes);
// "0.4 s", "1 min 20 s".
std::string format_duration(double seconds);

}  // namespace anemone
