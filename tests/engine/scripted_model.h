// SPDX-License-Identifier: Apache-2.0
// A model that says what it is told: after `p` tokens the highest logit is that of script[p].
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "exec/executor.h"
#include "tests/support/shared_data.h"

namespace anemone::engine::testing {

struct ScriptOptions {
  std::int64_t context = 64;
  bool has_tokenizer = true;  // bytes as ids 0 to 255, then <|im_start|> and <|im_end|>
  std::string chat_template;  // empty: none
  std::vector<std::int32_t> eos_ids = {257};
  std::vector<std::string> special_tokens = {};  // more of them, from kTextVocab on
  Json generation = Json::object();
  // The hidden state after the final norm is {number of tokens so far, 1}.
  bool gives_hidden = false;
  // Called in every run of the layer package, on the thread that runs it.
  std::function<void()> on_run = {};
};

inline constexpr std::int32_t kImStart = 256;
inline constexpr std::int32_t kImEnd = 257;
inline constexpr std::int64_t kTextVocab = 258;
inline constexpr std::int64_t kPaddedVocab = 264;  // rows beyond the tokenizer's ids

// Ids of the bytes of a text.
std::vector<std::int32_t> bytes_of(std::string_view text);
// And of the end-of-sequence token.
std::vector<std::int32_t> ended(std::string_view text);

class ScriptedModel {
 public:
  explicit ScriptedModel(const ScriptOptions& options = {});

  // The model says these tokens from position `at` on.
  void say(std::int64_t at, const std::vector<std::int32_t>& ids);
  // Logit of the padding rows; the scripted token has 10, all others 0.
  void set_padding_logit(float logit);
  int runs() const;  // of the layer package so far

  const std::shared_ptr<const Model>& model() const { return model_; }
  std::unique_ptr<Session> session() const;

 private:
  struct Script;
  class Program;
  class Executor;
  anemone::testing::TemporaryFolder folder_;
  std::shared_ptr<Script> script_;
  std::shared_ptr<const Model> model_;
};

}  // namespace anemone::engine::testing
