// SPDX-License-Identifier: Apache-2.0
#include "bench/load_time.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace anemone::bench {
namespace {

TEST(LoadTime, SurvivesTheWayBetweenProcesses) {
  LoadTime load;
  load.ready_ms = 12.5;
  load.first_token_ms = 20;
  load.memory = {5000, 3000, 2000, 6000};
  load.weight_bytes = 1ULL << 40;
  load.cache_bytes = 77;
  const auto read = load_time_from_json(dump_json(load_time_to_json(load)));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->ready_ms, 12.5);
  EXPECT_EQ(read->first_token_ms, 20);
  EXPECT_EQ(read->memory.resident, 5000U);
  EXPECT_EQ(read->memory.anonymous, 3000U);
  EXPECT_EQ(read->memory.mapped, 2000U);
  EXPECT_EQ(read->memory.peak, 6000U);
  EXPECT_EQ(read->weight_bytes, 1ULL << 40);
  EXPECT_EQ(read->cache_bytes, 77U);
}

TEST(LoadTime, OtherOutputIsRefused) {
  for (const char* text : {"", "{}", "[]", "7", "{\"ready_ms\": \"soon\"}", "hello"})
    EXPECT_FALSE(load_time_from_json(text).ok()) << text;
}

TEST(LoadTime, AProcessThatFailsOrIsNotThereIsAnError) {
  const auto failed = measure_load("/bin/sh", {"-c", "exit 3"}, 1);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.status().message().find("exit code 3"), std::string::npos)
      << failed.status().message();
  EXPECT_FALSE(measure_load("/nonexistent/anemone", {}, 1).ok());
}

TEST(LoadTime, IsTheMedianAfterOneThatDoesNotCount) {
  // The number that is added at the end becomes $0 of the script.
  const auto load = measure_load(
      "/bin/sh",
      {"-c",
       "echo '{\"ready_ms\":1,\"first_token_ms\":2,\"resident\":3,\"anonymous\":4,\"mapped\":5,"
       "\"peak\":6,\"weight_bytes\":7,\"cache_bytes\":8}'; test \"$0\" -gt 0"},
      3);
  ASSERT_TRUE(load.ok()) << load.status().message();
  EXPECT_EQ(load->first_token_ms, 2);
}

}  // namespace
}  // namespace anemone::bench
