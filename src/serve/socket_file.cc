// SPDX-License-Identifier: Apache-2.0
#include "serve/socket_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <random>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "base/error.h"

namespace anemone::serve {
namespace {

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path))
    return invalid_argument("[{}] expected a path of 1 to {} bytes for a socket, got {}", path,
                            sizeof(address.sun_path) - 1, path.size());
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// A name in the same folder that is nobody else's, and short, since a path has little room.
std::string private_name(const std::string& path) {
  std::random_device device;
  const std::size_t slash = path.rfind('/');
  return path.substr(0, slash == path.npos ? 0 : slash + 1) + fmt::format(".{:06x}", device() >> 8);
}

// Renames the file, but only if no file has the new name: it fails with EEXIST otherwise.
int rename_to_nothing(const std::string& from, const std::string& to) {
#ifdef __APPLE__
  return ::renamex_np(from.c_str(), to.c_str(), RENAME_EXCL);
#else
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
#endif
}

int exchange_files(const std::string& a, const std::string& b) {
#ifdef __APPLE__
  return ::renamex_np(a.c_str(), b.c_str(), RENAME_SWAP);
#else
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
#endif
}

// Removes a file unless release() was called.
class Remover {
 public:
  explicit Remover(std::string path) : path_(std::move(path)) {}
  ~Remover() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Remover(const Remover&) = delete;
  Remover& operator=(const Remover&) = delete;
  void release() { path_.clear(); }

 private:
  std::string path_;
};

Status in_use(const std::string& path) {
  return io_error("[{}] expected an unused socket, got one that a server answers on", path);
}

}  // namespace

// Exchanges the files and checks what came out: what is not the dead socket goes back.
Status SocketFile::take_over(const std::string& ours, const std::string& path, Identity dead) {
  if (exchange_files(ours, path) != 0) return errno_error(path, "replace the unused socket");
  struct stat info = {};
  if (::lstat(ours.c_str(), &info) == 0 && Identity{info.st_dev, info.st_ino} == dead) {
    ::unlink(ours.c_str());
    return {};
  }
  if (exchange_files(ours, path) != 0) return errno_error(path, "give the file back");
  return in_use(path);
}

Result<SocketFile> SocketFile::listen(const std::string& path, int backlog) {
  ANEMONE_ASSIGN_OR_RETURN(const sockaddr_un address, address_of(path));
  // What is there may be only a socket on which nobody answers.
  std::optional<Identity> dead;
  struct stat info = {};
  if (::lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode))
      return io_error("[{}] expected no file or an unused socket, got something else", path);
    const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM, 0));
    if (!probe.is_open()) return errno_error(path, "make a socket");
    ::fcntl(probe.get(), F_SETFL, O_NONBLOCK);  // a server whose queue is full is one, too
    if (::connect(probe.get(), generic(address), sizeof(address)) == 0 || errno == EAGAIN)
      return in_use(path);
    if (errno != ECONNREFUSED) return errno_error(path, "stat the socket");
    dead = Identity{info.st_dev, info.st_ino};
  }
  const std::string ours = private_name(path);
  ANEMONE_ASSIGN_OR_RETURN(const sockaddr_un bound, address_of(ours));
  Descriptor listener(::socket(AF_UNIX, SOCK_STREAM, 0));
  if (!listener.is_open()) return errno_error(path, "make a socket");
  ::fcntl(listener.get(), F_SETFD, FD_CLOEXEC);
  // The mode is set from the start: between bind and chmod others could connect.
  const mode_t mask = ::umask(0177);
  const int result = ::bind(listener.get(), generic(bound), sizeof(bound));
  const int error = errno;
  ::umask(mask);
  errno = error;
  if (result != 0) return errno_error(path, "make the socket");
  Remover remover(ours);
  if (::lstat(ours.c_str(), &info) != 0) return errno_error(path, "stat the socket");
  // It listens before it has its name, so that whoever finds the socket is heard.
  if (::listen(listener.get(), backlog) != 0) return errno_error(path, "listen on the socket");
  if (dead) {
    ANEMONE_RETURN_IF_ERROR(take_over(ours, path, *dead));
  } else if (rename_to_nothing(ours, path) != 0) {
    if (errno == EEXIST) return io_error("[{}] a file appeared at this path just now", path);
    return errno_error(path, "make the socket");
  }
  remover.release();
  return SocketFile(path, std::move(listener), {info.st_dev, info.st_ino});
}

SocketFile::SocketFile(SocketFile&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      listener_(std::move(other.listener_)),
      identity_(other.identity_) {}

void SocketFile::remove() {
  struct stat info = {};
  if (path_.empty() || ::lstat(path_.c_str(), &info) != 0) return;
  // Another server may have taken the name over.
  if (Identity{info.st_dev, info.st_ino} == identity_) ::unlink(path_.c_str());
  path_.clear();
}

Result<Descriptor> connect_to_socket(const std::string& path) {
  ANEMONE_ASSIGN_OR_RETURN(const sockaddr_un address, address_of(path));
  Descriptor out(::socket(AF_UNIX, SOCK_STREAM, 0));
  if (!out.is_open()) return errno_error(path, "make a socket for");
  ::fcntl(out.get(), F_SETFD, FD_CLOEXEC);
  if (::connect(out.get(), generic(address), sizeof address) == 0) return out;
  if (errno == ENOENT || errno == ECONNREFUSED) return Descriptor();
  return errno_error(path, "connect to");
}

}  // namespace anemone::serve
