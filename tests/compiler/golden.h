// SPDX-License-Identifier: Apache-2.0
// Checkpoints with the numbers that transformers gives for them, and what our packages give.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "compiler/options.h"
#include "engine/model/model.h"
#include "exec/executor.h"

namespace anemone::compiler::testing {

struct Checkpoint {
  std::string name;  // of the test
  std::string path;
  bool is_shared = false;   // lies beside the checkout; may be absent
  std::string suffix = {};  // of the golden tensors: "_short" is another prompt

  friend void PrintTo(const Checkpoint& checkpoint, std::ostream* out) { *out << checkpoint.name; }
};
// The tiny ones of this folder (make_tiny.py), the pocket model and those of ../shared.
std::vector<Checkpoint> checkpoints();
// Whether its layers choose among experts.
bool has_experts(const Checkpoint& checkpoint);
// Those in the tree have every architecture; the others would only take longer.
std::vector<Checkpoint> checkpoints_in_the_tree();
// For tests of many forms: a few that have every block between them, or, where
// ANEMONE_ALL_CHECKPOINTS is set (tools/ci/checkpoints), all in the tree.
std::vector<Checkpoint> checkpoints_with_every_block();
// The tiny ones of those with experts.
std::vector<Checkpoint> tiny_checkpoints_with_experts();
// False, with the test marked as skipped, when it is not there.
bool is_present(const Checkpoint& checkpoint);

// golden.safetensors: prompt [T], logits [T, vocab], continuation.
struct Golden {
  std::vector<std::int32_t> prompt;
  std::vector<std::int32_t> continuation;
  std::vector<float> logits;
  std::size_t vocab_size = 0;
};
Golden read_golden(const Checkpoint& checkpoint);
Golden read_golden_file(const std::string& path, const std::string& suffix = {});

// Compiles into `folder`, where the test may change what was written, and loads it for the
// reference interpreter. Fails the test and returns null on an error.
std::shared_ptr<const engine::Model> compile_and_load(const Checkpoint& checkpoint,
                                                      const std::string& folder,
                                                      const CompileOptions& options);

// The folder of the artifact that these options give. A program compiles each artifact once and
// keeps it until it ends, since many tests ask for the same one: nobody writes there. Fails the
// test and returns "" on an error.
std::string compiled_folder(const Checkpoint& checkpoint, const CompileOptions& options);
// What is in that folder, for the reference interpreter; the last ones are kept. Null on an error.
std::shared_ptr<const engine::Model> compiled_model(const Checkpoint& checkpoint,
                                                    const CompileOptions& options);

// What is in an artifact folder, for the CPU engine with the kernels of `isa`; empty: the best of
// this machine. Fails the test and returns null on an error.
std::shared_ptr<const engine::Model> load_model(const std::string& folder,
                                                std::string_view isa = {}, int threads = 2);
// The names of the steps that a function of a package is planned as.
std::vector<std::string> plan_steps(const exec::LoadedProgram& program,
                                    std::string_view function = "decode");

// What the packages give: logits of all prompt positions and the greedy continuation.
struct Answer {
  std::vector<float> logits;
  std::vector<std::int32_t> continuation;
};
Answer run_greedily(std::shared_ptr<const engine::Model> model,
                    const std::vector<std::int32_t>& prompt, std::size_t new_tokens);

// The ids of the same continuation, also of a head that gives no logits. Fails the test on an
// error.
std::vector<std::int32_t> greedy_ids(const std::shared_ptr<const engine::Model>& model,
                                     const std::vector<std::int32_t>& prompt,
                                     std::size_t new_tokens);

// Fails the test unless these are the golden's logits, as far as sums in another order allow, and
// its tokens.
void expect_golden(const Answer& answer, const Golden& golden);

// A copy of a checkpoint in a new `folder`, with these members of its config.json merged in.
void copy_changed(const std::string& checkpoint, const Json& changes, const std::string& folder);

// The executor of the tests; lives as long as the program.
exec::Executor& executor();

}  // namespace anemone::compiler::testing
