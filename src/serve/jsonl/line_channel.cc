// SPDX-License-Identifier: Apache-2.0
#include "serve/jsonl/line_channel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include "base/error.h"
#include "serve/jsonl/connection.h"

namespace anemone::serve::jsonl {
std::optional<LineChannel::Clock::time_point> LineChannel::waiting_since() const {
  const Clock::rep since = waiting_since_;
  if (since == 0) return std::nullopt;
  return Clock::time_point(Clock::duration(since));
}

int LineChannel::time_left() const {
  const auto& timeout = buffer_.empty() ? timeouts_.idle : timeouts_.line;
  if (!timeout) return -1;
  const auto left = *waiting_since() + *timeout - Clock::now();
  const auto count = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<std::int64_t>(count, 0, std::numeric_limits<int>::max()));
}

Result<LineChannel::Outcome> LineChannel::read_line(std::string& line) {
  waiting_since_ = Clock::now().time_since_epoch().count();
  const auto outcome = next_line(line);
  waiting_since_ = 0;
  return outcome;
}

Result<LineChannel::Outcome> LineChannel::next_line(std::string& line) {
  bool is_too_long = false;
  while (true) {
    const std::size_t end = buffer_.find('\n', searched_);
    if (end != buffer_.npos) {
      is_too_long = is_too_long || end - begin_ > max_line_bytes_;
      line.assign(buffer_, begin_, is_too_long ? 0 : end - begin_);
      begin_ = searched_ = end + 1;
      return is_too_long ? Outcome::kTooLong : Outcome::kLine;
    }
    // Once for all lines of the last read: a read may hold ten thousands of short ones.
    buffer_.erase(0, std::exchange(begin_, 0));
    searched_ = buffer_.size();
    if (buffer_.size() > max_line_bytes_) {
      is_too_long = true;
      buffer_.clear();
      searched_ = 0;
    }
    // A descriptor of -1 is left out by poll.
    std::array<pollfd, 2> waits = {pollfd{in_, POLLIN, 0}, pollfd{stop_, POLLIN, 0}};
    const int ready = ::poll(waits.data(), waits.size(), time_left());
    if (ready == 0) return Outcome::kTimeout;
    if (ready < 0) {
      if (errno == EINTR) continue;
      return errno_error(subject(), "wait for the next line");
    }
    if (waits[1].revents != 0) return Outcome::kEnd;
    std::array<char, 64 * 1024> chunk;
    const ssize_t count = ::read(in_, chunk.data(), chunk.size());
    if (count > 0) {
      // The time for a line begins with its first byte.
      if (buffer_.empty() && !is_too_long) waiting_since_ = Clock::now().time_since_epoch().count();
      buffer_.append(chunk.data(), static_cast<std::size_t>(count));
    } else if (count == 0) {
      if (is_too_long) {
        buffer_.clear();
        searched_ = 0;
        return Outcome::kTooLong;
      }
      if (buffer_.empty()) return Outcome::kEnd;
      line.swap(buffer_);
      buffer_.clear();
      searched_ = 0;
      return Outcome::kLine;
    } else if (errno != EINTR && errno != EAGAIN) {
      return errno_error(subject(), "read the next line");
    }
  }
}

Status LineChannel::write_line(std::string_view line, bool is_last) {
  std::string text(line);
  text += '\n';
  for (std::size_t done = 0; done < text.size();) {
    // A client that has its answer waits, also before this thread comes to read again.
    if (is_last) waiting_since_ = Clock::now().time_since_epoch().count();
    const ssize_t count = ::write(out_, text.data() + done, text.size() - done);
    if (count < static_cast<ssize_t>(text.size() - done)) waiting_since_ = 0;
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      // A socket whose client does not read must not keep the server from stopping.
      std::array<pollfd, 2> waits = {pollfd{out_, POLLOUT, 0}, pollfd{stop_, POLLIN, 0}};
      const int most = timeouts_.line ? static_cast<int>(timeouts_.line->count()) : -1;
      ::poll(waits.data(), waits.size(), most);
      if (waits[0].revents == 0) return cancelled("[output] the client does not read its answers");
    } else if (errno != EINTR) {
      return errno_error("output", "write a line");
    }
  }
  return {};
}

bool LineChannel::is_stopped() const {
  pollfd wait = {stop_, POLLIN, 0};
  return ::poll(&wait, 1, 0) > 0;
}

bool LineChannel::is_peer_gone() const {
  // No event is asked for: these come always. A client that has closed only its own direction still
  // waits for answers.
  pollfd wait = {out_, 0, 0};
  return ::poll(&wait, 1, 0) > 0 && (wait.revents & (POLLHUP | POLLERR)) != 0;
}

Status answer_channel(LineChannel& channel, ModelPool& models, engine::Engine& engine,
                      const LineOptions& options, std::atomic<bool>& cancel) {
  Connection connection(
      models, engine, options.defaults, cancel,
      [&] {
        if (channel.is_stopped() || channel.is_peer_gone()) cancel = true;
      },
      [&](const Json& part) { return channel.write_line(dump_json(part), /*is_last=*/false); },
      options.budget);
  std::string line;
  while (true) {
    ANEMONE_ASSIGN_OR_RETURN(const LineChannel::Outcome outcome, channel.read_line(line));
    if (outcome == LineChannel::Outcome::kEnd) return {};
    if (outcome == LineChannel::Outcome::kTimeout)
      return channel.write_line(dump_json(
          error_answer(cancelled("[connection] closed: no complete line arrived in time"))));
    if (outcome == LineChannel::Outcome::kTooLong) {
      ANEMONE_RETURN_IF_ERROR(channel.write_line(dump_json(error_answer(invalid_argument(
          "[request] expected a line of at most {} bytes", options.max_line_bytes)))));
      continue;
    }
    // An empty line is no request, as at the end of a file.
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    ANEMONE_RETURN_IF_ERROR(channel.write_line(dump_json(connection.answer(line))));
  }
}

}  // namespace anemone::serve::jsonl
