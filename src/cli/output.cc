// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <cerrno>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/escape.h"

namespace anemone::cli {
namespace {

constexpr std::size_t kMaxLine = 400;
constexpr std::string_view kErrorPrefix = "anemone: ";
constexpr std::string_view kGap = " ... ";

bool is_closed = false;

}  // namespace

bool stdout_is_closed() {
  return is_closed;
}

Status print_out(std::string_view text) {
  if (is_closed) return io_error("[stdout] is closed");
  errno = 0;
  if (write_text(STDOUT_FILENO, text)) return {};
  is_closed = errno == EPIPE;
  return errno_error("stdout", "write");
}

Status print_report(std::string_view text) {
  return print_out(escaped_lines(text));
}

Status print_json(const Json& value, int indent) {
  return print_out(escaped_json(dump_json(value, indent)) + "\n");
}

std::string error_line(std::string_view message) {
  // Far more than fits. The rest of a larger message is not looked at, so that it costs nothing.
  constexpr std::size_t kMaxRead = 1 << 16;
  std::vector<std::string> pieces = escaped_pieces(message.substr(0, kMaxRead));
  std::size_t size = kErrorPrefix.size();
  for (const std::string& piece : pieces) size += piece.size();
  std::string line(kErrorPrefix);
  if (size <= kMaxLine) {
    for (const std::string& piece : pieces) line += piece;
    return line + '\n';
  }
  // The subject stands at the start, and at the end often the place of the error in a file, so the
  // middle goes.
  const std::size_t room = kMaxLine - kErrorPrefix.size() - kGap.size();
  std::string tail;
  std::size_t last = pieces.size();
  while (last > 0 && tail.size() + pieces[last - 1].size() <= room / 3)
    tail.insert(0, pieces[--last]);
  std::size_t first = 0;
  std::string head;
  while (first < last && head.size() + pieces[first].size() <= room - tail.size())
    head += pieces[first++];
  return line.append(head).append(kGap).append(tail) + '\n';
}

void print_error(std::string_view message) {
  std::string line = error_line(message);
  const std::string_view who = kErrorPrefix.substr(0, kErrorPrefix.size() - 1);
  line.replace(0, who.size(), styled(who, Style::kError, STDERR_FILENO));
  write_text(STDERR_FILENO, line);
}

}  // namespace anemone::cli
