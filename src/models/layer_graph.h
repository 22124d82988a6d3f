// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/manifest.h"
#include "ir/builder.h"
#include "models/decoder_config.h"
#include "models/weights.h"

namespace anemone::models {

struct GraphOptions {
  ir::Opset opset = ir::Opset::kIOS18;  // of the function
  DType dtype = DType::kFp16;           // of activations: fp16 or fp32
  std::int64_t tokens = 1;              // T; kDynamic: known when it runs
  std::int64_t context = 0;             // S: positions that the function attends to and writes
  std::int64_t cache_context = 0;       // positions that the caches have, S or more
  // Tokens of the widest function: room for so many is after the context of packed caches.
  std::int64_t widest_step = 1;
  // False: caches that would be states are inputs and outputs (Core ML has states of fp16, from iOS
  // 18 on).
  bool caches_are_states = true;
  artifact::Form form = {};
  // Most inputs and outputs of a product, for split projections; 0: any number.
  std::int64_t max_axis = 0;
  // Whether a product of fp16 weights is one that NotchForm::kAvoided avoids; null: none is.
  bool (*is_slow_product)(std::int64_t outputs, std::int64_t inputs) = nullptr;
};

// The keys or values that a step attends to, [1, kv_heads, positions, head_dim].
struct CachedRows {
  ir::Value* past = nullptr;
  ir::Value* step = nullptr;  // of the step itself, after the past ones; null: they are in `past`
};

// One function of a layer shard while it is built: the builder with the inputs that layers share,
// and the small operations that blocks are made of. Single-thread; errors are kept in the builder.
class LayerGraph {
 public:
  // `layers`: those of the shard; a head has none. A layer of which a part is left out is built as
  // a whole: FunctionCut takes the rest away.
  LayerGraph(ir::Builder& builder, const DecoderConfig& config, WeightProvider& weights,
             const GraphOptions& options, const artifact::LayerSpan& layers = {});

  ir::Builder& builder() { return builder_; }
  const DecoderConfig& config() const { return config_; }
  const GraphOptions& options() const { return options_; }
  WeightProvider& weights() { return weights_; }

  Shape hidden_shape(std::int64_t channels) const {  // [1, channels, T, 1]
    return artifact::hidden_shape(options_.form.layout, channels, options_.tokens);
  }
  // Rows of `heads` heads for every token, for a reshape.
  std::int64_t rows_of(std::int64_t heads) const {
    return options_.tokens == kDynamic ? kDynamic : heads * options_.tokens;
  }
  // The positions that a function takes of an appended cache whose layer has this window: kDynamic
  // where caches grow.
  std::int64_t past_positions(std::int64_t window) const {
    return options_.form.has_growing_caches()
               ? kDynamic
               : artifact::past_positions(options_.form.past, options_.context, window);
  }
  ir::Type tensor_type(Shape shape) const {
    return ir::Type::tensor(options_.dtype, std::move(shape));
  }

  // Function inputs, declared when first asked for.
  ir::Value* hidden_input();
  ir::Value* embedding();        // [1, hidden_size, T, 1]: of the tokens, as they are in the table
  ir::Value* layer_embedding();  // [1, layers of the shard * layer_embedding_size, T, 1]
  ir::Value* rope_cos(const artifact::Rope& rope);  // [1, 1, T, rope_dim / 2]
  ir::Value* rope_sin(const artifact::Rope& rope);
  // [1, 1, T, S]; where the host appends to caches [1, 1, T, P + T] with P = past_positions().
  ir::Value* attention_mask(std::int64_t window);
  ir::Value* cache_write_mask();  // [1, 1, S, T]
  ir::Value* cache_keep_mask();   // [1, 1, S, 1]: 1 where no token of this step is stored

  // begin_layer() starts a layer; end_part() marks the border between two parts of it, where a
  // shard may end.
  void begin_layer(std::int64_t layer);
  void end_part();
  // Whether the shard has what is built now; what it has not is cut off, so that anything of the
  // same shape that uses the same values can stand in for it.
  bool is_in_shard() const;

  // The sum of experts that are in packages of their own (Form::has_expert_packs()): an input, and
  // between the parts of the layer a border where a shard must end. `prefix` says where their
  // tensors lie.
  ir::Value* experts_apart(const std::string& prefix, ir::Value* x, ir::Value* weights);

  // A constant [1, count, 1, count]: 1 at (i, j) where j is before i.
  ir::Value* earlier(std::int64_t count);

  // Stores `tokens` [1, kv_heads, T, head_dim] in the cache `name` ("k_cache_3") and returns what
  // the function attends to: S positions, the step's among them, or those from before the step, as
  // many as the form has for this sliding window of the layer, and T of it. In a classifier, which
  // has no caches, the positions are the tokens of the step.
  CachedRows update_cache(const std::string& name, ir::Value* tokens, std::int64_t window);

  // Adds the columns of this step to the recurrent state `name`, which holds the `kept` ones before
  // it: `tokens` [1, 1, C, T] to [1, 1, C, kept + T].
  ir::Value* extend_recurrent(const std::string& name, ir::Value* tokens, std::int64_t channels,
                              std::int64_t kept);

  // A recurrent state of any shape before the step; write_recurrent() says what it is after it.
  ir::Value* read_recurrent(const std::string& name, const Shape& shape);
  void write_recurrent(const std::string& name, ir::Value* updated);
  // [1, 1, T, 1]: 1 for each token of the step, 0 for padding. It is computed from the update mask
  // of `tail`.
  ir::Value* real_tokens(std::int64_t tail);

  // What update_cache() returns, for layers that attend to the cache of another one. `carried`
  // names the tokens that a shard before it has stored: a CarriedValue.
  CachedRows cache_of_other_layer(const std::string& name, const std::string& carried,
                                  std::int64_t heads, std::int64_t window);

  // Values that later layers use. A shard begins with those that cross its border, and leave()
  // joins those that go on to the hidden state.
  ir::Value*& shared(const std::string& name) { return shared_[name]; }
  bool leaves(const std::string& name) const;  // whether a CarriedValue crosses the end
  ir::Value* leave(ir::Value* hidden);

  // Small operations. Names are prefixes for people who read the program.
  ir::Value* add(ir::Value* a, ir::Value* b, std::string_view name);
  ir::Value* mul(ir::Value* a, ir::Value* b, std::string_view name);
  ir::Value* scale(ir::Value* a, double factor, std::string_view name);
  ir::Value* reshape(ir::Value* a, const Shape& shape, std::string_view name);
  ir::Value* transpose(ir::Value* a, const std::vector<std::int32_t>& permutation,
                       std::string_view name);
  std::vector<ir::Value*> split(ir::Value* a, const std::vector<std::int64_t>& sizes,
                                std::int32_t axis, std::string_view name);
  ir::Value* join(const std::vector<ir::Value*>& parts, std::int32_t axis, std::string_view name);
  // [1, heads * width, T, 1] to [1, heads, T, width], and back.
  ir::Value* to_heads(ir::Value* x, std::int64_t heads, const std::string& name);
  ir::Value* from_heads(ir::Value* x, const std::string& name);
  // 1x1 convolution; `bias`, a constant, may be nullptr. If it is_slow(), several over ranges of
  // the outputs, joined, which gives the same bits.
  ir::Value* project(ir::Value* x, const Projection& projection, ir::Value* bias);
  // project() in one operation, whatever its size.
  ir::Value* project_whole(ir::Value* x, const Projection& projection, ir::Value* bias);
  // Whether GraphOptions::is_slow_product says so of a weight that is stored as floats.
  bool is_slow(const Projection& projection);
  ir::Literal number(double value) const { return ir::Literal::number(value, options_.dtype); }

  // What the host must know about the function.
  const std::vector<artifact::Port>& ports() const { return ports_; }
  const std::vector<artifact::Cache>& caches() const { return caches_; }
  // Outputs of the function besides its result: caches that are not states.
  const std::vector<ir::Value*>& cache_outputs() const { return cache_outputs_; }
  // Ends the packed caches, which are as large as their layers make them; after all layers.
  void finish_packed_caches();
  const artifact::LayerSpan& layers() const { return layers_; }
  // How many operations there were at the end of each part but the last of a layer.
  struct PartEnd {
    std::int64_t layer = 0;
    std::int64_t part = 0;  // the one that begins
    std::size_t operations = 0;
  };
  const std::vector<PartEnd>& part_ends() const { return part_ends_; }
  // What the experts after the end of the shard need, where they are apart.
  struct ExpertsApart {
    std::string prefix;
    ir::Value* x = nullptr;
    ir::Value* weights = nullptr;
  };
  const std::optional<ExpertsApart>& last_experts() const { return last_experts_; }

 private:
  ir::Value* port(artifact::Port port, Shape shape);
  // Elements [begin, end) of a constant vector.
  ir::Value* elements_of(ir::Value* vector, std::int64_t begin, std::int64_t end,
                         std::string_view name);
  ir::Value* update_mask(std::int64_t tail);  // [1, 1, tail + T, tail]
  // The input or state of a cache as it is before the step; and what it is after it.
  struct OpenCache {
    artifact::Cache cache;
    bool is_state = false;
    ir::Value* input = nullptr;
    ir::Value* stored = nullptr;
  };
  std::map<std::string, OpenCache> open_recurrent_;
  OpenCache open_cache(artifact::Cache cache);
  CachedRows append_to_cache(const std::string& name, ir::Value* tokens, std::int64_t window);
  void close_cache(OpenCache cache, ir::Value* updated);
  // The keys and values of several layers, whose heads have the same shape.
  struct PackedCache {
    OpenCache open;
    std::int64_t rows = 0;
    std::vector<ir::Value*> values;  // all of its shape
  };
  std::map<std::string, PackedCache> packed_;
  PackedCache& packed_cache(const Shape& tokens);
  CachedRows write_to_packed(const std::string& name, ir::Value* tokens);
  // [row, head, position, 0] as an operand of int32.
  ir::Value* corner(std::int64_t row, std::int64_t head, ir::Value* position, std::int64_t last,
                    const std::string& name);
  ir::Value* position();      // int32 [1]: of the first token of the step
  ir::Value* position_end();  // after the last one
  // The first S positions of a cache, and a cache with its first S positions replaced.
  ir::Value* cache_prefix(ir::Value* cache, const std::string& name);
  ir::Value* with_prefix(ir::Value* cache, ir::Value* prefix, const std::string& name);

  ir::Builder& builder_;
  const DecoderConfig& config_;
  WeightProvider& weights_;
  const GraphOptions options_;
  const artifact::LayerSpan layers_;
  std::int64_t layer_ = 0;  // that is built now
  std::int64_t part_ = 0;
  std::vector<PartEnd> part_ends_;
  std::optional<ExpertsApart> last_experts_;
  std::map<std::string, ir::Value*> shared_;
  std::map<std::string, CachedRows> cached_;  // by the name of the cache
  std::map<std::string, ir::Value*> inputs_;
  std::vector<artifact::Port> ports_;
  std::vector<artifact::Cache> caches_;
  std::vector<ir::Value*> cache_outputs_;
  ir::Value* keep_mask_ = nullptr;
  ir::Value* position_end_ = nullptr;
  std::map<std::int64_t, ir::Value*> earlier_;
  std::map<std::int64_t, ir::Value*> real_tokens_;
};

}  // namespace anemone::models
