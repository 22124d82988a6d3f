// SPDX-License-Identifier: Apache-2.0
#include "tests/compiler/golden.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

#include "api/executors.h"
#include "checkpoint/safetensors.h"
#include "compiler/compiler.h"
#include "engine/loop/engine.h"
#include "exec/profile.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

// fp32 sums of a few hundred terms in another order than PyTorch's: 2e-5 was seen at logits of
// magnitude 10, the same that separates float64 from float32 in PyTorch itself. 2e-3 is a
// hundredfold of that and still far below what any wrong formula gives.
constexpr float kGoldenTolerance = 2e-3F;

// Between them: biases, norms of heads and after blocks, windows, sinks, shared caches, embeddings
// of layers, scaled rotations, convolutions, delta nets, experts of each kind.
constexpr std::string_view kWithEveryBlock[] = {
    "tiny_phi3",          "tiny_gemma4_text", "tiny_lfm2_moe", "tiny_zaya",
    "tiny_gpt_oss_mxfp4", "tiny_qwen3_next",  "pocket"};

using anemone::testing::shared_path;
using anemone::testing::source_path;

std::vector<std::int32_t> read_ids(const checkpoint::SafetensorsFile& file,
                                   const std::string& name) {
  std::vector<std::int32_t> ids;
  const checkpoint::WeightRef* ref = file.find(name);
  EXPECT_NE(ref, nullptr) << name;
  if (ref == nullptr) return ids;
  for (std::int64_t i = 0; i < ref->view().size(); ++i)
    ids.push_back(static_cast<std::int32_t>(element_as_int(ref->view(), i)));
  return ids;
}

struct Compiled {
  std::string folder;                          // "": it could not be compiled
  std::shared_ptr<const engine::Model> model;  // null while nobody has asked for it lately
};
// As many as a test has checkpoints: its successor asks for the same ones in the same order.
constexpr std::size_t kKeptModels = 64;

Compiled& compiled(const Checkpoint& checkpoint, const CompileOptions& options) {
  static const anemone::testing::TemporaryFolder folder;
  static std::map<std::string, Compiled> artifacts;
  const std::string number = std::to_string(artifacts.size());
  const auto [it, is_new] =
      artifacts.try_emplace(checkpoint.path + " " + describe_options(options));
  if (is_new) {
    const auto report = compile(checkpoint.path, folder.file(number), options);
    EXPECT_TRUE(report.ok()) << report.status().message();
    if (report.ok()) it->second.folder = folder.file(number);
  }
  EXPECT_NE(it->second.folder, "") << "it could not be compiled";
  return it->second;
}

std::shared_ptr<const engine::Model> load_checked(const std::string& folder) {
  engine::ModelLoadOptions load;
  load.load_text = false;
  load.check_hashes = true;
  auto model = engine::Model::load(folder, executor(), load);
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.ok() ? *model : nullptr;
}

}  // namespace

std::vector<Checkpoint> checkpoints() {
  std::vector<Checkpoint> all;
  for (const char* name : {"qwen2",       "llama",         "mistral",          "qwen3",
                           "smollm3",     "phi3",          "hunyuan_v1_dense", "gemma3_text",
                           "gemma4_text", "lfm2",          "granite",          "olmo2",
                           "qwen3_moe",   "lfm2_moe",      "gemma4_moe",       "zaya",
                           "gpt_oss",     "gpt_oss_mxfp4", "qwen3_fp8",        "qwen3_next",
                           "qwen3_5_text"})
    all.push_back({std::string("tiny_") + name,
                   source_path(std::string("tests/compiler/data/tiny/") + name)});
  all.push_back({"pocket", source_path("models/pocket/checkpoint")});
  for (const char* name : {"qwen2", "llama3", "mistral", "qwen3", "smollm3", "phi4mini",
                           "hunyuan_v1_dense", "gemma3", "gemma3-mm", "gemma4-ple", "gemma4-moe",
                           "gemma4-moe-mm", "zaya", "lfm2", "qwen3_moe", "lfm2_moe", "gpt_oss"}) {
    const std::string relative = std::string("data/models/") + name;
    std::string test = std::string("shared_") + name;
    std::ranges::replace(test, '-', '_');
    all.push_back({std::move(test), shared_path(relative).value_or(relative), true});
  }
  // Their continuations grow beyond the length that the keys before were rotated for.
  for (const char* name : {"tiny_phi3", "shared_phi4mini"}) {
    Checkpoint grown = *std::ranges::find(all, name, &Checkpoint::name);
    grown.suffix = "_short";
    grown.name += grown.suffix;
    all.push_back(std::move(grown));
  }
  return all;
}

std::vector<Checkpoint> checkpoints_in_the_tree() {
  std::vector<Checkpoint> all = checkpoints();
  std::erase_if(all, [](const Checkpoint& checkpoint) { return checkpoint.is_shared; });
  return all;
}

std::vector<Checkpoint> checkpoints_with_every_block() {
  std::vector<Checkpoint> all = checkpoints_in_the_tree();
  if (std::getenv("ANEMONE_ALL_CHECKPOINTS") == nullptr)
    std::erase_if(all, [](const Checkpoint& checkpoint) {
      return std::ranges::find(kWithEveryBlock, checkpoint.name) == std::end(kWithEveryBlock);
    });
  return all;
}

std::vector<Checkpoint> tiny_checkpoints_with_experts() {
  std::vector<Checkpoint> all = checkpoints_with_every_block();
  std::erase_if(all, [](const Checkpoint& each) {
    return !has_experts(each) || !each.name.starts_with("tiny_");
  });
  return all;
}

bool has_experts(const Checkpoint& checkpoint) {
  return checkpoint.name.find("_moe") != std::string::npos ||
         checkpoint.name.find("gpt_oss") != std::string::npos ||
         checkpoint.name.ends_with("zaya") || checkpoint.name.ends_with("qwen3_next");
}

bool is_present(const Checkpoint& checkpoint) {
  const bool is_there = std::filesystem::exists(checkpoint.path);
  EXPECT_TRUE(is_there || checkpoint.is_shared) << checkpoint.path;
  return is_there;
}

Golden read_golden(const Checkpoint& checkpoint) {
  return read_golden_file(checkpoint.name == "pocket"
                              ? source_path("tests/compiler/data/pocket_golden.safetensors")
                              : checkpoint.path + "/golden.safetensors",
                          checkpoint.suffix);
}

Golden read_golden_file(const std::string& path, const std::string& suffix) {
  Golden golden;
  const auto file = checkpoint::SafetensorsFile::open(path);
  EXPECT_TRUE(file.ok()) << file.status().message();
  if (!file.ok()) return golden;
  golden.prompt = read_ids(**file, "input_ids" + suffix);
  golden.continuation = read_ids(**file, "greedy_ids" + suffix);
  const checkpoint::WeightRef* logits = (*file)->find("logits" + suffix);
  EXPECT_NE(logits, nullptr);
  if (logits == nullptr) return golden;
  golden.logits.resize(static_cast<std::size_t>(logits->view().size()));
  checkpoint::read_floats(*logits, 0, golden.logits);
  golden.vocab_size = static_cast<std::size_t>(logits->shape.back());
  return golden;
}

std::shared_ptr<const engine::Model> compile_and_load(const Checkpoint& checkpoint,
                                                      const std::string& folder,
                                                      const CompileOptions& options) {
  const auto report = compile(checkpoint.path, folder, options);
  EXPECT_TRUE(report.ok()) << report.status().message();
  if (!report.ok()) return nullptr;
  return load_checked(folder);
}

std::string compiled_folder(const Checkpoint& checkpoint, const CompileOptions& options) {
  return compiled(checkpoint, options).folder;
}

std::shared_ptr<const engine::Model> compiled_model(const Checkpoint& checkpoint,
                                                    const CompileOptions& options) {
  Compiled& artifact = compiled(checkpoint, options);
  if (artifact.model == nullptr && !artifact.folder.empty()) {
    artifact.model = load_checked(artifact.folder);
    static std::deque<Compiled*> loaded;
    loaded.push_back(&artifact);
    if (loaded.size() > kKeptModels) {
      loaded.front()->model = nullptr;
      loaded.pop_front();
    }
  }
  return artifact.model;
}

Answer run_greedily(std::shared_ptr<const engine::Model> model,
                    const std::vector<std::int32_t>& prompt, std::size_t new_tokens) {
  Answer answer;
  engine::Engine engine({});
  engine::GenerateOptions options;
  options.max_new_tokens = static_cast<std::int64_t>(new_tokens);
  options.ignore_eos = true;
  options.as_text = false;
  options.on_prompt_logits = [&](std::int64_t, std::span<const float> logits) -> Status {
    answer.logits.insert(answer.logits.end(), logits.begin(), logits.end());
    return {};
  };
  auto result = engine::generate(engine, model, prompt, options);
  EXPECT_TRUE(result.ok()) << result.status().message();
  if (result.ok()) answer.continuation = result->ids;
  return answer;
}

std::shared_ptr<const engine::Model> load_model(const std::string& folder, std::string_view isa,
                                                int threads) {
  const auto executor = api::make_executor({.threads = threads, .isa = std::string(isa)});
  EXPECT_TRUE(executor.ok()) << executor.status().message();
  if (!executor.ok()) return nullptr;
  const auto model = engine::Model::load(folder, **executor);
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.ok() ? *model : nullptr;
}

std::vector<std::string> plan_steps(const exec::LoadedProgram& program, std::string_view function) {
  std::vector<std::string> names;
  const auto steps = exec::explain(program, function);
  EXPECT_TRUE(steps.ok()) << steps.status().message();
  if (steps.ok())
    for (const exec::PlanStep& step : *steps) names.push_back(step.name);
  return names;
}

std::vector<std::int32_t> greedy_ids(const std::shared_ptr<const engine::Model>& model,
                                     const std::vector<std::int32_t>& prompt,
                                     std::size_t new_tokens) {
  engine::Engine engine({});
  engine::GenerateOptions options;
  options.max_new_tokens = static_cast<std::int64_t>(new_tokens);
  options.ignore_eos = true;
  options.as_text = false;
  const auto result = engine::generate(engine, model, prompt, options);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? result->ids : std::vector<std::int32_t>();
}

exec::Executor& executor() {
  static const std::unique_ptr<exec::Executor> instance =
      // Tests run beside each other, and other tests show that threads change no bit.
      std::move(api::make_executor({.threads = 1, .isa = "reference"})).value();
  return *instance;
}

void expect_golden(const Answer& answer, const Golden& golden) {
  ASSERT_FALSE(golden.logits.empty());
  ASSERT_EQ(answer.logits.size(), golden.logits.size());
  float worst = 0;
  for (std::size_t i = 0; i < answer.logits.size(); ++i) {
    ASSERT_TRUE(std::isfinite(answer.logits[i])) << i;
    worst = std::max(worst, std::abs(answer.logits[i] - golden.logits[i]));
  }
  EXPECT_LE(worst, kGoldenTolerance);
  EXPECT_EQ(answer.continuation, golden.continuation);
}

void copy_changed(const std::string& checkpoint, const Json& changes, const std::string& folder) {
  std::filesystem::copy(checkpoint, folder);
  auto config = read_json_file(folder + "/config.json");
  ASSERT_TRUE(config.ok()) << config.status().message();
  config->merge_patch(changes);
  ASSERT_TRUE(write_file(folder + "/config.json", dump_json(*config)).ok());
}

}  // namespace anemone::compiler::testing
