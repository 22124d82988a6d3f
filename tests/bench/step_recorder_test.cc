// SPDX-License-Identifier: Apache-2.0
// The recorder of steps, its trace and the profile that is made of it.
#include "bench/step_recorder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "bench/run_profile.h"
#include "tests/support/shared_data.h"

namespace anemone::bench {
namespace {

using engine::StepPhase;

std::shared_ptr<const std::vector<exec::PlanStep>> two_steps() {
  std::vector<exec::PlanStep> steps(3);
  steps[0].name = "projection";
  steps[0].form = "int8";
  steps[0].operation = "q\"uery";
  steps[1].name = "reshape";
  steps[1].is_view = true;
  steps[2].name = "softmax";
  return std::make_shared<const std::vector<exec::PlanStep>>(std::move(steps));
}

// A step with one run of one package, of 2 ms and 1 ms.
void record_step(StepRecorder& recorder, bool is_prompt,
                 const std::shared_ptr<const std::vector<exec::PlanStep>>& steps) {
  recorder.step_begins(is_prompt);
  recorder.phase_begins(StepPhase::kLayers);
  exec::RunTimes* times = recorder.run_begins("layers.mlpackage", "decode");
  std::this_thread::sleep_for(std::chrono::milliseconds(4));
  if (steps != nullptr) times->add(steps, {0.002, 0, 0.001});
  recorder.run_ends();
  recorder.phase_ends();
  recorder.phase_begins(StepPhase::kSampling);
  recorder.phase_ends();
  recorder.step_ends(is_prompt ? 7 : 1);
}

Json trace_of(const StepRecorder& recorder) {
  const anemone::testing::TemporaryFolder folder;
  const Status status = recorder.write_trace(folder.file("trace.json"));
  EXPECT_TRUE(status.ok()) << status.message();
  const auto json = parse_json(*read_file(folder.file("trace.json")), "trace");
  EXPECT_TRUE(json.ok()) << json.status().message();
  return json.ok() ? *json : Json();
}

TEST(StepRecorder, AddsUpPhasesAndKindsOfOperations) {
  StepRecorder recorder;
  const auto steps = two_steps();
  recorder.begin("load");
  EXPECT_GE(recorder.end(), 0);
  record_step(recorder, true, steps);
  record_step(recorder, false, steps);
  record_step(recorder, false, steps);
  EXPECT_EQ(recorder.prefill().steps, 1);
  EXPECT_EQ(recorder.prefill().tokens, 7);
  EXPECT_EQ(recorder.decode().steps, 2);
  EXPECT_EQ(recorder.decode().tokens, 2);
  const auto layers = static_cast<std::size_t>(StepPhase::kLayers);
  const auto sampling = static_cast<std::size_t>(StepPhase::kSampling);
  EXPECT_GE(recorder.prefill().phases[layers], 0.004);
  EXPECT_GE(recorder.decode().phases[layers], 0.008);
  EXPECT_EQ(recorder.prefill().phases[sampling], 0) << "the first token counts to decode";
  EXPECT_GT(recorder.decode().phases[sampling], 0);
  ASSERT_EQ(recorder.kinds().size(), 2U) << "views cost nothing";
  EXPECT_NEAR(recorder.kinds().at("projection int8").prefill_s, 0.002, 1e-9);
  EXPECT_NEAR(recorder.kinds().at("projection int8").decode_s, 0.004, 1e-9);
  EXPECT_NEAR(recorder.kinds().at("softmax").decode_s, 0.002, 1e-9);
  EXPECT_TRUE(trace_of(recorder)["traceEvents"].size() == 1) << "no trace was wanted";
}

TEST(StepRecorder, SpansOfATraceLieInEachOther) {
  StepRecorder recorder(100);
  recorder.begin("load");
  recorder.end();
  record_step(recorder, true, two_steps());
  const Json trace = trace_of(recorder);
  EXPECT_EQ(trace["otherData"]["dropped_spans"], 0);
  const Json& events = trace["traceEvents"];
  // The name of the process, load, step, layers, run, two operations, sampling.
  std::vector<std::string> names;
  for (const Json& event : events) names.push_back(event["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"process_name", "load", "prefill", "layers",
                                             "layers.mlpackage decode", "projection int8",
                                             "softmax", "sampling"}));
  EXPECT_EQ(events[2]["args"]["tokens"], 7);
  EXPECT_EQ(events[5]["args"]["operation"], "q\"uery");
  EXPECT_NEAR(events[5]["dur"].get<double>(), 2000, 0.01);
  EXPECT_NEAR(events[6]["ts"].get<double>(), events[5]["ts"].get<double>() + 2000, 0.01);
  const auto begin = [&](std::size_t i) { return events[i]["ts"].get<double>(); };
  const auto end = [&](std::size_t i) { return begin(i) + events[i]["dur"].get<double>(); };
  for (const auto& [inner, outer] : {std::pair(3U, 2U), std::pair(4U, 3U), std::pair(5U, 4U),
                                     std::pair(6U, 4U), std::pair(7U, 2U)}) {
    EXPECT_LE(begin(outer), begin(inner)) << names[inner];
    EXPECT_GE(end(outer) + 0.002, end(inner)) << names[inner];
  }
  EXPECT_GE(begin(7), end(3));
}

TEST(StepRecorder, ATraceHasABoundAndSaysWhatItLeftOut) {
  StepRecorder recorder(4);
  for (int i = 0; i < 3; ++i) record_step(recorder, false, two_steps());
  EXPECT_EQ(recorder.dropped_spans(), 3 * 6 - 4);
  const Json trace = trace_of(recorder);
  EXPECT_EQ(trace["traceEvents"].size(), 1 + 4);
  EXPECT_EQ(trace["otherData"]["dropped_spans"], 3 * 6 - 4);
  EXPECT_EQ(recorder.decode().steps, 3) << "the sums have all of them";
  EXPECT_GT(trace["traceEvents"][1]["dur"].get<double>(), 4000);
}

TEST(StepRecorder, ATraceThatCannotBeWrittenIsAnError) {
  EXPECT_EQ(StepRecorder(1).write_trace("/nonexistent/trace.json").code(), Code::kIo);
}

RunProfile profile_of(const StepRecorder& recorder) {
  RunProfile profile;
  profile.load_s = 0.5;
  profile.timing.prompt_tokens = 7;
  profile.timing.prefill_s = 0.25;
  profile.timing.new_tokens = 3;
  profile.timing.decode_steps = 2;
  profile.timing.decode_s = 0.125;
  profile.steps = &recorder;
  return profile;
}

TEST(RunProfile, ShowsPartsPhasesAndOperations) {
  StepRecorder recorder;
  const auto steps = two_steps();
  record_step(recorder, true, steps);
  record_step(recorder, false, steps);
  record_step(recorder, false, steps);
  const RunProfile profile = profile_of(recorder);
  const Json json = profile.json();
  EXPECT_EQ(json["load_s"], 0.5);
  EXPECT_FALSE(json.contains("warmup_s"));
  EXPECT_EQ(json["prefill"]["tokens"], 7);
  EXPECT_EQ(json["prefill"]["tok_s"], 28);
  EXPECT_EQ(json["decode"]["tokens"], 2);
  EXPECT_EQ(json["decode"]["tok_s"], 16);
  double sum = 0;
  for (const auto& [name, seconds] : json["prefill"]["phases"].items())
    sum += seconds.get<double>();
  EXPECT_NEAR(sum, 0.25, 1e-9) << "the phases and the rest are all of it";
  ASSERT_EQ(json["operations"].size(), 2U);
  EXPECT_EQ(json["operations"][0]["kind"], "projection int8");
  EXPECT_NEAR(json["operations"][0]["share"].get<double>(), 2.0 / 3, 1e-6);
  const std::string text = profile.text(1);
  for (const char* part : {"load", "prefill        7   0.2500   28.0", "ms per token", "embedding",
                           "head", "other", "projection int8", "66.7 %"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(text.find("softmax"), std::string::npos) << "one was asked for\n" << text;
  EXPECT_EQ(text.find("proposals"), std::string::npos) << text;
}

TEST(RunProfile, SaysWhereAnExecutorTellsNothing) {
  StepRecorder recorder;
  record_step(recorder, true, nullptr);
  EXPECT_NE(profile_of(recorder).text().find("does not tell"), std::string::npos);
  EXPECT_EQ(profile_of(recorder).json()["operations"], Json::array());
}

}  // namespace
}  // namespace anemone::bench
