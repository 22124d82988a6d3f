// SPDX-License-Identifier: Apache-2.0
#include "serve/jsonl/line_channel.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

#include "base/error.h"
#include "serve/jsonl/dialog.h"

namespace anemone::serve::jsonl {
namespace {

// How often a request that waits for its turn looks whether its client is still there.
constexpr std::chrono::milliseconds kLookAgain{100};

}  // namespace

Result<LineChannel::Outcome> LineChannel::read_line(std::string& line) {
  bool is_too_long = false;
  while (true) {
    const std::size_t end = buffer_.find('\n', searched_);
    if (end != buffer_.npos) {
      is_too_long = is_too_long || end > max_line_bytes_;
      line.assign(buffer_, 0, is_too_long ? 0 : end);
      buffer_.erase(0, end + 1);
      searched_ = 0;
      return is_too_long ? Outcome::kTooLong : Outcome::kLine;
    }
    searched_ = buffer_.size();
    if (buffer_.size() > max_line_bytes_) {
      is_too_long = true;
      buffer_.clear();
      searched_ = 0;
    }
    // A descriptor of -1 is left out by poll.
    std::array<pollfd, 2> waits = {pollfd{in_, POLLIN, 0}, pollfd{stop_, POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return errno_error("input", "wait for a line");
    }
    if (waits[1].revents != 0) return Outcome::kEnd;
    std::array<char, 64 * 1024> chunk;
    const ssize_t count = ::read(in_, chunk.data(), chunk.size());
    if (count > 0) {
      buffer_.append(chunk.data(), static_cast<std::size_t>(count));
    } else if (count == 0) {
      if (is_too_long) return Outcome::kTooLong;
      if (buffer_.empty()) return Outcome::kEnd;
      line.swap(buffer_);
      buffer_.clear();
      searched_ = 0;
      return Outcome::kLine;
    } else if (errno != EINTR && errno != EAGAIN) {
      return errno_error("input", "read a line");
    }
  }
}

Status LineChannel::write_line(std::string_view line) {
  std::string text(line);
  text += '\n';
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(out_, text.data() + done, text.size() - done);
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      // A socket whose client does not read must not keep the server from stopping.
      std::array<pollfd, 2> waits = {pollfd{out_, POLLOUT, 0}, pollfd{stop_, POLLIN, 0}};
      ::poll(waits.data(), waits.size(), -1);
      if (waits[0].revents == 0 && waits[1].revents != 0)
        return cancelled("[output] expected a client that reads its answers");
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

bool Gate::enter(const LineChannel& channel) {
  std::unique_lock lock(mutex_);
  while (places_ == 0) {
    free_.wait_for(lock, kLookAgain);
    if (channel.is_stopped() || channel.is_peer_gone()) return false;
  }
  --places_;
  return true;
}

void Gate::leave() {
  {
    const std::lock_guard lock(mutex_);
    ++places_;
  }
  free_.notify_one();
}

Status answer_channel(LineChannel& channel, const ModelSet& models, const LineOptions& options,
                      Gate& gate) {
  std::atomic<bool> cancel = false;
  Dialog dialog(models, options.defaults, cancel, [&] {
    if (channel.is_stopped() || channel.is_peer_gone()) cancel = true;
  });
  std::string line;
  while (true) {
    ANEMONE_ASSIGN_OR_RETURN(const LineChannel::Outcome outcome, channel.read_line(line));
    if (outcome == LineChannel::Outcome::kEnd) return {};
    if (outcome == LineChannel::Outcome::kTooLong) {
      ANEMONE_RETURN_IF_ERROR(channel.write_line(dump_json(error_answer(invalid_argument(
          "[request] expected a line of at most {} bytes", options.max_line_bytes)))));
      continue;
    }
    // An empty line is no request, as at the end of a file.
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    if (!gate.enter(channel)) return {};
    const Json answer = dialog.answer(line);
    gate.leave();
    ANEMONE_RETURN_IF_ERROR(channel.write_line(dump_json(answer)));
  }
}

}  // namespace anemone::serve::jsonl
