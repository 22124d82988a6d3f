// SPDX-License-Identifier: Apache-2.0
#include "base/executable_path.h"

#include <cstdint>
#if defined(__APPLE__)
#include <mach-o/dyld.h>
#endif

namespace anemone {

std::string executable_path() {
#if defined(__linux__)
  // The kernel follows this link when the new process starts, so it is this very file even if the
  // path has another one meanwhile.
  return "/proc/self/exe";
#elif defined(__APPLE__)
  char buffer[4096];
  std::uint32_t size = sizeof(buffer);
  return ::_NSGetExecutablePath(buffer, &size) == 0 ? buffer : "";
#else
  return "";
#endif
}

}  // namespace anemone
