// SPDX-License-Identifier: Apache-2.0
#include "base/machine.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "tests/support/shared_data.h"

namespace anemone {
namespace {

class CgroupFiles : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_.file(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  CgroupLimits read() const { return read_cgroup_limits(folder_.path()); }

  testing::TemporaryFolder folder_;
};

TEST_F(CgroupFiles, NoneMeansNoLimits) {
  EXPECT_FALSE(read().cores);
  EXPECT_FALSE(read().memory_bytes);
}

TEST_F(CgroupFiles, OfVersionTwo) {
  put("cpu.max", "150000 100000\n");
  put("memory.max", "2147483648\n");
  EXPECT_EQ(read().cores, 1.5);
  EXPECT_EQ(read().memory_bytes, 2147483648U);
}

TEST_F(CgroupFiles, OfVersionTwoWithoutLimits) {
  put("cpu.max", "max 100000\n");
  put("memory.max", "max\n");
  EXPECT_FALSE(read().cores);
  EXPECT_FALSE(read().memory_bytes);
}

TEST_F(CgroupFiles, OfVersionOne) {
  put("cpu/cpu.cfs_quota_us", "50000\n");
  put("cpu/cpu.cfs_period_us", "100000\n");
  put("memory/memory.limit_in_bytes", "1000000\n");
  EXPECT_EQ(read().cores, 0.5);
  EXPECT_EQ(read().memory_bytes, 1000000U);
}

TEST_F(CgroupFiles, OfVersionOneWithoutLimits) {
  put("cpu/cpu.cfs_quota_us", "-1\n");
  put("cpu/cpu.cfs_period_us", "100000\n");
  put("memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(read().cores);
  EXPECT_FALSE(read().memory_bytes);
}

TEST(InstructionSets, AreNamedInAFixedOrderAndOthersLeftOut) {
  EXPECT_EQ(instruction_sets_of("fpu amx_int8 avx512_vnni avx2 avx512f sse4_2 hypervisor"),
            (std::vector<std::string>{"SSE4.2", "AVX2", "AVX-512 F", "AVX-512 VNNI", "AMX INT8"}));
  EXPECT_EQ(instruction_sets_of("fp asimd evtstrm asimddp sve2"),
            (std::vector<std::string>{"NEON", "DOTPROD", "SVE2"}));
  EXPECT_TRUE(instruction_sets_of("").empty());
  EXPECT_TRUE(instruction_sets_of("avx2x xavx2").empty());
}

TEST(Machine, TellsWhatEverySystemHas) {
  const Machine machine = describe_machine();
  EXPECT_FALSE(machine.system.empty());
  EXPECT_FALSE(machine.kernel.empty());
  EXPECT_FALSE(machine.architecture.empty());
  EXPECT_GE(machine.cores, 1);
  EXPECT_GE(machine.cores_allowed, default_thread_count());
  EXPECT_GT(machine.memory_bytes, 0U);
  EXPECT_LE(machine.memory_available_bytes, machine.memory_bytes);
}

}  // namespace
}  // namespace anemone
