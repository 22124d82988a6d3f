// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal_input.h"

#include <array>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/error.h"

namespace anemone::cli {

TerminalInput::TerminalInput() {
  std::array<char, PATH_MAX> name;
  if (::ttyname_r(STDIN_FILENO, name.data(), name.size()) == 0)
    terminal_ = Descriptor(::open(name.data(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

bool TerminalInput::has_input(int milliseconds) const {
  pollfd wait = {descriptor(), POLLIN, 0};
  return ::poll(&wait, 1, milliseconds) > 0;
}

Result<std::optional<std::size_t>> TerminalInput::read(char* bytes, std::size_t size) const {
  const ssize_t count = ::read(descriptor(), bytes, size);
  if (count >= 0) return std::optional(static_cast<std::size_t>(count));
  if (errno == EAGAIN || errno == EINTR) return std::optional<std::size_t>();
  return errno_error("stdin", "read");
}

int TerminalInput::descriptor() const {
  return terminal_.is_open() ? terminal_.get() : STDIN_FILENO;
}

}  // namespace anemone::cli
