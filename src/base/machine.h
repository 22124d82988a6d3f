// SPDX-License-Identifier: Apache-2.0
// What this machine is, and how much of it this process may use, for reports: a value that the
// system does not tell is left empty, and nothing fails.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace anemone {

// Limits of the control group (container) of this process; none: unlimited, or no control groups.
struct CgroupLimits {
  std::optional<double> cores;
  std::optional<std::uint64_t> memory_bytes;
};

// Reads version 2 and version 1. `root` is where the control groups are mounted.
CgroupLimits read_cgroup_limits(const std::string& root = "/sys/fs/cgroup");

// Main memory of the machine, or what its control group lets this process have of it.
std::uint64_t usable_memory_bytes();

struct Machine {
  std::string system;        // "Debian GNU/Linux 12 (bookworm)", "macOS 15.1"
  std::string kernel;        // "Linux 6.1.0"
  std::string architecture;  // "x86_64", "arm64"
  std::string processor;     // the maker's name of it
  // Instruction sets that kernels could use and the system lets a process use, by their usual
  // names: "AVX2", "AVX-512 VNNI", "AMX INT8", "NEON", "I8MM".
  std::vector<std::string> instruction_sets;
  int cores = 0;          // of the machine, hyper-threads counted
  int cores_allowed = 0;  // by the CPU affinity of this process
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_available_bytes = 0;
  CgroupLimits cgroup;
};

Machine describe_machine();

// The instruction sets in a list of flags as /proc/cpuinfo has them; for describe_machine().
std::vector<std::string> instruction_sets_of(const std::string& flags);

}  // namespace anemone
