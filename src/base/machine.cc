// SPDX-License-Identifier: Apache-2.0
#include "base/machine.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>
#include <utility>

#ifdef __linux__
#include <sched.h>
#endif
#ifdef __APPLE__
#include <sys/sysctl.h>
#endif

namespace anemone {
namespace {

// Name of the system's flag, name for people. x86 first, then arm64.
constexpr std::pair<const char*, const char*> kInstructionSets[] = {
    {"sse4_2", "SSE4.2"},
    {"avx2", "AVX2"},
    {"fma", "FMA"},
    {"f16c", "F16C"},
    {"avx_vnni", "AVX-VNNI"},
    {"avx512f", "AVX-512 F"},
    {"avx512bw", "AVX-512 BW"},
    {"avx512vl", "AVX-512 VL"},
    {"avx512_vnni", "AVX-512 VNNI"},
    {"avx512_bf16", "AVX-512 BF16"},
    {"avx512_fp16", "AVX-512 FP16"},
    {"amx_int8", "AMX INT8"},
    {"amx_bf16", "AMX BF16"},
    {"asimd", "NEON"},
    {"asimdhp", "FP16"},
    {"asimddp", "DOTPROD"},
    {"i8mm", "I8MM"},
    {"bf16", "BF16"},
    {"sve", "SVE"},
    {"sve2", "SVE2"},
    {"sme", "SME"},
};

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<double> number_in(const std::string& path) {
  std::ifstream file(path);
  double value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

#ifdef __linux__
// The text after "key<blanks>:" or "key=" of the first such line.
std::string field(const std::string& path, const std::string& key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const auto at = line.find_first_not_of(" \t", key.size());
    if (at == std::string::npos || line[at] != separator) continue;
    const auto value = line.find_first_not_of(" \t\"", at + 1);
    if (value == std::string::npos) return "";
    const auto last = line.find_last_not_of(" \t\"");
    return line.substr(value, last - value + 1);
  }
  return "";
}

// A line of /proc/meminfo, "MemTotal:  24000000 kB".
std::uint64_t memory_field(const std::string& key) {
  std::uint64_t kilobytes = 0;
  std::istringstream(field("/proc/meminfo", key, ':')) >> kilobytes;
  return kilobytes * 1024;
}

void describe_system(Machine& machine) {
  machine.system = field("/etc/os-release", "PRETTY_NAME", '=');
  machine.processor = field("/proc/cpuinfo", "model name", ':');  // absent on arm64
  const std::string x86 = field("/proc/cpuinfo", "flags", ':');
  machine.instruction_sets =
      instruction_sets_of(x86.empty() ? field("/proc/cpuinfo", "Features", ':') : x86);
  machine.memory_bytes = memory_field("MemTotal");
  machine.memory_available_bytes = memory_field("MemAvailable");
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) machine.cores_allowed = CPU_COUNT(&set);
}
#elif defined(__APPLE__)
std::string text_of(const char* name) {
  std::size_t size = 0;
  if (::sysctlbyname(name, nullptr, &size, nullptr, 0) != 0 || size == 0) return "";
  std::string text(size, '\0');
  if (::sysctlbyname(name, text.data(), &size, nullptr, 0) != 0) return "";
  return text.c_str();  // ends at its zero
}

std::uint64_t number_of(const char* name) {
  std::uint64_t value = 0;  // the system has these little-endian, of 4 or 8 bytes
  std::size_t size = sizeof value;
  return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 ? value : 0;
}

void describe_system(Machine& machine) {
  machine.system = "macOS " + text_of("kern.osproductversion");
  machine.processor = text_of("machdep.cpu.brand_string");
  constexpr std::pair<const char*, const char*> kFlags[] = {
      {"hw.optional.neon", "asimd"},
      {"hw.optional.arm.FEAT_FP16", "asimdhp"},
      {"hw.optional.arm.FEAT_DotProd", "asimddp"},
      {"hw.optional.arm.FEAT_I8MM", "i8mm"},
      {"hw.optional.arm.FEAT_BF16", "bf16"},
      {"hw.optional.arm.FEAT_SME", "sme"},
      {"hw.optional.avx2_0", "avx2"},
      {"hw.optional.avx512f", "avx512f"},
  };
  std::string flags;
  for (const auto& [name, flag] : kFlags)
    if (number_of(name) != 0) flags.append(" ").append(flag);
  machine.instruction_sets = instruction_sets_of(flags);
  machine.memory_bytes = number_of("hw.memsize");
  machine.memory_available_bytes =
      (number_of("vm.page_free_count") + number_of("vm.page_purgeable_count")) *
      number_of("hw.pagesize");
}
#else
void describe_system(Machine&) {}
#endif

}  // namespace

std::vector<std::string> instruction_sets_of(const std::string& flags) {
  std::vector<std::string> words;
  std::istringstream in(flags);
  for (std::string word; in >> word;) words.push_back(word);
  std::vector<std::string> out;
  for (const auto& [flag, name] : kInstructionSets)
    if (std::find(words.begin(), words.end(), flag) != words.end()) out.emplace_back(name);
  return out;
}

CgroupLimits read_cgroup_limits(const std::string& root) {
  CgroupLimits limits;
  const auto set_cores = [&](double quota, double period) {
    if (quota > 0 && period > 0) limits.cores = quota / period;
  };
  const auto set_memory = [&](double bytes) {
    // Version 1 says "unlimited" as the largest multiple of a page.
    if (bytes > 0 && bytes < 0x1p62) limits.memory_bytes = static_cast<std::uint64_t>(bytes);
  };
  // Version 2 has "QUOTA PERIOD" or "max PERIOD" in cpu.max, and a number or "max" in memory.max.
  double quota = 0;
  double period = 0;
  if (std::istringstream(first_line(root + "/cpu.max")) >> quota >> period)
    set_cores(quota, period);
  if (const auto bytes = number_in(root + "/memory.max")) set_memory(*bytes);
  // Version 1 has one mount per controller.
  const auto old_quota = number_in(root + "/cpu/cpu.cfs_quota_us");
  const auto old_period = number_in(root + "/cpu/cpu.cfs_period_us");
  if (!limits.cores && old_quota && old_period) set_cores(*old_quota, *old_period);
  const auto old_bytes = number_in(root + "/memory/memory.limit_in_bytes");
  if (!limits.memory_bytes && old_bytes) set_memory(*old_bytes);
  return limits;
}

std::uint64_t usable_memory_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
  if (pages > 0 && page_bytes > 0)
    bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
  return std::min(bytes, read_cgroup_limits().memory_bytes.value_or(bytes));
}

Machine describe_machine() {
  Machine machine;
  utsname names = {};
  if (::uname(&names) == 0) {
    machine.kernel = std::string(names.sysname) + " " + names.release;
    machine.architecture = names.machine;
  }
  const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  machine.cores = cores > 0 ? static_cast<int>(cores) : 0;
  machine.cores_allowed = machine.cores;
  describe_system(machine);
  machine.cgroup = read_cgroup_limits();
  return machine;
}

}  // namespace anemone
