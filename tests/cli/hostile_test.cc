// SPDX-License-Identifier: Apache-2.0
// Damaged checkpoints, damaged artifacts and impossible outputs: one line on stderr, the right exit
// code, and nothing left behind.
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "tests/cli/interrupted.h"
#include "tests/cli/process.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

constexpr int kBadInput = 3;
constexpr int kUnsupported = 4;
constexpr int kIo = 5;
constexpr int kUsage = 2;

std::string tiny_checkpoint() {
  return source_path("tests/compiler/data/tiny/qwen2");
}

void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// One line that begins as every error does, whatever is in it.
void expect_one_line(const Outcome& outcome) {
  EXPECT_EQ(outcome.err.rfind("anemone: ", 0), 0u) << outcome.err;
  EXPECT_LE(outcome.err.size(), 401u);
  ASSERT_FALSE(outcome.err.empty());
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  EXPECT_EQ(outcome.err.find('\x1b'), std::string::npos) << outcome.err;
}

struct Case {
  std::string name;
  int code;
  std::function<void(const std::string& folder)> damage;
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}
std::string case_name(const ::testing::TestParamInfo<Case>& test) {
  std::string name = test.param.name;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return fmt::format("{}_{}", name, test.index);
}

// --- checkpoints

std::function<void(const std::string&)> config(const std::string& key, const Json& value) {
  return [=](const std::string& folder) {
    auto json = read_json_file(folder + "/config.json");
    ASSERT_TRUE(json.ok());
    (*json)[key] = value;
    write(folder + "/config.json", dump_json(*json));
  };
}

// Changes the header of model.safetensors; the data stay.
std::function<void(const std::string&)> header(const std::function<void(Json&)>& edit) {
  return [=](const std::string& folder) {
    const std::string path = folder + "/model.safetensors";
    const std::string bytes = contents(path);
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    auto json = parse_json(bytes.substr(8, length), path);
    ASSERT_TRUE(json.ok());
    const std::string data = bytes.substr(8 + length);
    edit(*json);
    const std::string text = dump_json(*json);
    length = text.size();
    std::string out(reinterpret_cast<const char*>(&length), sizeof length);
    write(path, out + text + data);
  };
}

std::function<void(const std::string&)> first_tensor(const std::string& key, const Json& value) {
  return header([=](Json& json) {
    for (auto& [name, entry] : json.items()) {
      if (name == "__metadata__") continue;
      entry[key] = value;
      return;
    }
  });
}

std::function<void(const std::string&)> bytes_of(const std::string& file,
                                                 const std::function<void(std::string&)>& edit) {
  return [=](const std::string& folder) {
    std::string bytes = contents(folder + "/" + file);
    edit(bytes);
    write(folder + "/" + file, bytes);
  };
}

std::function<void(const std::string&)> only_index(const std::string& text) {
  return [=](const std::string& folder) {
    fs::remove(folder + "/model.safetensors");
    write(folder + "/model.safetensors.index.json", text);
  };
}

// A file that is a folder, a link to itself, a pipe.
std::function<void(const std::string&)> odd(const std::string& file, const std::string& kind) {
  return [=](const std::string& folder) {
    const std::string path = folder + "/" + file;
    fs::remove_all(path);
    if (kind == "folder") fs::create_directory(path);
    if (kind == "loop") fs::create_symlink(fs::path(path).filename(), path);
    if (kind == "pipe") {
      ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    }
    if (kind == "endless") fs::create_symlink("/dev/zero", path);
  };
}

class DamagedCheckpoint : public ::testing::TestWithParam<Case> {};

TEST_P(DamagedCheckpoint, IsRefusedAndLeavesNoOutput) {
  const TemporaryFolder folder;
  const std::string model = folder.file("model");
  fs::copy(tiny_checkpoint(), model);
  GetParam().damage(model);
  const Outcome outcome = run_anemone("compile " + model + " -o " + folder.file("out"));
  EXPECT_EQ(outcome.code, GetParam().code) << outcome.err;
  expect_one_line(outcome);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"model"});
}

std::vector<Case> damaged_checkpoints() {
  std::vector<Case> cases;
  for (const char* key : {"num_attention_heads", "num_key_value_heads", "hidden_size",
                          "num_hidden_layers", "intermediate_size", "vocab_size"})
    for (const Json& value : {Json(0), Json(-1), Json(1e18), Json(1000000000000000000), Json("x"),
                              Json::array({1}), Json(1.5)})
      cases.push_back({std::string(key) + "_" + dump_json(value), kBadInput, config(key, value)});
  cases.push_back({"head dim", kBadInput, config("head_dim", 2147483646)});
  cases.push_back({"model type", kUnsupported, config("model_type", "\x1b[31m\n")});
  cases.push_back({"model type number", kBadInput, config("model_type", 7)});
  cases.push_back({"activation", kUnsupported, config("hidden_act", "zz")});
  for (const char* rope :
       {R"("x")", R"({"rope_type": 5})", R"({"rope_type": "linear"})",
        R"({"rope_type": "linear", "factor": 1e-320})", R"({"rope_type": "yarn", "factor": -1})"})
    cases.push_back({"rope", kBadInput, config("rope_scaling", *parse_json(rope, "rope"))});
  for (const char* text : {"", "[1]", "{} x", "{\"model_type\":\"\xff\"}", "{\"model_type\": NaN}",
                           "{\"rope_theta\": NaN}"})
    cases.push_back({"config text", kBadInput,
                     [=](const std::string& folder) { write(folder + "/config.json", text); }});
  cases.push_back({"deep config", kBadInput, [](const std::string& folder) {
                     write(folder + "/config.json", std::string(100'000, '['));
                   }});

  for (const std::size_t size : std::initializer_list<std::size_t>{0, 1, 8, 100, 20'000})
    cases.push_back({fmt::format("weights cut to {}", size), kBadInput,
                     bytes_of("model.safetensors", [=](std::string& b) { b.resize(size); })});
  cases.push_back({"weights without the last byte", kBadInput,
                   bytes_of("model.safetensors", [](std::string& b) { b.pop_back(); })});
  cases.push_back({"weights with one more byte", kBadInput,
                   bytes_of("model.safetensors", [](std::string& b) { b += 'x'; })});
  cases.push_back({"endless header", kBadInput, bytes_of("model.safetensors", [](std::string& b) {
                     b.replace(0, 8, 8, '\xff');
                   })});
  for (const char* shape : {"[-1, 4]", "[1e18, 4]", "[4611686018427387904, 4611686018427387904]",
                            "\"x\"", "null", "[1.5]", "[[1]]", "[4294967296, 4294967296, 0]"})
    cases.push_back({"shape", kBadInput, first_tensor("shape", *parse_json(shape, "shape"))});
  for (const char* offsets : {"[0, 1000000000000000000]", "[-1, 5]", "[5, 1]", "[0]",
                              "[\"a\", \"b\"]", "[9223372036854775808, 18446744073709551615]"})
    cases.push_back(
        {"offsets", kBadInput, first_tensor("data_offsets", *parse_json(offsets, "offsets"))});
  cases.push_back({"dtype", kUnsupported, first_tensor("dtype", "F99")});
  cases.push_back({"missing tensor", kBadInput, header([](Json& json) {
                     const std::string name = "model.layers.0.input_layernorm.weight";
                     ASSERT_TRUE(json.contains(name));
                     json["other"] = json[name];
                     json.erase(name);
                   })});
  cases.push_back({"no weights", kBadInput,
                   [](const std::string& folder) { fs::remove(folder + "/model.safetensors"); }});
  for (const char* index :
       {"x", "{}", R"({"weight_map": {"a": 1}})", R"({"weight_map": {"a": "../x"}})"})
    cases.push_back({"index", kBadInput, only_index(index)});
  cases.push_back({"index of no file", kIo, only_index(R"({"weight_map": {"a": "b"}})")});
  for (const char* kind : {"folder", "loop", "pipe", "endless"})
    cases.push_back({std::string("weights are a ") + kind,
                     std::string(kind) == "loop" ? kBadInput : kIo,
                     odd("model.safetensors", kind)});
  for (const char* kind : {"folder", "pipe", "endless"})
    cases.push_back({std::string("config is a ") + kind, kIo, odd("config.json", kind)});
  cases.push_back({"generation config", kBadInput, [](const std::string& folder) {
                     write(folder + "/generation_config.json", "[1]");
                   }});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Compile, DamagedCheckpoint, ::testing::ValuesIn(damaged_checkpoints()),
                         case_name);

// --- artifacts

// One artifact for all tests of this file.
const std::string& artifact() {
  static const TemporaryFolder folder;
  static const std::string path = [] {
    const std::string made = folder.file("artifact");
    const Outcome outcome = run_anemone("compile " + tiny_checkpoint() + " -o " + made);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return made;
  }();
  return path;
}

class DamagedArtifact : public ::testing::TestWithParam<std::string> {};

TEST_P(DamagedArtifact, IsRefusedWhicheverFileItIs) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(artifact()))
    if (entry.is_regular_file())
      files.push_back(fs::relative(entry.path(), artifact()).generic_string());
  ASSERT_GE(files.size(), 8u);
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const std::string copy = folder.file("copy");
    fs::remove_all(copy);
    fs::copy(artifact(), copy, fs::copy_options::recursive);
    if (GetParam() == "half") {
      fs::resize_file(copy + "/" + file, fs::file_size(copy + "/" + file) / 2);
    } else if (GetParam() == "longer") {
      write(copy + "/" + file, contents(copy + "/" + file) + "x");
    } else {
      odd(file, GetParam())(copy);
    }
    const Outcome outcome = run_anemone("run " + copy + " --prompt-ids '1 2 3' --max-new 2");
    EXPECT_TRUE(outcome.code == kBadInput || outcome.code == kUnsupported || outcome.code == kIo)
        << outcome.code << outcome.err;
    expect_one_line(outcome);
    EXPECT_EQ(outcome.out, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Run, DamagedArtifact,
                         ::testing::Values("half", "longer", "removed", "folder", "loop", "pipe",
                                           "endless"),
                         [](const auto& test) { return test.param; });

struct Line {
  const char* name;
  int code;
  const char* arguments;  // ARTIFACT and FOLDER are replaced
};
void PrintTo(const Line& line, std::ostream* out) {
  *out << line.name;
}

class HostileCommandLine : public ::testing::TestWithParam<Line> {};

TEST_P(HostileCommandLine, IsRefusedInOneLine) {
  const TemporaryFolder folder;
  write(folder.file("file"), "x");
  fs::copy(tiny_checkpoint(), folder.file("model"));
  fs::create_directory(folder.file("web"));
  write(folder.file("web/manifest.json"), R"({"name": "a web application"})");
  const auto before = names_in(folder.path()).size();
  std::string arguments = GetParam().arguments;
  for (const auto& [word, value] :
       {std::pair<std::string, std::string>("ARTIFACT", artifact()), {"FOLDER", folder.path()}})
    for (auto at = arguments.find(word); at != arguments.npos; at = arguments.find(word, at))
      arguments.replace(at, word.size(), value);
  const Outcome outcome = run_anemone(arguments);
  EXPECT_EQ(outcome.code, GetParam().code) << outcome.err;
  expect_one_line(outcome);
  EXPECT_EQ(names_in(folder.path()).size(), before);
  EXPECT_TRUE(fs::exists(folder.file("web/manifest.json")));
  EXPECT_TRUE(fs::exists(folder.file("model/config.json")));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

constexpr Line kLines[] = {
    {"EmptyIds", kUsage, "run ARTIFACT --prompt-ids '' --max-new 1"},
    {"BlankIds", kUsage, "run ARTIFACT --prompt-ids '  ' --max-new 1"},
    {"WordIds", kUsage, "run ARTIFACT --prompt-ids '1 x' --max-new 1"},
    {"HugeIds", kUsage, "run ARTIFACT --prompt-ids '1 99999999999999999999' --max-new 1"},
    {"NegativeIds", kUsage, "run ARTIFACT --prompt-ids '1 -1' --max-new 1"},
    {"IdsPastTheVocabulary", kUsage, "run ARTIFACT --prompt-ids '1 2000000000' --max-new 1"},
    {"IdsFromNoFile", kIo, "run ARTIFACT --prompt-ids @FOLDER/nothing --max-new 1"},
    {"IdsFromADevice", kIo, "run ARTIFACT --prompt-ids @/dev/zero --max-new 1"},
    {"NegativeLength", kUsage, "run ARTIFACT --prompt-ids '1 2' --max-new -1"},
    {"LogitsToADevice", kIo, "run ARTIFACT --prompt-ids '1 2' --max-new 0 --logits-out /dev/null"},
    {"LogitsToNoFolder", kIo,
     "run ARTIFACT --prompt-ids '1 2' --max-new 0 --logits-out FOLDER/nothing/x"},
    {"LogitsOverAFolder", kIo,
     "run ARTIFACT --prompt-ids '1 2' --max-new 0 --logits-out FOLDER/web"},
    {"CompileOverAFile", kUsage, "compile FOLDER/model -o FOLDER/file"},
    {"CompileBelowAFile", kIo, "compile FOLDER/model -o FOLDER/file/x"},
    {"CompileOverAnotherProgramsFolder", kUsage, "compile FOLDER/model -o FOLDER/web"},
    {"CompileOverTheCheckpoint", kUsage, "compile FOLDER/model -o FOLDER/model"},
    {"CompileToADevice", kUsage, "compile FOLDER/model -o /dev/null"},
    {"CompileToNoName", kUsage, "compile FOLDER/model -o ''"},
    {"CompileNothing", kIo, "compile FOLDER/nothing -o FOLDER/out"},
    {"CompileAFile", kUnsupported, "compile FOLDER/file -o FOLDER/out"},
    {"ShardsThatOverlap", kUsage, "compile FOLDER/model -o FOLDER/out --shards 0:1,0:1"},
    {"ShardsOfNothing", kUsage, "compile FOLDER/model -o FOLDER/out --shards ''"},
    {"NegativeContext", kUsage, "compile FOLDER/model -o FOLDER/out --context -5"},
    {"InspectNothing", kIo, "inspect FOLDER/nothing"},
    {"InspectAnEndlessFile", kIo, "inspect /dev/zero"},
    {"PredictADevice", kIo,
     "predict /dev/zero --inputs /dev/zero --outputs FOLDER/out.safetensors"},
};

INSTANTIATE_TEST_SUITE_P(Cli, HostileCommandLine, ::testing::ValuesIn(kLines),
                         [](const auto& test) { return test.param.name; });

TEST(HostilePrompt, LongerThanTheContextIsRefused) {
  std::string ids;
  for (int i = 0; i < 100'000; ++i) ids += "1 ";
  const TemporaryFolder folder;
  write(folder.file("ids"), ids);
  const Outcome outcome =
      run_anemone("run " + artifact() + " --prompt-ids @" + folder.file("ids") + " --max-new 1");
  EXPECT_EQ(outcome.code, kUsage) << outcome.err;
  expect_one_line(outcome);
}

TEST(HostileOutput, AFullDiskIsAnErrorOfStdout) {
  if (!fs::is_character_file("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  for (const std::string& arguments :
       {"run " + artifact() + " --prompt-ids '1 2' --max-new 1", "inspect " + artifact()}) {
    const TemporaryFolder folder;
    const std::string command =
        "'" ANEMONE_BINARY "' " + arguments + " >/dev/full 2>'" + folder.file("err") + "'";
    const int status = std::system(command.c_str());
    EXPECT_EQ(WEXITSTATUS(status), kIo);
    expect_one_line({kIo, "", contents(folder.file("err"))});
  }
}

int interrupted_compile(const TemporaryFolder& folder, int signal) {
  return interrupted(
      {"compile", source_path("models/pocket/checkpoint"), "-o", folder.file("out"), "--jobs", "1"},
      folder.path(), signal);
}

TEST(InterruptedCompile, CtrlCLeavesNothing) {
  const TemporaryFolder folder;
  const int status = interrupted_compile(folder, SIGINT);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_NE(WEXITSTATUS(status), 0);
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(InterruptedCompile, AKillLeavesNoArtifactAndTheNextRunSucceeds) {
  const TemporaryFolder folder;
  const int status = interrupted_compile(folder, SIGKILL);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(fs::exists(folder.file("out")));
  const auto left = names_in(folder.path());
  ASSERT_EQ(left.size(), 1u);
  // Leftovers are removed when they are old enough to be nobody's.
  fs::last_write_time(folder.file(left[0]),
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  const Outcome outcome = run_anemone("compile " + tiny_checkpoint() + " -o " + folder.file("out"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"out"});
}

}  // namespace
}  // namespace anemone::cli
