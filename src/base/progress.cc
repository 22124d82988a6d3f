// SPDX-License-Identifier: Apache-2.0
#include "base/progress.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

#include "base/escape.h"

namespace anemone {
namespace {
constexpr auto kDrawInterval = std::chrono::milliseconds(80);
constexpr auto kFirstDraw = std::chrono::milliseconds(200);
constexpr int kBarWidth = 28;
constexpr std::size_t kMaxWidth = 118;
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

Progress::Progress(std::string label, std::uint64_t total, Unit unit)
    : label_(std::move(label)),
      total_(total),
      unit_(unit),
      start_(std::chrono::steady_clock::now()),
      last_draw_(start_),
      enabled_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::add(std::uint64_t amount) {
  std::lock_guard lock(mutex_);
  done_ += amount;
  draw(total_ != 0 && done_ >= total_);
}

void Progress::note(std::string text) {
  std::lock_guard lock(mutex_);
  note_ = std::move(text);
  draw(false);
}

void Progress::draw(bool force) {
  if (!enabled_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - start_ < kFirstDraw || (!force && now - last_draw_ < kDrawInterval)) return;
  last_draw_ = now;
  drawn_ = true;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const auto show = [this](std::uint64_t n) {
    return unit_ == Unit::kBytes ? format_bytes(n) : fmt::format("{}", n);
  };
  std::string line;
  if (total_ > 0) {
    const double part = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
    const int filled = static_cast<int>(part * kBarWidth);
    line = fmt::format("{} [{}{}] {:3.0f}% {} / {}", label_,
                       std::string(static_cast<std::size_t>(filled), '#'),
                       std::string(static_cast<std::size_t>(kBarWidth - filled), '.'), part * 100,
                       show(done_), show(total_));
    if (part > 0.01 && part < 1)
      line += fmt::format(", {} left", format_duration(elapsed * (1 - part) / part));
  } else {
    line = fmt::format("{} {}", label_, show(done_));
  }
  if (!note_.empty()) line += "  " + note_;
  // A name of a file may be the note. Cut between characters.
  std::string shown;
  for (const std::string& piece : escaped_pieces(line)) {
    if (shown.size() + piece.size() > kMaxWidth) break;
    shown += piece;
  }
  fmt::print(stderr, "\r{}\033[K", shown);
  std::fflush(stderr);
}

}  // namespace anemone
