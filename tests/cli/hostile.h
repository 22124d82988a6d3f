// SPDX-License-Identifier: Apache-2.0
// Damaged inputs for the executable, and what every refusal has in common: one line of at most 400
// characters on stderr, nothing on stdout, within ten seconds and a gigabyte.
#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/cli/process.h"

namespace anemone::cli {

inline constexpr int kUsage = 2;
inline constexpr int kBadInput = 3;
inline constexpr int kUnsupported = 4;
inline constexpr int kIo = 5;
inline constexpr int kOutOfMemory = 6;

// Runs the executable with these words as arguments, at most ten seconds and a gigabyte of
// addresses (sanitizers take more of those than there is memory: then only what is resident
// counts). Fails the test beyond.
Outcome run_limited(const std::vector<std::string>& words);

// The shape of every refusal. `code` is the exit code; 0 accepts all that are about the input.
void expect_refusal(const Outcome& outcome, int code);

// One way to damage the files of a good folder.
using DamageFolder = std::function<void(const std::string& folder)>;
struct Case {
  std::string name;
  int code;
  DamageFolder damage;
};
void PrintTo(const Case& one, std::ostream* out);
std::string case_name(const ::testing::TestParamInfo<Case>& test);

void write_text(const std::string& path, const std::string& content);
std::string tiny_checkpoint();
// tiny_checkpoint() as it is compiled; one for all tests of the process.
const std::string& tiny_artifact();

// Edits the bytes of a file.
DamageFolder bytes_of(const std::string& file, const std::function<void(std::string&)>& edit);
// Edits a JSON file; `pointer` as in RFC 6901. The other removes a member.
DamageFolder json_of(const std::string& file, const std::string& pointer, const Json& value);
DamageFolder json_without(const std::string& file, const std::string& pointer);
// Edits the header of a safetensors file; the data stay.
DamageFolder header_of(const std::string& file, const std::function<void(Json&)>& edit);
// A member of the first tensor in the header.
DamageFolder first_tensor(const std::string& file, const std::string& key, const Json& value);
// Puts something in the place of a file: "folder", "loop" (a link to itself), "pipe", "endless" (a
// link to /dev/zero), or nothing: "removed".
DamageFolder odd(const std::string& file, const std::string& kind);

}  // namespace anemone::cli
