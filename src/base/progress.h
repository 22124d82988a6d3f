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

// How far some work is, for one line.
struct ProgressState {
  enum class Unit { kItems, kBytes };
  std::string label;  // what is being done ("compiling")
  std::uint64_t done = 0;
  std::uint64_t total = 0;  // 0: not known
  Unit unit = Unit::kItems;
  double seconds = 0;  // since the beginning
  std::string note{};  // a word on the current item; may be empty
};

// The line with a bar, in at most so many columns. What does not fit goes in this order: the note,
// the end of the label, the time left, the amounts, the bar.
std::string progress_bar(const ProgressState& state, int columns);
// The line for a log: "compiling: 34 %, 12.3 MB of 40.0 MB, 8.1 s left".
std::string progress_sentence(const ProgressState& state);

// Whether a bar is on the screen, for a signal handler that ends the process. Lock-free.
bool is_progress_drawn();

// How far work is that takes more than a moment, on stderr. On a terminal one line is drawn in its
// place, as wide as the terminal is at that time; elsewhere a line is written every few seconds.
// Work that ends sooner than the first line is silent. ANEMONE_PROGRESS=off keeps all of it silent.
// Thread-safe.
class Progress {
 public:
  using Unit = ProgressState::Unit;
  struct Place {
    int descriptor = 2;
    std::chrono::milliseconds first_bar{200};
    std::chrono::milliseconds first_sentence{3000};
    std::chrono::milliseconds between_sentences{5000};
  };

  // `label` is what is being done ("compiling"); `total` in the unit, 0 when unknown.
  Progress(std::string label, std::uint64_t total, Unit unit);
  Progress(std::string label, std::uint64_t total, Unit unit, const Place& place);
  // Removes the bar, so that the next line of output starts clean.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::uint64_t amount);
  // A word on the current item, shown after the bar.
  void note(std::string text);

 private:
  using Clock = std::chrono::steady_clock;
  void show(bool is_complete);
  void draw(int columns);
  void erase();

  std::mutex mutex_;
  ProgressState state_;
  const Place place_;
  const Clock::time_point start_;
  std::optional<Clock::time_point> last_;
  bool is_on_ = false;
  bool is_drawn_ = false;
  int drawn_columns_ = 0;  // of the line on the screen
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
