// SPDX-License-Identifier: Apache-2.0
#include "cli/line_editor.h"

#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <termios.h>
#include <unistd.h>
#include <utility>

#include "base/environment.h"
#include "base/error.h"
#include "base/terminal.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/private_folder.h"
#include "cli/terminal_input.h"

namespace anemone::cli {
namespace {

// More than a context holds; keeps a line without an end from taking all memory.
constexpr std::size_t kMaxText = std::size_t{16} << 20;
// The lines of a paste are there one right after the other; a person takes longer.
constexpr int kPasteMilliseconds = 10;
constexpr int kLookMilliseconds = 100;  // how soon a Ctrl-C is noticed

class PlainEditor : public LineEditor {
 public:
  explicit PlainEditor(bool is_terminal) {
    if (is_terminal) terminal_.emplace();
  }

  Result<Outcome> read(const std::string& prompt, std::string& text) override {
    if (terminal_) print_err("{}", styled(prompt, Style::kAccent, STDERR_FILENO));
    ANEMONE_ASSIGN_OR_RETURN(Outcome outcome, read_line(text));
    std::string more;
    while (terminal_ && outcome == Outcome::kText && has_more()) {
      ANEMONE_ASSIGN_OR_RETURN(const Outcome next, read_line(more));
      if (next != Outcome::kText) break;
      text += "\n" + more;
    }
    return outcome;
  }
  void remember(const std::string& /*text*/) override {}

 private:
  bool has_more() const {
    return buffer_.find('\n') != buffer_.npos || terminal_->has_input(kPasteMilliseconds);
  }

  Result<Outcome> read_line(std::string& line) {
    std::size_t searched = 0;
    while (true) {
      if (const std::size_t end = buffer_.find('\n', searched); end != buffer_.npos) {
        line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        if (line.ends_with('\r')) line.pop_back();
        return Outcome::kText;
      }
      searched = buffer_.size();
      if (buffer_.size() > kMaxText)
        return invalid_argument("[stdin] expected a line of at most {} bytes, got more", kMaxText);
      if (terminal_ && take_interrupt()) return Outcome::kInterrupted;
      char bytes[4096];
      ANEMONE_ASSIGN_OR_RETURN(const auto count, read_bytes(bytes, sizeof(bytes)));
      if (!count) continue;
      if (*count == 0) {
        if (buffer_.empty()) return Outcome::kEnd;
        line = std::exchange(buffer_, std::string());
        return Outcome::kText;
      }
      buffer_.append(bytes, *count);
    }
  }

  // How many bytes came, 0 at the end; nothing when it is time to look for a signal.
  Result<std::optional<std::size_t>> read_bytes(char* bytes, std::size_t size) const {
    if (terminal_ && !terminal_->has_input(kLookMilliseconds)) return std::optional<std::size_t>();
    if (terminal_) return terminal_->read(bytes, size);
    const ssize_t count = ::read(STDIN_FILENO, bytes, size);
    if (count >= 0) return std::optional(static_cast<std::size_t>(count));
    if (errno == EINTR) return std::optional<std::size_t>();
    return errno_error("stdin", "read");
  }

  std::optional<TerminalInput> terminal_;  // none for a file or a pipe
  std::string buffer_;                     // read, and not yet given
};

}  // namespace

std::unique_ptr<LineEditor> make_line_editor() {
  const bool is_terminal = ::isatty(STDIN_FILENO) == 1;
  if (is_terminal && ::isatty(STDERR_FILENO) == 1)
    if (auto editor = make_history_editor()) return editor;
  return std::make_unique<PlainEditor>(is_terminal);
}

std::string history_file() {
  namespace fs = std::filesystem;
  if (const auto named = environment_variable("ANEMONE_HISTORY"))
    return *named == "off" ? std::string() : *named;
  fs::path folder;
  if (const auto state = environment_variable("XDG_STATE_HOME"))
    folder = *state;
  else if (const auto home = environment_variable("HOME"))
    folder = fs::path(*home) / ".local" / "state";
  else
    return "";
  folder /= "anemone";
  // A history that cannot be kept is no reason not to chat.
  if (!make_private_folder(folder.string()).ok()) return "";
  return (folder / "history").string();
}

struct EchoOff::State {
  termios before{};
};

EchoOff::EchoOff() {
  State state;
  if (::tcgetattr(STDIN_FILENO, &state.before) != 0) return;
  remember_terminal();
  termios quiet = state.before;
  quiet.c_lflag &= static_cast<tcflag_t>(~static_cast<tcflag_t>(ECHO));
  if (::tcsetattr(STDIN_FILENO, TCSANOW, &quiet) == 0) state_ = std::make_unique<State>(state);
}

EchoOff::~EchoOff() {
  if (state_) ::tcsetattr(STDIN_FILENO, TCSANOW, &state_->before);
}

#ifndef ANEMONE_HAS_LIBEDIT
std::unique_ptr<LineEditor> make_history_editor() {
  return nullptr;
}
#endif

}  // namespace anemone::cli
