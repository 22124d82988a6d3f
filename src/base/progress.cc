// SPDX-License-Identifier: Apache-2.0
#include "base/progress.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <fmt/format.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/escape.h"
#include "base/terminal.h"

namespace anemone {
namespace {

constexpr auto kDrawInterval = std::chrono::milliseconds(80);
constexpr int kBarWidth = 28;
constexpr int kShortBarWidth = 10;
constexpr int kShortLabel = 8;
// Longer lines are harder to read than shorter ones, however wide the window is.
constexpr int kMaxColumns = 118;

// Bars on the screen.
std::atomic<int> drawn_bars = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not lock");

std::string amount(const ProgressState& state, std::uint64_t value) {
  return state.unit == ProgressState::Unit::kBytes ? format_bytes(value) : fmt::format("{}", value);
}

double part_of(const ProgressState& state) {
  return std::min(1.0, static_cast<double>(state.done) / static_cast<double>(state.total));
}

// "8.1 s left", or nothing while it would be a guess.
std::string time_left(const ProgressState& state) {
  const double part = part_of(state);
  if (part <= 0.01 || part >= 1) return "";
  return format_duration(state.seconds * (1 - part) / part) + " left";
}

std::string bar(double part, int width) {
  const int filled = static_cast<int>(part * width);
  return fmt::format(" [{}{}]", std::string(static_cast<std::size_t>(filled), '#'),
                     std::string(static_cast<std::size_t>(width - filled), '.'));
}

bool is_switched_off() {
  return environment_variable("ANEMONE_PROGRESS").value_or("") == "off";
}

}  // namespace

void ProgressReport::operator()(std::uint64_t done, std::uint64_t total, std::string_view what) {
  if (!bar_) bar_.emplace(label_, total, unit_);
  if (!what.empty()) bar_->note(std::string(what));
  bar_->add(done - shown_);
  shown_ = done;
}

std::string format_bytes(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes)
                   : fmt::format("{:.{}f} {}", value, value < 10 ? 2 : 1, kUnits[unit]);
}

std::string format_duration(double seconds) {
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long>(seconds + 0.5);
  return fmt::format("{} min {} s", whole / 60, whole % 60);
}

std::string progress_bar(const ProgressState& state, int columns) {
  columns = std::min(columns, kMaxColumns);
  std::string label = escaped(state.label);
  if (state.total == 0) return fitted(label + " " + amount(state, state.done), columns);
  const double part = part_of(state);
  const std::string percent = fmt::format(" {:3.0f}%", part * 100);
  std::string amounts =
      fmt::format(" {} / {}", amount(state, state.done), amount(state, state.total));
  std::string left = time_left(state);
  if (!left.empty()) left.insert(0, ", ");
  std::string shown_bar = bar(part, kBarWidth);
  const auto rest = [&] { return columns_of(shown_bar + percent + amounts + left); };
  const int shortest = std::min(columns_of(label), kShortLabel);
  if (rest() + shortest > columns) shown_bar = bar(part, kShortBarWidth);
  if (rest() + shortest > columns) left.clear();
  if (rest() + shortest > columns) amounts.clear();
  if (rest() + shortest > columns) shown_bar.clear();
  label = fitted(label, std::max(0, columns - rest()));
  std::string line = label + shown_bar + percent + amounts + left;
  constexpr int kLeastNote = 8;
  const int room = columns - columns_of(line) - 2;
  if (!state.note.empty() && room >= kLeastNote) line += "  " + fitted(state.note, room);
  return fitted(line, columns);
}

std::string progress_sentence(const ProgressState& state) {
  std::string line = escaped(state.label) + ": ";
  if (state.total == 0) return line + amount(state, state.done);
  line += fmt::format("{:.0f} %, {} of {}", part_of(state) * 100, amount(state, state.done),
                      amount(state, state.total));
  if (const std::string left = time_left(state); !left.empty()) line += ", " + left;
  return line;
}

bool is_progress_drawn() {
  return drawn_bars > 0;
}

Progress::Progress(std::string label, std::uint64_t total, Unit unit)
    : Progress(std::move(label), total, unit, Place{}) {}

Progress::Progress(std::string label, std::uint64_t total, Unit unit, const Place& place)
    : place_(place), start_(Clock::now()), is_on_(!is_switched_off()) {
  state_.label = std::move(label);
  state_.total = total;
  state_.unit = unit;
}

Progress::~Progress() {
  erase();
}

void Progress::add(std::uint64_t amount) {
  const std::lock_guard lock(mutex_);
  state_.done += amount;
  show(state_.total != 0 && state_.done >= state_.total);
}

void Progress::note(std::string text) {
  const std::lock_guard lock(mutex_);
  state_.note = std::move(text);
  show(false);
}

void Progress::show(bool is_complete) {
  if (!is_on_) return;
  const auto now = Clock::now();
  const std::optional<int> columns = terminal_columns(place_.descriptor);
  const auto first = columns ? place_.first_bar : place_.first_sentence;
  const std::chrono::milliseconds pause = columns ? kDrawInterval : place_.between_sentences;
  if (now - start_ < first) return;
  if (last_ && now - *last_ < pause && !(columns && is_complete)) return;
  last_ = now;
  state_.seconds = std::chrono::duration<double>(now - start_).count();
  if (columns)
    draw(*columns);
  else
    write_text(place_.descriptor, "anemone: " + progress_sentence(state_) + "\n");
}

void Progress::draw(int columns) {
  std::string text;
  // A window that was made narrower wraps the line that is there: the cursor is in its last row.
  if (is_drawn_ && drawn_columns_ > columns && columns > 0)
    text = fmt::format("\r\033[{}A\033[J", (drawn_columns_ - 1) / columns);
  // The last column stays free: some terminals go to the next line once it is written.
  const std::string line = progress_bar(state_, std::max(1, columns - 1));
  text += "\r" + line + "\033[K";
  write_text(place_.descriptor, text);
  drawn_columns_ = columns_of(line);
  if (!is_drawn_) ++drawn_bars;
  is_drawn_ = true;
}

void Progress::erase() {
  if (!is_drawn_) return;
  write_text(place_.descriptor, "\r\033[K");
  is_drawn_ = false;
  --drawn_bars;
}

}  // namespace anemone
