// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>
#include <sys/types.h>
#include <utility>

#include "base/descriptor.h"

namespace anemone::serve {

// The file of a listening Unix socket that only its owner may use (mode 0600). It is made under
// another name in the same folder and put in its place by one rename, so that the path always leads
// to a whole socket; nothing is replaced but a socket that nobody answers on, and nothing removed
// at the end but this file itself. Single-thread.
class SocketFile {
 public:
  // `backlog`: how many connections may wait to be accepted. kInvalidArgument when the path is too
  // long for a socket, kIo when it cannot be had: something else is there, or a socket that a
  // server answers on.
  static Result<SocketFile> listen(const std::string& path, int backlog = 16);
  SocketFile(SocketFile&& other) noexcept;
  SocketFile& operator=(SocketFile&&) = delete;
  ~SocketFile() { remove(); }

  // Removes the file, if it is still this one; once.
  void remove();
  // The listening socket; -1 when it was taken.
  int get() const { return listener_.get(); }
  // Gives the listening socket away. The file stays with this object.
  Descriptor take_listener() { return std::move(listener_); }

 private:
  // Identifies the file, whatever it is called.
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    auto operator<=>(const Identity&) const = default;
  };
  SocketFile(std::string path, Descriptor listener, Identity identity)
      : path_(std::move(path)), listener_(std::move(listener)), identity_(identity) {}

  static Status take_over(const std::string& ours, const std::string& path, Identity dead);

  std::string path_;  // empty when it was moved from
  Descriptor listener_;
  Identity identity_;
};

// Connects to the server that listens on this path. A closed descriptor: there is none, because
// nothing is there or nobody listens any more. kInvalidArgument when the path is too long for a
// socket, else kIo.
Result<Descriptor> connect_to_socket(const std::string& path);

}  // namespace anemone::serve
