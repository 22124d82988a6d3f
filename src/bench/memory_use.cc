// SPDX-License-Identifier: Apache-2.0
#include "bench/memory_use.h"

#include <algorithm>
#if defined(__APPLE__)
#include <mach/mach.h>
#elif defined(__linux__)
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>
#endif

namespace anemone::bench {
namespace {

#if defined(__linux__)
// "VmRSS:     1234 kB" as bytes.
void take(std::string_view line, std::string_view name, std::uint64_t& out) {
  if (!line.starts_with(name)) return;
  line.remove_prefix(name.size());
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  std::uint64_t kilobytes = 0;
  std::from_chars(line.data(), line.data() + line.size(), kilobytes);
  out += kilobytes << 10;
}
#endif

}  // namespace

MemoryUse memory_use() {
  MemoryUse out;
#if defined(__linux__)
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    take(line, "VmRSS:", out.resident);
    take(line, "RssAnon:", out.anonymous);
    take(line, "RssFile:", out.mapped);
    take(line, "RssShmem:", out.mapped);
    // getrusage() does not serve: there the peak of the process that started this one counts too.
    take(line, "VmHWM:", out.peak);
  }
#elif defined(__APPLE__)
  task_vm_info_data_t info{};
  mach_msg_type_number_t count = TASK_VM_INFO_COUNT;
  if (::task_info(mach_task_self(), TASK_VM_INFO, reinterpret_cast<task_info_t>(&info), &count) ==
      KERN_SUCCESS) {
    out.resident = info.resident_size;
    out.anonymous = info.internal;
    out.mapped = info.external;
    out.peak = info.resident_size_peak;
  }
#endif
  return out;
}

}  // namespace anemone::bench
