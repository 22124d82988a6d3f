// SPDX-License-Identifier: Apache-2.0
#include "cli/jsonl_loop.h"

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

#include "base/error.h"
#include "cli/output.h"
#include "serve/jsonl/line_channel.h"

namespace anemone::cli {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

}  // namespace

Status answer_raw_lines(const std::function<Json(const Result<std::string>& line)>& answer) {
  using Outcome = serve::jsonl::LineChannel::Outcome;
  serve::jsonl::LineChannel channel(STDIN_FILENO, STDOUT_FILENO, /*stop=*/-1, kMaxBytes);
  std::string line;
  while (true) {
    ANEMONE_ASSIGN_OR_RETURN(const Outcome outcome, channel.read_line(line));
    if (outcome == Outcome::kEnd) return {};
    const Result<std::string> text =
        outcome == Outcome::kLine
            ? Result<std::string>(std::move(line))
            : invalid_argument("[request] expected a line of at most {} bytes", kMaxBytes);
    ANEMONE_RETURN_IF_ERROR(print_json(answer(text)));
  }
}

Status answer_lines(const std::function<Json(const Json& request)>& answer) {
  return answer_raw_lines([&](const Result<std::string>& line) {
    const auto request = line.ok() ? parse_json(*line, "request") : Result<Json>(line.status());
    return request.ok() ? answer(*request) : Json{{"error", request.status().message()}};
  });
}

Result<std::string> read_stdin() {
  std::string text;
  std::array<char, 64 * 1024> chunk;
  while (true) {
    const ssize_t count = ::read(STDIN_FILENO, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error("stdin", "read");
    if (count == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(count));
    if (text.size() > kMaxBytes)
      return invalid_argument("[stdin] expected at most {} bytes, got more", kMaxBytes);
  }
}

}  // namespace anemone::cli
