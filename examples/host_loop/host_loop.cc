// SPDX-License-Identifier: Apache-2.0
// The smallest host of a compiled model: it reads the manifest, looks up embeddings, fills every
// input of every package, keeps the caches, and picks the most likely token. docs/guide/app.md
// explains each part, and HostLoop.swift does the same through Core ML. It takes the form that
// `compile --form examples/host_loop/form.json` writes, of models of attention alone. It refuses an
// artifact that needs more, and says what it does not know.
//
// usage: host_loop ARTIFACT MAX_NEW TOKEN_ID...      prints the ids of the new tokens, one per line
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "artifact/manifest.h"
#include "base/mapped_file.h"
#include "exec/cpu/cpu_executor.h"

namespace {

using namespace anemone;
using artifact::PortRole;

[[noreturn]] void fail(const Status& status) {
  std::fprintf(stderr, "host_loop: %s\n", status.message().c_str());
  std::exit(exit_code(status.code()));
}
template <typename T>
T value_of(Result<T> result) {
  if (!result.ok()) fail(result.status());
  return std::move(result).value();
}

// One package with the tensors that go in and come out.
struct Package {
  std::shared_ptr<const exec::LoadedProgram> program;
  std::map<std::string, Tensor> inputs;  // of the function that ran last
  exec::Outputs outputs;

  // An input of a function, zero before it is filled.
  Tensor& input(const exec::Signature& signature, const std::string& name) {
    const exec::Feature* feature = signature.input(name);
    if (feature == nullptr) fail({Code::kCorrupt, "[" + name + "] expected an input, got none"});
    Tensor& tensor = inputs[name];
    if (tensor.shape() != feature->shape || tensor.dtype() != feature->dtype)
      tensor = Tensor(feature->dtype, feature->shape);
    return tensor;
  }
  void run(const std::string& function) {
    exec::Inputs views;
    for (const auto& [name, tensor] : inputs) views.push_back({name, tensor.view()});
    if (const Status status = program->run(function, views, outputs, nullptr); !status.ok())
      fail(status);
  }
  TensorView output(const std::string& name) const {
    const Tensor* tensor = exec::find_output(outputs, name);
    if (tensor == nullptr) fail({Code::kCorrupt, "[" + name + "] expected an output, got none"});
    return tensor->view();
  }
};

class HostLoop {
 public:
  explicit HostLoop(const std::string& folder)
      : manifest_(value_of(artifact::read_manifest(folder))), executor_(exec::make_cpu_executor()) {
    check_form();
    const auto load = [&](const std::string& name) {
      return Package{value_of(executor_->load(folder + "/" + name)), {}, {}};
    };
    for (const artifact::Shard& shard : manifest_.shards) {
      shards_.push_back(load(shard.package));
      for (const artifact::Cache& cache : shard.caches)
        caches_.emplace(cache.name, Tensor(cache.dtype, cache.shape));
    }
    for (const auto& heads : manifest_.head_packages())
      heads_.push_back({load(heads.front().package), heads});
    const artifact::Embedding& table = manifest_.embedding;
    for (const artifact::EmbeddingPart& part : table.parts) {
      embedding_.push_back(value_of(MappedFile::open(folder + "/" + part.file)));
      if (embedding_.back()->bytes().size() < part.offset + row_bytes(table, part))
        fail({Code::kCorrupt, "[embedding] expected as many rows as the manifest says, got fewer"});
    }
  }

  // Runs tokens, whose number is at most that of `function`, and returns the most likely next one.
  std::int64_t step(const artifact::Function& function, const std::vector<std::int64_t>& tokens) {
    Tensor hidden = embed(function.tokens, tokens);
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      const artifact::Shard& shard = manifest_.shards[i];
      Package& package = shards_[i];
      const exec::Signature& signature = *package.program->signature(function.name);
      for (const artifact::Port& port : shard.inputs)
        fill(port, package.input(signature, port.name), hidden);
      for (const artifact::Cache& cache : shard.caches)
        fill_past(caches_.at(cache.name), package.input(signature, cache.name));
      package.run(function.name);
      hidden = Tensor::copy_of(package.output(shard.output));
      for (const artifact::Cache& cache : shard.caches)
        append(package.output(cache.output), tokens.size(), caches_.at(cache.name));
    }
    position_ += static_cast<std::int64_t>(tokens.size());
    return most_likely(hidden, tokens.size() - 1);
  }

  // The functions that take the fewest and the most tokens.
  const artifact::Function& decode() const {
    return *std::ranges::min_element(manifest_.functions, {}, &artifact::Function::tokens);
  }
  const artifact::Function& prefill() const {
    return *std::ranges::max_element(manifest_.functions, {}, &artifact::Function::tokens);
  }
  const artifact::Manifest& manifest() const { return manifest_; }

 private:
  // Refuses an artifact that has something that this loop does not know, and says what that is.
  static void know(bool is_known, const std::string& subject, const std::string& expected) {
    if (!is_known)
      fail({Code::kUnsupported,
            "[" + subject + "] " + expected + ": this host knows no other (docs/guide/app.md)"});
  }
  void check_form() const {
    const artifact::Form& form = manifest_.form;
    know(manifest_.labels.empty(), "labels", "expected a model that generates text, got labels");
    know(manifest_.precision == "fp16", "precision", "expected fp16, got " + manifest_.precision);
    know(form.layout == artifact::HiddenLayout::kTokensInWidth, "form.layout",
         "expected tokens-in-width, got " + std::string(hidden_layout_name(form.layout)));
    know(form.logits == artifact::LogitsLayout::kLast, "form.logits",
         "expected the vocabulary as the last axis, got channels");
    know(!manifest_.is_greedy(), "heads", "expected logits, got the highest of them (argmax)");
    know(!manifest_.has_head_inside(), "heads",
         "expected packages of their own, got heads in " + manifest_.heads.front().package);
    know(!is_quantized(manifest_.embedding), "embedding",
         "expected floats (\"embedding\": \"float\" in the form), got quantized rows");
    know(!manifest_.layer_embedding, "layer_embedding",
         "expected none, got embeddings that each layer adds");
    for (const artifact::Shard& shard : manifest_.shards) {
      know(shard.carried == 0, shard.package, "expected a hidden state alone, got carried values");
      know(!shard.experts, shard.package, "expected all experts inside, got packages of experts");
      for (const artifact::Cache& cache : shard.caches) {
        know(!cache.is_recurrent, cache.name, "expected keys or values, got a recurrent state");
        know(cache.is_appended && form.cache == artifact::CacheForm::kReadOnly, cache.name,
             "expected a cache of the form readonly (--kv-form readonly), got another kind");
      }
      for (const artifact::Port& port : shard.inputs)
        know(port.role == PortRole::kHidden || port.role == PortRole::kRopeCos ||
                 port.role == PortRole::kRopeSin ||
                 port.role == PortRole::kAttentionMaskPastAndStep,
             port.name,
             "expected an input of a role in the chapter's table, got " +
                 std::string(port_role_name(port.role)));
    }
    for (const artifact::Rope& rope : manifest_.ropes)
      know(rope.short_length == 0, rope.name,
           "expected one set of rotary frequencies, got another for long texts (longrope)");
    for (const artifact::Function& each : manifest_.functions)
      know(each.context == 0 && !each.is_flexible, each.name,
           "expected a function of the whole context and a fixed number of tokens, got a tier or a "
           "range (--context takes one number)");
  }

  // Rows of the embedding matrix as columns: [1, C, 1, T]. Columns after the tokens stay zero.
  Tensor embed(std::int64_t width, const std::vector<std::int64_t>& tokens) const {
    const std::int64_t channels = manifest_.hidden_size;
    Tensor hidden(DType::kFp16, {1, channels, 1, width});
    const auto out = hidden.mutable_view().as<Half>();
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      const Half* row = embedding_row(tokens[t]);
      for (std::int64_t c = 0; c < channels; ++c)
        out[static_cast<std::size_t>(c * width) + t] = row[c];
    }
    return hidden;
  }

  // The parts follow each other in the order of the vocabulary.
  const Half* embedding_row(std::int64_t token) const {
    const auto& parts = manifest_.embedding.parts;
    std::size_t part = 0;
    for (; token >= parts[part].rows; ++part) token -= parts[part].rows;
    const std::byte* begin = embedding_[part]->bytes().data() + parts[part].offset;
    return reinterpret_cast<const Half*>(begin) + token * manifest_.embedding.columns;
  }

  void fill(const artifact::Port& port, Tensor& input, const Tensor& hidden) const {
    const auto out = input.mutable_view().as<Half>();
    switch (port.role) {
      case PortRole::kHidden:
        std::ranges::copy(hidden.view().as<Half>(), out.begin());
        return;
      case PortRole::kRopeCos:
      case PortRole::kRopeSin: {
        // [1, 1, T, rope_dim / 2]
        const auto rope = std::ranges::find(manifest_.ropes, port.rope, &artifact::Rope::name);
        const std::size_t width = rope->inv_freq.size();
        for (std::size_t i = 0; i < out.size(); ++i) {
          const float angle = static_cast<float>(position_ + static_cast<std::int64_t>(i / width)) *
                              rope->inv_freq[i % width];
          out[i] = to_half(rope->scale *
                           (port.role == PortRole::kRopeCos ? std::cos(angle) : std::sin(angle)));
        }
        return;
      }
      default: {
        // [1, 1, T, P + T]: a column per position of the past, then one per token of the step.
        const std::int64_t width = input.shape()[2];
        const std::int64_t past = input.shape()[3] - width;
        const std::int64_t first = std::max<std::int64_t>(0, position_ - past);
        const std::int64_t window = port.window == 0 ? manifest_.context : port.window;
        for (std::int64_t t = 0; t < width; ++t)
          for (std::int64_t column = 0; column < past + width; ++column) {
            const std::int64_t key = column < past ? first + column : position_ + column - past;
            const bool is_stored = column >= past || key < position_;
            const std::int64_t query = position_ + t;
            const bool attends = is_stored && key <= query && query - key < window;
            out[static_cast<std::size_t>(t * (past + width) + column)] =
                to_half(attends ? 0 : artifact::kMaskedScore);
          }
      }
    }
  }

  // The last P positions before the step, or the first P of the cache: [1, heads, P, dim].
  void fill_past(const Tensor& cache, Tensor& input) const {
    const std::int64_t past = input.shape()[2], positions = cache.shape()[2];
    const std::int64_t dim = cache.shape()[3], first = std::max<std::int64_t>(0, position_ - past);
    const auto from = cache.view().as<Half>();
    const auto out = input.mutable_view().as<Half>();
    for (std::int64_t head = 0; head < cache.shape()[1]; ++head)
      std::copy_n(from.begin() + (head * positions + first) * dim, past * dim,
                  out.begin() + head * past * dim);
  }

  // The rows of the step, [1, heads, T, dim], of which the first `count` are tokens.
  void append(const TensorView& rows, std::size_t count, Tensor& cache) const {
    const std::int64_t width = rows.shape[2], positions = cache.shape()[2], dim = cache.shape()[3];
    const auto from = rows.as<Half>();
    const auto out = cache.mutable_view().as<Half>();
    for (std::int64_t head = 0; head < cache.shape()[1]; ++head)
      std::copy_n(from.begin() + head * width * dim, static_cast<std::int64_t>(count) * dim,
                  out.begin() + (head * positions + position_) * dim);
  }

  // The packages of heads run on the column of one token, [1, C, 1, 1].
  std::int64_t most_likely(const Tensor& hidden, std::size_t token) {
    const std::string& function = decode().name;
    const auto columns = hidden.view().as<Half>();
    const auto width = static_cast<std::size_t>(hidden.shape()[3]);
    std::int64_t best = 0;
    float highest = -INFINITY;
    for (auto& [package, heads] : heads_) {
      // One run gives the logits of all heads of a package.
      Tensor& input = package.input(*package.program->signature(function), heads.front().input);
      const auto out = input.mutable_view().as<Half>();
      for (std::size_t c = 0; c < out.size(); ++c) out[c] = columns[c * width + token];
      package.run(function);
      for (const artifact::Head& head : heads) {
        const auto logits = package.output(head.output).as<Half>();
        for (std::size_t row = 0; row < logits.size(); ++row)
          if (to_float(logits[row]) > highest) {
            highest = to_float(logits[row]);
            best = head.vocab_begin + static_cast<std::int64_t>(row);
          }
      }
    }
    return best;
  }

  artifact::Manifest manifest_;
  std::unique_ptr<exec::Executor> executor_;
  std::vector<Package> shards_;
  std::vector<std::pair<Package, std::span<const artifact::Head>>> heads_;
  std::map<std::string, Tensor> caches_;
  std::vector<std::shared_ptr<const MappedFile>> embedding_;  // by part
  std::int64_t position_ = 0;                                 // tokens in the caches
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) fail({Code::kInvalidArgument, "usage: host_loop ARTIFACT MAX_NEW TOKEN_ID..."});
  HostLoop loop(arguments[1]);
  const artifact::Manifest& manifest = loop.manifest();
  const auto number = [](const char* text, std::int64_t limit) {
    char* end = nullptr;
    const std::int64_t value = std::strtoll(text, &end, 10);
    if (end == text || *end != '\0' || value < 0 || value >= limit)
      fail({Code::kInvalidArgument,
            "[" + std::string(text) + "] expected a number below " + std::to_string(limit)});
    return value;
  };
  const std::int64_t max_new = number(arguments[2], manifest.context);
  std::vector<std::int64_t> prompt;
  for (int i = 3; i < count; ++i) prompt.push_back(number(arguments[i], manifest.embedding.rows));
  if (static_cast<std::int64_t>(prompt.size()) + max_new > manifest.context)
    fail({Code::kInvalidArgument, "[prompt] expected room in the context for it and MAX_NEW"});

  std::int64_t next = 0;
  for (std::size_t begin = 0; begin < prompt.size();) {
    const auto width = static_cast<std::size_t>(loop.prefill().tokens);
    const std::size_t end = std::min(prompt.size(), begin + width);
    next = loop.step(loop.prefill(), {prompt.begin() + static_cast<std::ptrdiff_t>(begin),
                                      prompt.begin() + static_cast<std::ptrdiff_t>(end)});
    begin = end;
  }
  for (std::int64_t made = 1; made <= max_new; ++made) {
    std::printf("%lld\n", static_cast<long long>(next));
    if (std::ranges::find(manifest.eos_ids, next) != manifest.eos_ids.end()) break;
    if (made < max_new) next = loop.step(loop.decode(), {next});
  }
  return 0;
}
