// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/fake_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>

#include "base/error.h"

namespace anemone::engine::testing {
namespace {

std::vector<float> multiply(std::uint64_t matrix, std::int64_t rows, const std::vector<float>& x) {
  std::vector<float> out(static_cast<std::size_t>(rows));
  const auto columns = static_cast<std::int64_t>(x.size());
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      out[static_cast<std::size_t>(r)] +=
          fake_weight(matrix, r * columns + c) * x[static_cast<std::size_t>(c)];
  return out;
}

std::vector<float> column(const std::vector<float>& values, std::int64_t tokens, std::int64_t t) {
  std::vector<float> out;
  for (std::size_t i = static_cast<std::size_t>(t); i < values.size();
       i += static_cast<std::size_t>(tokens))
    out.push_back(values[i]);
  return out;
}

void rotate(std::vector<float>& x, const float* cos, const float* sin) {
  constexpr std::size_t kHalf = kFakeHeadDim / 2;
  for (std::size_t i = 0; i < kHalf; ++i) {
    const float a = x[i];
    const float b = x[i + kHalf];
    x[i] = a * cos[i] - b * sin[i];
    x[i + kHalf] = b * cos[i] + a * sin[i];
  }
}

class FakeStates : public exec::StateStore {
 public:
  explicit FakeStates(std::vector<exec::Feature> features) : features_(std::move(features)) {
    for (const exec::Feature& feature : features_)
      tensors_.emplace_back(feature.dtype, feature.shape);
  }
  const std::vector<exec::Feature>& states() const override { return features_; }
  Result<Tensor> read(std::string_view name) const override {
    for (std::size_t i = 0; i < features_.size(); ++i)
      if (features_[i].name == name) return tensors_[i].clone();
    return not_found("[{}] expected a state", name);
  }
  Status write(std::string_view name, const TensorView& value) override {
    for (std::size_t i = 0; i < features_.size(); ++i)
      if (features_[i].name == name) tensors_[i] = Tensor::copy_of(value);
    return {};
  }
  void reset() override {
    for (std::size_t i = 0; i < features_.size(); ++i)
      tensors_[i] = Tensor(features_[i].dtype, features_[i].shape);
  }

 private:
  std::vector<exec::Feature> features_;
  std::vector<Tensor> tensors_;
};

void put_output(exec::Outputs& outputs, const std::string& name, DType dtype, const Shape& shape,
                std::span<const float> values) {
  for (exec::NamedTensor& output : outputs) {
    if (output.name != name) continue;
    if (output.tensor.dtype() != dtype || output.tensor.shape() != shape)
      output.tensor = Tensor(dtype, shape);
    store_floats(values, output.tensor.mutable_view());
    return;
  }
  outputs.push_back({name, Tensor(dtype, shape)});
  store_floats(values, outputs.back().tensor.mutable_view());
}

class FakeProgram : public exec::LoadedProgram {
 public:
  FakeProgram(const artifact::Manifest& manifest, std::shared_ptr<FakeExecutor::Counts> counts)
      : manifest_(manifest), counts_(std::move(counts)) {
    for (const auto& function : manifest_.functions) functions_.push_back(function.name);
    dtype_ = manifest_.precision == "fp16" ? DType::kFp16 : DType::kFp32;
  }
  const std::vector<std::string>& functions() const override { return functions_; }
  const std::string& default_function() const override { return functions_.front(); }
  const exec::Signature* signature(std::string_view function) const override {
    for (std::size_t i = 0; i < functions_.size(); ++i)
      if (functions_[i] == function) return &signatures_[i];
    return nullptr;
  }
  bool reads_weights_once() const override { return counts_->reads_weights_once; }
  Result<std::unique_ptr<exec::StateStore>> make_state() const override {
    return std::unique_ptr<exec::StateStore>(
        std::make_unique<FakeStates>(signatures_.front().states));
  }
  Status run(std::string_view function, const exec::Inputs& inputs, exec::Outputs& outputs,
             exec::StateStore* states) const override {
    const exec::Signature* called = signature(function);
    if (called == nullptr) return not_found("[{}] expected a function", function);
    ANEMONE_RETURN_IF_ERROR(exec::check_inputs(*called, inputs));
    // An output may not overwrite an input of the same call.
    for (const auto& input : inputs)
      for (const auto& output : outputs)
        if (input.tensor.data == output.tensor.view().data)
          return internal_error("[{}] expected an input of its own storage", input.name);
    return compute(inputs, outputs, states);
  }
  // The outputs that nobody wants become NaN, as far as may be from what a reader would take.
  Status run_batch(std::string_view function,
                   std::span<const exec::BatchItem> items) const override {
    for (const exec::BatchItem& item : items) {
      ANEMONE_RETURN_IF_ERROR(LoadedProgram::run_batch(function, {&item, 1}));
      if (item.wants_outputs) continue;
      ++counts_->unread_runs;
      for (exec::NamedTensor& output : *item.outputs)
        store_floats(std::vector<float>(static_cast<std::size_t>(output.tensor.view().size()),
                                        std::numeric_limits<float>::quiet_NaN()),
                     output.tensor.mutable_view());
    }
    return {};
  }

 protected:
  virtual Status compute(const exec::Inputs& inputs, exec::Outputs& outputs,
                         exec::StateStore* states) const = 0;
  static std::vector<float> value_of(const exec::Inputs& inputs, std::string_view name) {
    for (const auto& input : inputs)
      if (input.name == name) return to_floats(input.tensor);
    return {};
  }
  exec::Feature feature(const std::string& name, const Shape& shape) const {
    exec::Feature out;
    out.name = name;
    out.dtype = dtype_;
    out.shape = shape;
    return out;
  }
  void add_logits(std::span<const artifact::Head> heads, std::int64_t tokens,
                  exec::Signature& signature) const {
    for (const artifact::Head& head : heads)
      signature.outputs.push_back(feature(head.output, {1, head.columns(), tokens, 1}));
  }
  void put_logits(std::span<const artifact::Head> heads, const std::vector<float>& hidden,
                  exec::Outputs& outputs) const {
    const auto tokens = static_cast<std::int64_t>(hidden.size()) / kFakeHidden;
    for (const artifact::Head& head : heads) {
      const std::int64_t rows = head.columns();
      std::vector<float> out(static_cast<std::size_t>(rows * tokens));
      for (std::int64_t t = 0; t < tokens; ++t) {
        const std::vector<float> x = column(hidden, tokens, t);
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t c = 0; c < kFakeHidden; ++c)
            out[static_cast<std::size_t>(r * tokens + t)] +=
                fake_weight(7, (head.vocab_begin + r) * kFakeHidden + c) *
                x[static_cast<std::size_t>(c)];
      }
      put_output(outputs, head.output, dtype_, {1, rows, tokens, 1}, out);
    }
  }

  artifact::Manifest manifest_;
  std::shared_ptr<FakeExecutor::Counts> counts_;
  std::vector<std::string> functions_;
  std::vector<exec::Signature> signatures_;
  DType dtype_ = DType::kFp32;
};

class FakeShard : public FakeProgram {
 public:
  FakeShard(const artifact::Manifest& manifest, std::size_t index,
            std::shared_ptr<FakeExecutor::Counts> counts)
      : FakeProgram(manifest, std::move(counts)), shard_(manifest_.shards[index]), index_(index) {
    for (const auto& function : manifest_.functions) {
      const std::int64_t t = function.tokens;
      exec::Signature& signature = signatures_.emplace_back();
      const Shape hidden = {1, kFakeHidden, t, 1};
      const std::map<artifact::PortRole, Shape> shapes = {
          {artifact::PortRole::kHidden, hidden},
          {artifact::PortRole::kRopeCos, {1, 1, t, kFakeHeadDim / 2}},
          {artifact::PortRole::kRopeSin, {1, 1, t, kFakeHeadDim / 2}},
          {artifact::PortRole::kAttentionMask, {1, 1, t, manifest_.context}},
          {artifact::PortRole::kCacheWriteMask, {1, 1, manifest_.context, t}}};
      for (const auto& port : shard_.inputs)
        signature.inputs.push_back(feature(port.name, shapes.at(port.role)));
      signature.outputs.push_back(feature(shard_.output, hidden));
      for (const auto& cache : shard_.caches) {
        if (cache.output.empty()) {
          signature.states.push_back(feature(cache.name, cache.shape));
        } else {
          signature.inputs.push_back(feature(cache.name, cache.shape));
          signature.outputs.push_back(feature(cache.output, cache.shape));
        }
      }
      if (has_heads()) add_logits(manifest_.heads, t, signature);
    }
  }

 protected:
  Status compute(const exec::Inputs& inputs, exec::Outputs& outputs,
                 exec::StateStore* states) const override {
    if (counts_->fail_after == 0) {
      if (counts_->failures > 0 && --counts_->failures == 0) counts_->fail_after = -1;
      // The worst that the contract of run() allows.
      for (const auto& cache : shard_.caches) {
        if (!cache.output.empty()) continue;
        Tensor damaged(dtype_, cache.shape);
        store_floats(std::vector<float>(static_cast<std::size_t>(damaged.view().size()),
                                        std::numeric_limits<float>::quiet_NaN()),
                     damaged.mutable_view());
        ANEMONE_RETURN_IF_ERROR(states->write(cache.name, damaged.view()));
      }
      return internal_error("[fake] expected to work, got a failure");
    }
    if (counts_->fail_after > 0) --counts_->fail_after;
    ++counts_->shard_runs;
    std::map<artifact::PortRole, std::vector<float>> ports;
    for (const auto& port : shard_.inputs) ports[port.role] = value_of(inputs, port.name);
    auto& hidden = ports.at(artifact::PortRole::kHidden);
    const auto& cos = ports.at(artifact::PortRole::kRopeCos);
    const auto& sin = ports.at(artifact::PortRole::kRopeSin);
    if (counts_->nan_after == 0) std::ranges::fill(hidden, std::numeric_limits<float>::quiet_NaN());
    if (counts_->nan_after > 0) --counts_->nan_after;
    const auto tokens = static_cast<std::int64_t>(hidden.size()) / kFakeHidden;
    const std::int64_t positions = manifest_.context;
    std::vector<float> caches[2];
    for (std::size_t c = 0; c < 2; ++c) {
      const auto& cache = shard_.caches[c];
      if (cache.output.empty()) {
        ANEMONE_ASSIGN_OR_RETURN(const Tensor state, states->read(cache.name));
        caches[c] = to_floats(state.view());
      } else {
        caches[c] = value_of(inputs, cache.name);
      }
    }
    std::vector<std::vector<float>> queries;
    std::vector<std::vector<float>> fresh[2];
    for (std::int64_t t = 0; t < tokens; ++t) {
      std::vector<float> x = column(hidden, tokens, t);
      float square = 0;
      for (const float v : x) square += v * v;
      for (float& v : x) v = v / std::sqrt(square / kFakeHidden);
      const std::uint64_t base = 10 * (index_ + 1);
      queries.push_back(multiply(base, kFakeHeadDim, x));
      fresh[0].push_back(multiply(base + 1, kFakeHeadDim, x));
      fresh[1].push_back(multiply(base + 2, kFakeHeadDim, x));
      rotate(queries.back(), &cos[static_cast<std::size_t>(t * kFakeHeadDim / 2)],
             &sin[static_cast<std::size_t>(t * kFakeHeadDim / 2)]);
      rotate(fresh[0].back(), &cos[static_cast<std::size_t>(t * kFakeHeadDim / 2)],
             &sin[static_cast<std::size_t>(t * kFakeHeadDim / 2)]);
    }
    // A write as a package does it: every position times (1 - written) plus the mask times the new
    // rows.
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::int64_t s = 0; s < positions; ++s) {
        float written = 0;
        float sum[kFakeHeadDim] = {};
        for (std::int64_t t = 0; t < tokens; ++t) {
          const float mask = ports.at(
              artifact::PortRole::kCacheWriteMask)[static_cast<std::size_t>(s * tokens + t)];
          written += mask;
          for (std::size_t d = 0; d < kFakeHeadDim; ++d)
            sum[d] += mask * fresh[c][static_cast<std::size_t>(t)][d];
        }
        for (std::size_t d = 0; d < kFakeHeadDim; ++d) {
          float& stored = caches[c][static_cast<std::size_t>(s * kFakeHeadDim) + d];
          stored = stored * (1 - written) + sum[d];
          if (dtype_ == DType::kFp16) stored = to_float(to_half(stored));
        }
      }
    }
    std::vector<float> out(hidden.size());
    for (std::int64_t t = 0; t < tokens; ++t) {
      const auto row = static_cast<std::size_t>(t);
      std::vector<float> scores(static_cast<std::size_t>(positions));
      float highest = -1e30F;
      for (std::size_t s = 0; s < scores.size(); ++s) {
        for (std::size_t d = 0; d < kFakeHeadDim; ++d)
          scores[s] += queries[row][d] * caches[0][s * kFakeHeadDim + d];
        scores[s] += ports.at(artifact::PortRole::kAttentionMask)[row * scores.size() + s];
        highest = std::max(highest, scores[s]);
      }
      float total = 0;
      std::vector<float> mixed(kFakeHeadDim);
      for (std::size_t s = 0; s < scores.size(); ++s) {
        const float p = std::exp(scores[s] - highest);
        total += p;
        for (std::size_t d = 0; d < kFakeHeadDim; ++d)
          mixed[d] += p * caches[1][s * kFakeHeadDim + d];
      }
      for (float& v : mixed) v /= total;
      const std::vector<float> added = multiply(10 * (index_ + 1) + 3, kFakeHidden, mixed);
      for (std::size_t c = 0; c < kFakeHidden; ++c) {
        const std::size_t at = c * static_cast<std::size_t>(tokens) + row;
        out[at] = hidden[at] + added[c];
      }
    }
    put_output(outputs, shard_.output, dtype_, {1, kFakeHidden, tokens, 1}, out);
    if (has_heads()) put_logits(manifest_.heads, out, outputs);
    for (std::size_t c = 0; c < 2; ++c) {
      const auto& cache = shard_.caches[c];
      if (!cache.output.empty()) {
        put_output(outputs, cache.output, dtype_, cache.shape, caches[c]);
        continue;
      }
      Tensor state(dtype_, cache.shape);
      store_floats(caches[c], state.mutable_view());
      ANEMONE_RETURN_IF_ERROR(states->write(cache.name, state.view()));
    }
    return {};
  }

 private:
  bool has_heads() const {
    return manifest_.has_head_inside() && index_ + 1 == manifest_.shards.size();
  }

  const artifact::Shard& shard_;
  std::size_t index_;
};

class FakeHeads : public FakeProgram {
 public:
  FakeHeads(const artifact::Manifest& manifest, std::size_t package,
            std::shared_ptr<FakeExecutor::Counts> counts)
      : FakeProgram(manifest, std::move(counts)), heads_(manifest_.head_packages()[package]) {
    for (const auto& function : manifest_.functions) {
      exec::Signature& signature = signatures_.emplace_back();
      signature.inputs.push_back(
          feature(heads_.front().input, {1, kFakeHidden, function.tokens, 1}));
      add_logits(heads_, function.tokens, signature);
    }
  }

 protected:
  Status compute(const exec::Inputs& inputs, exec::Outputs& outputs,
                 exec::StateStore* /*states*/) const override {
    const std::vector<float> hidden = value_of(inputs, heads_.front().input);
    ++counts_->head_runs;
    counts_->head_columns += static_cast<std::int64_t>(hidden.size()) / kFakeHidden;
    put_logits(heads_, hidden, outputs);
    return {};
  }

 private:
  const std::span<const artifact::Head> heads_;
};

}  // namespace

float fake_weight(std::uint64_t matrix, std::int64_t index) {
  std::uint64_t x = (matrix * 1000003 + static_cast<std::uint64_t>(index)) * 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ULL;
  return static_cast<float>(static_cast<double>(x >> 40) / (1 << 23) - 1.0);
}

Result<std::shared_ptr<const exec::LoadedProgram>> FakeExecutor::load(
    const std::string& package_path, const exec::LoadOptions& /*options*/) {
  const std::string name = std::filesystem::path(package_path).filename().string();
  for (std::size_t s = 0; s < manifest_.shards.size(); ++s)
    if (manifest_.shards[s].package == name)
      return std::shared_ptr<const exec::LoadedProgram>(
          std::make_shared<FakeShard>(manifest_, s, counts_));
  const auto packages = manifest_.head_packages();
  for (std::size_t p = 0; p < packages.size(); ++p)
    if (packages[p].front().package == name)
      return std::shared_ptr<const exec::LoadedProgram>(
          std::make_shared<FakeHeads>(manifest_, p, counts_));
  return io_error("[{}] cannot open: No such file or directory", package_path);
}

}  // namespace anemone::engine::testing
