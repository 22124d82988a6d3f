// SPDX-License-Identifier: Apache-2.0
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <histedit.h>
#include <langinfo.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/environment.h"
#include "base/terminal.h"
#include "cli/interrupt.h"
#include "cli/line_editor.h"
#include "cli/terminal_input.h"

namespace anemone::cli {
namespace {

constexpr int kHistoryEntries = 1000;
constexpr int kLookMilliseconds = 200;  // how soon a window that was resized is noticed
constexpr std::size_t kMaxPaste = std::size_t{4} << 20;
// Terminals put these around what is pasted, once they are asked to (xterm, "bracketed paste").
constexpr std::string_view kAskForPastes = "\033[?2004h";
constexpr std::string_view kNoPastes = "\033[?2004l";
constexpr std::string_view kPasteEnd = "\033[201~";

class HistoryEditor : public LineEditor {
 public:
  static std::unique_ptr<LineEditor> make() {
    auto out = std::unique_ptr<HistoryEditor>(new HistoryEditor());
    if (out->editor_ == nullptr || out->history_ == nullptr) return nullptr;
    return out;
  }
  ~HistoryEditor() override {
    if (history_ != nullptr) ::history_end(history_);
    if (editor_ != nullptr) ::el_end(editor_);
  }

  Result<Outcome> read(const std::string& prompt, std::string& text) override {
    // \1 tells libedit that what stands between takes no columns. A sequence needs a character
    // after it, for which the last space is there.
    prompt_ = prompt;
    if (has_color(STDERR_FILENO) && prompt.ends_with(' '))
      prompt_ = "\1\033[36m\1" + prompt.substr(0, prompt.size() - 1) + "\1\033[0m\1 ";
    write_text(STDERR_FILENO, kAskForPastes);
    int count = 0;
    const char* line = ::el_gets(editor_, &count);
    write_text(STDERR_FILENO, kNoPastes);
    if (line != nullptr && count > 0) {
      text.assign(line, static_cast<std::size_t>(count));
      // Ctrl-D ends a text, too, as on every terminal; the line end is not a part of it.
      if (text.ends_with('\n')) text.pop_back();
      return Outcome::kText;
    }
    if (was_interrupted_) {
      was_interrupted_ = false;
      take_interrupt();
      write_text(STDERR_FILENO, "^C\n");
      return Outcome::kInterrupted;
    }
    write_text(STDERR_FILENO, "\n");
    if (!failure_.ok()) return std::exchange(failure_, Status());
    return Outcome::kEnd;
  }

  void remember(const std::string& text) override {
    HistEvent event{};
    ::history(history_, &event, H_ENTER, text.c_str());
    if (file_.empty()) return;
    ::history(history_, &event, H_SAVE, file_.c_str());
    ::chmod(file_.c_str(), 0600);
  }

 private:
  HistoryEditor() {
    // libedit takes characters apart as the locale says.
    std::setlocale(LC_CTYPE, "");
    if (std::string_view(::nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
    remember_terminal();
    history_ = ::history_init();
    // stdout is for answers, which may go to a file.
    editor_ = ::el_init("anemone", stdin, stderr, stderr);
    if (history_ == nullptr || editor_ == nullptr) return;
    HistEvent event{};
    ::history(history_, &event, H_SETSIZE, kHistoryEntries);
    ::history(history_, &event, H_SETUNIQUE, 1);
    file_ = history_file();
    if (!file_.empty()) ::history(history_, &event, H_LOAD, file_.c_str());
    ::el_set(editor_, EL_CLIENTDATA, this);
    ::el_set(editor_, EL_PROMPT_ESC, &HistoryEditor::prompt, '\1');
    ::el_set(editor_, EL_EDITOR, "emacs");
    ::el_set(editor_, EL_HIST, ::history, history_);
    ::el_set(editor_, EL_GETCFN, &HistoryEditor::next_character);
    ::el_set(editor_, EL_ADDFN, "anemone-paste", "Insert what is pasted", &HistoryEditor::paste);
    ::el_set(editor_, EL_BIND, "\\e[200~", "anemone-paste", nullptr);
    ::el_set(editor_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    ::el_set(editor_, EL_BIND, "\\e[1~", "ed-move-to-beg", nullptr);
    ::el_set(editor_, EL_BIND, "\\e[4~", "ed-move-to-end", nullptr);
    ::el_set(editor_, EL_BIND, "\\e[3~", "ed-delete-next-char", nullptr);
  }

  static HistoryEditor* self(EditLine* editor) {
    void* data = nullptr;
    ::el_get(editor, EL_CLIENTDATA, &data);
    return static_cast<HistoryEditor*>(data);
  }

  static char* prompt(EditLine* editor) { return self(editor)->prompt_.data(); }

  // Bytes until there is a character. Its own, because that of the library goes on after the first
  // signal.
  static int next_character(EditLine* editor, wchar_t* character) {
    std::mbstate_t state{};
    while (true) {
      char byte = 0;
      const int count = next_byte(editor, byte);
      if (count <= 0) return count;
      const std::size_t used = std::mbrtowc(character, &byte, 1, &state);
      if (used == static_cast<std::size_t>(-2)) continue;  // there is more of it
      if (used == static_cast<std::size_t>(-1)) {
        // No character: skipped.
        state = {};
        continue;
      }
      return 1;
    }
  }

  static int next_byte(EditLine* editor, char& byte) {
    HistoryEditor* me = self(editor);
    while (true) {
      if (is_interrupted()) {
        me->was_interrupted_ = true;
        return -1;
      }
      me->follow_window();
      if (!me->input_.has_input(kLookMilliseconds)) continue;
      const auto count = me->input_.read(&byte, 1);
      if (!count.ok()) {
        me->failure_ = count.status();
        return -1;
      }
      if (count->has_value()) return static_cast<int>(**count);
    }
  }

  void follow_window() {
    const int columns = terminal_columns(STDERR_FILENO).value_or(0);
    if (columns_ != 0 && columns != columns_) {
      ::el_resize(editor_);
      ::el_set(editor_, EL_REFRESH);
    }
    columns_ = columns;
  }

  // Takes everything up to the end of the paste as text, whatever keys it would be.
  static unsigned char paste(EditLine* editor, int /*key*/) {
    std::string text;
    char byte = 0;
    // All of it is read, as the rest would be keys, and its line ends would send messages.
    std::string end;
    while (end != kPasteEnd && next_byte(editor, byte) > 0) {
      if (end.size() == kPasteEnd.size()) end.erase(0, 1);
      end += byte;
      if (text.size() < kMaxPaste) text += byte == '\r' ? '\n' : byte;
    }
    if (text.ends_with(kPasteEnd)) text.resize(text.size() - kPasteEnd.size());
    while (text.ends_with('\n')) text.pop_back();
    // A zero would end the text for the library, and control characters would move the cursor.
    std::erase_if(text, [](char c) {
      return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
    });
    if (text.empty()) return CC_REFRESH;
    return ::el_insertstr(editor, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }

  TerminalInput input_;
  EditLine* editor_ = nullptr;
  History* history_ = nullptr;
  std::string prompt_;
  std::string file_;
  int columns_ = 0;
  bool was_interrupted_ = false;
  Status failure_;  // why input_ could not be read
};

}  // namespace

std::unique_ptr<LineEditor> make_history_editor() {
  if (environment_variable("TERM").value_or("dumb") == "dumb") return nullptr;
  return HistoryEditor::make();
}

}  // namespace anemone::cli
