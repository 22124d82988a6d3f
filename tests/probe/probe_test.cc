// SPDX-License-Identifier: Apache-2.0
#include "probe/probe.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "ane/check.h"
#include "ane/form.h"
#include "api/executors.h"
#include "base/file.h"
#include "base/json.h"
#include "base/scratch_folder.h"
#include "mlpackage/package_reader.h"
#include "tests/support/cosine.h"

namespace anemone::probe {
namespace {

namespace fs = std::filesystem;

constexpr Sizes kSmall = {.layers = 2,
                          .graph_layers = 2,
                          .hidden = 64,
                          .intermediate = 96,
                          .heads = 2,
                          .kv_heads = 1,
                          .context = 32,
                          .window = 8,
                          .tokens = 8,
                          .head_unit = 4};

struct Kit {
  ScratchFolder scratch;
  std::string path;
  Json json;
};

Kit make_kit(const std::vector<std::string>& ids, const std::string& isa = "plain") {
  auto scratch = ScratchFolder::create(::testing::TempDir(), "probe");
  EXPECT_TRUE(scratch.ok());
  const std::string path = scratch->path() + "/kit";
  auto executor = api::make_executor({.threads = 1, .isa = isa});
  auto chosen = choose(ids);
  EXPECT_TRUE(executor.ok() && chosen.ok());
  const Status status = write_probes(*chosen, path, {.sizes = kSmall, .threads = 1}, **executor);
  EXPECT_TRUE(status.ok()) << status.message();
  auto json = read_json_file(path + "/probe.json");
  EXPECT_TRUE(json.ok());
  return {std::move(*scratch), path, json.ok() ? std::move(*json) : Json()};
}

std::vector<float> numbers(const std::string& root, const Json& port) {
  const DType dtype = port["dtype"] == "fp16" ? DType::kFp16 : DType::kFp32;
  Tensor out(dtype, port["shape"].get<Shape>());
  const auto bytes = read_file(root + "/" + port["file"].get<std::string>(), 1 << 24);
  EXPECT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->size(), out.view().size_bytes()) << port["file"];
  std::memcpy(out.mutable_view().data, bytes->data(), bytes->size());
  return to_floats(out.view());
}

TEST(Probes, HaveDistinctIdsAndAnotherToCompareWith) {
  std::set<std::string_view> ids;
  std::map<std::string_view, int> by_question;
  for (const Probe& each : probes()) {
    EXPECT_TRUE(ids.insert(each.id).second) << each.id;
    ++by_question[each.question];
  }
  for (const auto& [question, count] : by_question) EXPECT_GE(count, 2) << question;
  EXPECT_EQ(choose({"head-16k", "no-such"}).status().code(), Code::kInvalidArgument);
}

// Two probes of one build compare nothing, so a question may not have them.
TEST(Probes, ShareABuildOnlyAcrossQuestions) {
  const std::span<const Probe> all = probes();
  std::set<std::pair<std::string_view, std::string_view>> shared;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size(); ++j)
      if (all[i].build == all[j].build) {
        shared.insert({all[i].id, all[j].id});
        EXPECT_NE(all[i].question, all[j].question) << all[i].id << " " << all[j].id;
      }
  const std::set<std::pair<std::string_view, std::string_view>> meant = {
      {"cache-readonly", "quant-int8-channel"},
      {"cache-readonly", "functions-1"},
      {"layout-width", "mlp-line"},
      {"quant-int8-channel", "functions-1"}};
  EXPECT_EQ(shared, meant);
}

TEST(Probes, OfTheNamedFormsAreOfAllOfThem) {
  std::set<std::string_view> forms;
  for (const Probe& each : probes())
    if (const std::string_view name = ane::name_of(each.build.form);
        name == each.id && each.build.functions == 2)
      forms.insert(name);
  EXPECT_EQ(forms.size(), ane::named_forms().size());
  EXPECT_TRUE(forms.contains("portable"));
}

TEST(Probes, OfOneBuildShareItsPackages) {
  // The order is that of the table.
  const std::vector<std::string> ids = {"functions-1", "quant-int8-channel", "quant-int8"};
  const Kit kit = make_kit(ids);
  std::map<std::string, Json> packages;
  for (const Json& probe : kit.json["probes"]) packages[probe["id"]] = probe["packages"];
  EXPECT_EQ(packages["functions-1"], packages["quant-int8-channel"]);
  EXPECT_NE(packages["quant-int8"], packages["quant-int8-channel"]);
  EXPECT_TRUE(fs::exists(kit.path + "/quant-int8-channel"));
  EXPECT_FALSE(fs::exists(kit.path + "/functions-1"));
  for (const Json& package : packages["functions-1"])
    EXPECT_TRUE(package["path"].get<std::string>().starts_with("quant-int8-channel/"));

  const auto planned = plan_probes(*choose(ids), {.sizes = kSmall, .threads = 1});
  ASSERT_TRUE(planned.ok());
  ASSERT_EQ(planned->probes.size(), 3U);
  const PlannedProbe& other = planned->probes[0];
  const PlannedProbe& first = planned->probes[1];
  const PlannedProbe& second = planned->probes[2];
  EXPECT_EQ(other.packages_of, "");
  EXPECT_EQ(first.packages_of, "");
  EXPECT_EQ(second.packages_of, "quant-int8-channel");
  EXPECT_GT(first.bytes, 0U);
  EXPECT_EQ(second.bytes, first.bytes);
  EXPECT_EQ(planned->total_bytes, other.bytes + first.bytes);
}

// Every probe is written, read, and gives the same numbers in another engine.
TEST(Probes, AgreeWithTheReferenceInterpreter) {
  const Kit fast = make_kit({});
  const Kit reference = make_kit({}, "reference");
  ASSERT_EQ(fast.json["probes"].size(), probes().size());
  int outputs = 0;
  for (std::size_t p = 0; p < fast.json["probes"].size(); ++p) {
    const Json& probe = fast.json["probes"][p];
    ASSERT_FALSE(probe["packages"].empty()) << probe["id"];
    for (std::size_t k = 0; k < probe["packages"].size(); ++k) {
      const Json& package = probe["packages"][k];
      EXPECT_TRUE(
          mlpackage::read_package(fast.path + "/" + package["path"].get<std::string>()).ok());
      for (std::size_t f = 0; f < package["functions"].size(); ++f) {
        const Json& function = package["functions"][f];
        const Json& other = reference.json["probes"][p]["packages"][k]["functions"][f];
        for (std::size_t o = 0; o < function["outputs"].size(); ++o, ++outputs) {
          const auto a = numbers(fast.path, function["outputs"][o]);
          const auto b = numbers(reference.path, other["outputs"][o]);
          ASSERT_EQ(a.size(), b.size());
          EXPECT_GT(testing::cosine(a, b), 0.9999) << probe["id"] << " " << function["name"];
        }
      }
    }
  }
  EXPECT_GT(outputs, static_cast<int>(probes().size()));
}

// What differs between the probes of a question is what the laws of the chip say of them.
TEST(Probes, AreWhatTheySay) {
  const Kit kit = make_kit({});
  std::map<std::string, std::set<std::string>> broken;
  std::map<std::string, std::size_t> functions, states;
  std::map<std::string, std::set<Shape>> caches;
  for (const Json& probe : kit.json["probes"])
    for (const Json& package : probe["packages"]) {
      const std::string id = probe["id"];
      const auto model =
          mlpackage::read_package(kit.path + "/" + package["path"].get<std::string>());
      ASSERT_TRUE(model.ok());
      functions[id] = model->functions.size();
      states[id] = model->functions.front().states.size();
      for (const Json& input : package["functions"][0]["inputs"])
        if (input["name"].get<std::string>().starts_with("k_cache_"))
          caches[id].insert(input["shape"].get<Shape>());
      for (const ane::Finding& each : ane::check({model->program, {}, 0}))
        broken[id].insert(std::string(each.law->id));
    }
  EXPECT_TRUE(broken["softplus-operation"].contains("softplus"));
  EXPECT_FALSE(broken["softplus-arithmetic"].contains("softplus"));
  EXPECT_TRUE(broken["quant-int8-block"].contains("block-scales"));
  EXPECT_FALSE(broken["quant-int8-channel"].contains("block-scales"));
  EXPECT_EQ(functions["functions-1"], 1U);
  EXPECT_EQ(functions["functions-4"], 4U);
  EXPECT_EQ(states["states-1"], 1U);
  EXPECT_EQ(states["states-2"], 2U);
  EXPECT_EQ(states["states-2l"], 4U);
  EXPECT_EQ(states["cache-blend"], 4U);
  EXPECT_EQ(states["cache-readonly"], 0U);
  EXPECT_EQ(states["cache-slice"], 1U);
  EXPECT_EQ(caches["past-whole"].size(), 1U);
  EXPECT_EQ(caches["past-window"].size(), 2U);
  EXPECT_EQ(states["slice-states"], 1U);
  EXPECT_EQ(states["blend-states"], 4U);
  EXPECT_EQ(states["portable"], 0U);
}

TEST(Probes, ReplaceNothing) {
  auto scratch = ScratchFolder::create(::testing::TempDir(), "probe");
  ASSERT_TRUE(scratch.ok());
  std::ofstream(scratch->path() + "/mine") << "text";
  auto executor = api::make_executor({.threads = 1});
  ASSERT_TRUE(executor.ok());
  EXPECT_EQ(
      write_probes(*choose({"head-16k"}), scratch->path(), {.sizes = kSmall}, **executor).code(),
      Code::kInvalidArgument);
  EXPECT_TRUE(fs::exists(scratch->path() + "/mine"));
}

}  // namespace
}  // namespace anemone::probe
