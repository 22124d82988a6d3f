// SPDX-License-Identifier: Apache-2.0
#include "cli/jsonl_loop.h"

#include <array>
#include <iostream>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/error.h"
#include "cli/output.h"
#include "serve/jsonl/line_channel.h"

namespace anemone::cli {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

}  // namespace

Status answer_lines(const std::function<Json(const Json& request)>& answer) {
  using Outcome = serve::jsonl::LineChannel::Outcome;
  serve::jsonl::LineChannel channel(STDIN_FILENO, STDOUT_FILENO, /*stop=*/-1, kMostBytes);
  std::string line;
  while (true) {
    ANEMONE_ASSIGN_OR_RETURN(const Outcome outcome, channel.read_line(line));
    if (outcome == Outcome::kEnd) return {};
    const auto request =
        outcome == Outcome::kLine
            ? parse_json(line, "request")
            : invalid_argument("[request] expected a line of at most {} bytes", kMostBytes);
    const Json out = request.ok() ? answer(*request) : Json{{"error", request.status().message()}};
    ANEMONE_RETURN_IF_ERROR(print_json(out));
  }
}

Result<std::string> read_stdin() {
  std::string text;
  std::array<char, 64 * 1024> chunk;
  while (std::cin.read(chunk.data(), chunk.size()), std::cin.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(std::cin.gcount()));
    if (text.size() > kMostBytes)
      return invalid_argument("[stdin] expected at most {} bytes, got more", kMostBytes);
  }
  if (std::cin.bad()) return io_error("[stdin] cannot read");
  return text;
}

}  // namespace anemone::cli
