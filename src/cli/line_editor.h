// SPDX-License-Identifier: Apache-2.0
// Reads what a person types: with editing and a history where the terminal and the build have it
// (libedit), else as the terminal gives it. What is pasted comes as one text, line ends included.
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string>

namespace anemone::cli {

class LineEditor {
 public:
  enum class Outcome { kText, kEnd, kInterrupted };

  virtual ~LineEditor() = default;
  // The next text, without the line end that sent it. kInterrupted after Ctrl-C, kEnd after Ctrl-D
  // or at the end of stdin. kIo when stdin cannot be read.
  virtual Result<Outcome> read(const std::string& prompt, std::string& text) = 0;
  // Adds a text to the history, of this session and of later ones.
  virtual void remember(const std::string& text) = 0;
};

// The editor for stdin. On a terminal it prompts on stderr; a file or pipe is read line by line.
std::unique_ptr<LineEditor> make_line_editor();

// The editor of libedit; null where the build, the terminal or its kind ($TERM) has none.
std::unique_ptr<LineEditor> make_history_editor();

// $ANEMONE_HISTORY, else $XDG_STATE_HOME/anemone/history, else ~/.local/state/anemone/history; in a
// folder that is made private to the user. Empty where there is none, or ANEMONE_HISTORY is "off".
std::string history_file();

// While it lives, what is typed does not show: it would mix with an answer. It is not lost.
class EchoOff {
 public:
  EchoOff();
  ~EchoOff();
  EchoOff(const EchoOff&) = delete;
  EchoOff& operator=(const EchoOff&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace anemone::cli
