// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <fstream>
#include <unistd.h>

namespace anemone::testing {

// The resident memory of the process beside mapped files, whose pages come as its code runs; 0 on a
// system without /proc.
inline std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  std::size_t of_files = 0;
  file >> pages >> pages >> of_files;
  return (pages - of_files) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace anemone::testing
