// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/scripted_model.h"

#include <atomic>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"

namespace anemone::engine::testing {
namespace {

constexpr std::int64_t kScriptedHidden = 2;

// The letters that stand for bytes in byte-level vocabularies.
std::string byte_letter(int byte) {
  const auto printable = [](int b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
  };
  int point = byte;
  if (!printable(byte)) {
    point = 256;
    for (int b = 0; b < byte; ++b)
      if (!printable(b)) ++point;
  }
  if (point < 0x80) return std::string(1, static_cast<char>(point));
  return {static_cast<char>(0xc0 | point >> 6), static_cast<char>(0x80 | (point & 0x3f))};
}

std::string tokenizer_json(const std::vector<std::string>& special_tokens) {
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte) vocab[byte_letter(byte)] = byte;
  const auto added = [](int id, const std::string& content) {
    return Json{{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
                {"rstrip", false}, {"normalized", false}, {"special", true}};
  };
  Json added_tokens = Json::array({added(kImStart, "<|im_start|>"), added(kImEnd, "<|im_end|>")});
  int next = kTextVocab;
  for (const std::string& token : special_tokens) added_tokens.push_back(added(next++, token));
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", false},
                           {"trim_offsets", true},
                           {"use_regex", false}};
  return dump_json({{"version", "1.0"},
                    {"truncation", nullptr},
                    {"padding", nullptr},
                    {"added_tokens", std::move(added_tokens)},
                    {"normalizer", nullptr},
                    {"pre_tokenizer", byte_level},
                    {"post_processor", nullptr},
                    {"decoder", byte_level},
                    {"model",
                     {{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", nullptr},
                      {"continuing_subword_prefix", nullptr},
                      {"end_of_word_suffix", nullptr},
                      {"fuse_unk", false},
                      {"byte_fallback", false},
                      {"vocab", std::move(vocab)},
                      {"merges", Json::array()}}}});
}

artifact::Manifest manifest_of(const ScriptOptions& options) {
  artifact::Manifest m;
  m.producer = "test";
  m.model_type = "scripted";
  m.name = "scripted";
  m.precision = "fp32";
  m.quantization = "none";
  m.target = "ios18";
  m.vocab_size = kPaddedVocab;
  m.hidden_size = kScriptedHidden;
  m.layers = 1;
  m.context = options.context;
  m.max_position = options.context;
  m.eos_ids = options.eos_ids;
  m.generation = options.generation;
  m.embedding = {DType::kFp32, kPaddedVocab, kScriptedHidden, {{"embedding.bin", 0, kPaddedVocab}}};
  m.functions = {{"decode", 1}, {"prefill", 8}};
  m.shards = {{"layers.mlpackage",
               {0, 1},
               {{"hidden", artifact::PortRole::kHidden, "", 0},
                {"mask", artifact::PortRole::kAttentionMask, "", 0}},
               "out",
               {}}};
  m.heads = {{"head.mlpackage", 0, kPaddedVocab, "hidden", "logits"}};
  if (options.gives_hidden) m.embed = artifact::Embed{"embed.mlpackage", "hidden", "normed"};
  return m;
}

exec::Feature feature(const char* name, const Shape& shape) {
  exec::Feature out;
  out.name = name;
  out.shape = shape;
  return out;
}

class NoStates : public exec::StateStore {
 public:
  const std::vector<exec::Feature>& states() const override { return features_; }
  Result<Tensor> read(std::string_view name) const override {
    return not_found("[{}] expected a state", name);
  }
  Status write(std::string_view name, const TensorView& /*value*/) override {
    return not_found("[{}] expected a state", name);
  }
  void reset() override {}

 private:
  std::vector<exec::Feature> features_;
};

}  // namespace

struct ScriptedModel::Script {
  std::map<std::int64_t, std::int32_t> next;  // by number of tokens before
  float padding_logit = 0;
  std::atomic<int> runs = 0;
  std::function<void()> on_run;
};

enum class Part { kLayer, kHead, kEmbed };

// A layer program writes the number of visible positions into the hidden state; a head program
// reads it back, and so does the one for embeddings.
class ScriptedModel::Program : public exec::LoadedProgram {
 public:
  Program(std::shared_ptr<Script> script, std::int64_t context, Part part)
      : script_(std::move(script)), context_(context), part_(part) {
    for (const std::int64_t t : {1, 8}) {
      exec::Signature& signature = signatures_.emplace_back();
      signature.inputs.push_back(feature("hidden", {1, kScriptedHidden, t, 1}));
      if (part == Part::kLayer) signature.inputs.push_back(feature("mask", {1, 1, t, context}));
      const char* name = part == Part::kLayer ? "out" : part == Part::kHead ? "logits" : "normed";
      const std::int64_t rows = part == Part::kHead ? kPaddedVocab : kScriptedHidden;
      signature.outputs.push_back(feature(name, {1, rows, t, 1}));
    }
  }
  const std::vector<std::string>& functions() const override { return functions_; }
  const std::string& default_function() const override { return functions_.front(); }
  const exec::Signature* signature(std::string_view function) const override {
    return &signatures_[function == "decode" ? 0 : 1];
  }
  Result<std::unique_ptr<exec::StateStore>> make_state() const override {
    return std::unique_ptr<exec::StateStore>(std::make_unique<NoStates>());
  }
  Status run(std::string_view function, const exec::Inputs& inputs, exec::Outputs& outputs,
             exec::StateStore* /*states*/) const override {
    ANEMONE_RETURN_IF_ERROR(exec::check_inputs(*signature(function), inputs));
    const std::size_t tokens = function == "decode" ? 1 : 8;
    const exec::Feature& declared = signature(function)->outputs[0];
    outputs.clear();
    outputs.push_back({declared.name, Tensor(DType::kFp32, declared.shape)});
    const auto out = outputs[0].tensor.mutable_view().as<float>();
    if (part_ == Part::kLayer) {
      ++script_->runs;
      if (script_->on_run) script_->on_run();
    }
    for (std::size_t t = 0; t < tokens; ++t) {
      if (part_ == Part::kEmbed) {
        out[t] = inputs[0].tensor.as<float>()[t];
        out[tokens + t] = 1;
        continue;
      }
      if (part_ == Part::kHead) {
        const auto seen = static_cast<std::int64_t>(inputs[0].tensor.as<float>()[t]);
        for (auto row = static_cast<std::size_t>(kTextVocab); row < kPaddedVocab; ++row)
          out[row * tokens + t] = script_->padding_logit;
        const auto next = script_->next.find(seen);
        if (next != script_->next.end())
          out[static_cast<std::size_t>(next->second) * tokens + t] = 10;
        continue;
      }
      const auto mask = inputs[1].tensor.as<float>();
      const auto positions = static_cast<std::size_t>(context_);
      for (std::size_t s = 0; s < positions; ++s)
        if (mask[t * positions + s] == 0) out[t] += 1;
    }
    return {};
  }

 private:
  std::shared_ptr<Script> script_;
  std::int64_t context_;
  Part part_;
  std::vector<std::string> functions_ = {"decode", "prefill"};
  std::vector<exec::Signature> signatures_;
};

class ScriptedModel::Executor : public exec::Executor {
 public:
  Executor(std::shared_ptr<Script> script, std::int64_t context)
      : script_(std::move(script)), context_(context) {}
  std::string_view name() const override { return "scripted"; }
  Result<std::shared_ptr<const exec::LoadedProgram>> load(
      const std::string& package_path, const exec::LoadOptions& /*options*/) override {
    const Part part = package_path.ends_with("head.mlpackage")    ? Part::kHead
                      : package_path.ends_with("embed.mlpackage") ? Part::kEmbed
                                                                  : Part::kLayer;
    return std::shared_ptr<const exec::LoadedProgram>(
        std::make_shared<Program>(script_, context_, part));
  }

 private:
  std::shared_ptr<Script> script_;
  std::int64_t context_;
};

std::vector<std::int32_t> bytes_of(std::string_view text) {
  std::vector<std::int32_t> out;
  for (const char c : text) out.push_back(static_cast<unsigned char>(c));
  return out;
}

std::vector<std::int32_t> ended(std::string_view text) {
  auto ids = bytes_of(text);
  ids.push_back(kImEnd);
  return ids;
}

ScriptedModel::ScriptedModel(const ScriptOptions& options) : script_(std::make_shared<Script>()) {
  script_->on_run = options.on_run;
  EXPECT_TRUE(artifact::write_manifest(folder_.path(), manifest_of(options)).ok());
  const std::string zeros(static_cast<std::size_t>(kPaddedVocab * kScriptedHidden) * sizeof(float),
                          '\0');
  EXPECT_TRUE(write_file(folder_.file("embedding.bin"), zeros).ok());
  const auto write = [&](const char* name, const std::string& text) {
    EXPECT_TRUE(write_file(folder_.file(name), text).ok());
  };
  if (options.has_tokenizer) write("tokenizer.json", tokenizer_json(options.special_tokens));
  if (!options.chat_template.empty()) write("chat_template.jinja", options.chat_template);
  Executor executor(script_, options.context);
  auto model = Model::load(folder_.path(), executor);
  EXPECT_TRUE(model.ok()) << model.status().message();
  if (model.ok()) model_ = *model;
}

void ScriptedModel::say(std::int64_t at, const std::vector<std::int32_t>& ids) {
  for (const std::int32_t id : ids) script_->next[at++] = id;
}
void ScriptedModel::set_padding_logit(float logit) {
  script_->padding_logit = logit;
}
int ScriptedModel::runs() const {
  return script_->runs;
}

std::unique_ptr<Session> ScriptedModel::session() const {
  auto session = Session::create(model_);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return std::move(*session);
}

}  // namespace anemone::engine::testing
