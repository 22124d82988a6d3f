// SPDX-License-Identifier: Apache-2.0
// The artifact: a folder that holds a compiled model. It is the only contract between the compiling
// half and the serving half.
//
//   DIR/manifest.json            this file's types
//   DIR/layers_00_11.mlpackage   layer shards: hidden -> hidden
//   DIR/head_0.mlpackage         final norm and ranges of the vocabulary: hidden -> logits; absent
//                                where the package of the last layers has the heads
//   DIR/embed.mlpackage          final norm alone: hidden -> hidden, where the form asks for it
//   DIR/embedding.bin            token embeddings for host lookup, row-major [vocab, hidden], where
//                                the heads do not hold them
//   DIR/layer_embedding.bin      a second table, of the layers' own embeddings, where there is one
//   DIR/tokenizer.json, tokenizer_config.json, chat_template.jinja   as the checkpoint has them
//
// A step runs every layer shard in order, then every head. The functions of a package differ in the
// tokens of a step (decode: 1, prefill: 64) and in the context that they attend to (tiers); heads
// attend to no context, so they hold the functions of the whole context only. Heads inside the
// package of the last layers run with it, in each of its functions.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/embedding.h"
#include "artifact/form.h"
#include "artifact/verification.h"
#include "base/json.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace anemone::artifact {

// The newest version of manifest.json that this build reads; it reads all older ones, too. A new
// member that a reader may ignore does not raise the number. A new member that a reader must know
// raises it, and only manifests with that member carry the new number (needed_format_version()).
//   1: everything but what follows
//   2: layers in parts (LayerSpan::part_begin, part_end), experts in packages (Shard::experts)
//   3: caches that the host appends to (Cache::is_appended), caches of several layers in one tensor
//      (PortRole::kPosition), the vocabulary in the last axis (Form::logits), several heads in a
//      package (Manifest::head_packages()), heads in the package of the last layers
//      (Manifest::has_head_inside()), embeddings in a quantized form (EmbeddingPart::quantization),
//      functions that take a part of a cache (Form::past)
//   4: caches that grow (CacheForm::kGrowing)
inline constexpr int kFormatVersion = 4;
inline constexpr std::string_view kManifestName = "manifest.json";

// What the host has to put into an input of a layer shard. T: tokens of the step; S: positions of
// the context. Shapes of hidden states are given for kTokensInHeight.
enum class PortRole {
  kHidden,   // [1, hidden_size, T, 1]: embeddings, or the output of the shard before
  kRopeCos,  // [1, 1, T, rope_dim / 2]: cos(position * inv_freq) * scale
  kRopeSin,  // the same with sin
  // [1, 1, T, S]: 0 where token t attends to position s, kMaskedScore elsewhere. In a model that
  // classifies, S equals T and the positions are the tokens of the step.
  kAttentionMask,
  // [1, 1, T, P + T]: as kAttentionMask, with a column for each of the P = past_positions() of a
  // cache before the step, and one for each token of the step (Cache::is_appended). Where caches
  // grow, P is any number from 1 to that.
  kAttentionMaskPastAndStep,
  kCacheWriteMask,  // [1, 1, S, T]: 1 where token t is stored at position s, else 0
  // [1, 1, K + T, K]: 1 at [n + j, j] for a step of n real tokens, else 0. Of the K columns from
  // before the step and the T columns of the step this picks the last K that are not padding.
  kUpdateMask,
  kEmbedding,  // [1, hidden_size, T, 1]: token embeddings, for shards that do not begin with them
  // [1, columns of the shard's layers, T, 1]: what Manifest::layer_embedding has for them
  kLayerEmbedding,
  kExperts,   // [1, hidden_size, T, 1]: the sum of the experts of the shard before (Shard::experts)
  kPosition,  // int32 [1]: the position of the first token of the step
};
std::string_view port_role_name(PortRole role);

// Added to the score of a masked position. Large enough that exp() of it is exactly 0 next to any
// real score, small enough for fp16 sums.
inline constexpr float kMaskedScore = -1e4f;

struct Port {
  std::string name;  // of the package's input
  PortRole role = PortRole::kHidden;
  std::string rope = {};  // kRopeCos, kRopeSin: which entry of Manifest::ropes
  // Attention masks: sliding window in tokens, the current one included; 0 = none. A model that
  // classifies attends as far ahead as back.
  std::int64_t window = 0;
  std::int64_t tail = 0;  // kUpdateMask: K
};

// A tensor that a shard keeps from step to step. Either keys or values by position, [rows,
// kv_heads, S, head_dim], in which a shard with an input of kPosition has one row for the keys and
// one for the values of each layer and positions for a widest step after the S, and every other
// shard one row; or a recurrent state of any shape, zero before the first token, that stands for
// all tokens so far. A Core ML state lives in the StateStore under `name`; without states the
// tensor is the input `name` and the output `output`. A function of S positions takes
// past_positions() of an appended cache (any number from 1 to that where caches grow), and gives
// the rows of its T tokens, [1, kv_heads, T, head_dim].
struct Cache {
  std::string name;
  std::string output;  // empty for a state
  DType dtype = DType::kFp16;
  Shape shape;
  // It cannot be truncated: after tokens are dropped, the others have to be run again.
  bool is_recurrent = false;
  bool is_appended = false;  // `output` has the rows of the step; the host keeps them
  // The sliding window of the layer, where `is_appended`; 0: it has none.
  std::int64_t window = 0;

  // That keys or values have room for.
  std::int64_t positions() const { return shape[2]; }
};

// Consecutive layers; of the first and the last one only some parts may be included. A layer with
// experts has these parts: what is before the experts, each expert, and what is after them. Where
// the experts are in packages of their own, only the first and the last part remain.
struct LayerSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;         // exclusive
  std::int64_t part_begin = 0;  // the first part of layer `begin` that is included
  std::int64_t part_end = 0;    // the part of layer `end - 1` after the last included one; 0: all

  bool operator==(const LayerSpan&) const = default;
};
// "layers 2-4 from part 18 to part 9", the parts only where they are not all.
std::string layers_text(const LayerSpan& layers);
// "layer 3, experts 0-15" of [begin, end).
std::string experts_text(std::int64_t layer, std::int64_t begin, std::int64_t end);

// Some experts of a layer in a package of their own.
struct ExpertPack {
  std::string package;
  std::int64_t begin = 0;
  std::int64_t end = 0;  // exclusive; the ranges of all packs cover the experts in order
};

// The experts of the layer that a shard ends inside, in packages of their own. The host gives each
// token to the experts whose weight for it is not 0 and adds up weight * expert(x), in fp32 and in
// the order of the experts, for the input of role kExperts of the next shard.
struct Experts {
  std::string input;    // output of the shard, [1, hidden_size, T, 1]: what the experts take
  std::string weights;  // output of the shard, [1, count, T, 1]
  std::int64_t count = 0;
  std::int64_t active = 0;  // most weights of a token that are not 0
  // How many tokens the functions of an expert take, ascending: the first serves steps of no more
  // tokens than that, the last all others.
  std::vector<std::int64_t> widths = {};
  std::vector<ExpertPack> packs = {};

  // The width T of the functions that serve a step of `tokens` tokens.
  std::int64_t width_for(std::int64_t tokens) const {
    return tokens <= widths.front() ? widths.front() : widths.back();
  }
};
// Name of an expert's function for `tokens` tokens; and the names of its input and output, both [1,
// hidden_size, tokens, 1].
std::string expert_function(std::int64_t expert, std::int64_t tokens);
inline constexpr std::string_view kExpertInput = "x";
inline constexpr std::string_view kExpertOutput = "y";

struct Shard {
  std::string package;  // file name in the artifact folder
  LayerSpan layers;     // from where those of the shard before end
  std::vector<Port> inputs;
  std::string output;  // hidden state that leaves the shard
  std::vector<Cache> caches;
  // Channels that `output` has beyond those of the hidden state: values that later layers, or the
  // rest of a layer, need besides it. The next shard takes them all as its hidden state.
  std::int64_t carried = 0;
  // The host's part between this shard and the next one.
  std::optional<Experts> experts = {};
};

// A range of the vocabulary. Consecutive heads may lie in one package, which runs once for all of
// them: they have the same input, and outputs with names of their own. All of them may lie in the
// package of the last layers (Manifest::has_head_inside()).
struct Head {
  std::string package;
  std::int64_t vocab_begin = 0;
  std::int64_t vocab_end = 0;  // exclusive; the ranges of all heads cover the vocabulary in order
  std::string input;           // of the package; of heads inside, Shard::output of theirs
  // Logits, Form::logits_shape(vocab_end - vocab_begin, T); with argmax the highest of them.
  std::string output;
  // Greedy heads: int32, the first row of the range with the highest logit, which `output` has;
  // both of Form::logits_shape(1, T). Empty: `output` has all logits.
  std::string argmax = {};

  // Columns of `output`.
  std::int64_t columns() const { return argmax.empty() ? vocab_end - vocab_begin : 1; }
};

// The hidden state after the final norm, for embeddings: a package with the functions that heads
// have. Its input and output have the shape of hidden states. What a head multiplies its logits or
// its input with is not in it.
struct Embed {
  std::string package;
  std::string input;
  std::string output;
};

struct Function {
  std::string name;         // in every package
  std::int64_t tokens = 1;  // T
  // S of a tier: the function takes steps that end within the first S positions, and reads and
  // writes only those of the caches. 0: the whole context.
  std::int64_t context = 0;
  bool is_flexible = false;  // takes any number of tokens from 1 to `tokens`
};

// Rotary frequencies: angle(position, i) = position * inv_freq[i], computed in fp32; cos and sin
// are multiplied by `scale` (the attention factor of yarn and longrope).
//
// A text of more than `short_length` tokens is rotated by `long_inv_freq`, from its first token on
// (longrope): keys that were rotated while it was shorter have to be computed again.
struct Rope {
  std::string name;
  std::vector<float> inv_freq;  // rope_dim / 2 entries
  float scale = 1;
  std::int64_t short_length = 0;          // 0: any length
  std::vector<float> long_inv_freq = {};  // as many entries, or none without a short_length

  bool is_long(std::int64_t length) const { return short_length != 0 && length > short_length; }
  // The frequencies that rotate a text of `length` tokens.
  const std::vector<float>& frequencies(std::int64_t length) const {
    return is_long(length) ? long_inv_freq : inv_freq;
  }
};

struct FileEntry {
  std::string path;  // relative to the artifact folder
  std::uint64_t bytes = 0;
  std::string sha256;
};

struct Manifest {
  std::string producer;      // "anemone 0.1.0"
  std::string model_type;    // transformers' model_type of the source
  std::string name;          // for people: the checkpoint folder's name
  std::string precision;     // "fp16" or "fp32"
  std::string quantization;  // "int8", "lut4, head int8": the scheme, then roles of their own
  std::string target;        // "ios18"

  std::int64_t vocab_size = 0;  // columns of the logits, padding rows included
  // The labels of a token classifier, one per column of its logits; empty for a model that
  // generates. A classifier takes whole texts, at most T tokens per step, and keeps nothing between
  // steps.
  std::vector<std::string> labels;
  std::int64_t hidden_size = 0;
  std::int64_t layers = 0;
  std::int64_t context = 0;  // S: tokens that fit into the caches
  std::int64_t max_position = 0;

  std::vector<std::int32_t> eos_ids;
  std::optional<std::int32_t> bos_id;
  // Sampling defaults of generation_config.json (temperature, top_p, top_k, do_sample); may be
  // empty.
  JsonDocument generation;

  Form form = {};
  Embedding embedding;
  // Embeddings that each layer adds by itself: the row of a token holds those of all layers, one
  // after the other, with the same number of columns each.
  std::optional<Embedding> layer_embedding;
  std::vector<Rope> ropes;
  std::vector<Function> functions;  // in any order
  std::vector<Shard> shards;
  std::vector<Head> heads;
  std::optional<Embed> embed;
  std::optional<Verification> verification;  // none: unverified
  std::vector<FileEntry> files;              // every other file, sorted by path

  const Rope* rope(std::string_view rope_name) const;
  // Whether texts of both lengths are rotated by the same frequencies, so that keys of one serve
  // the other.
  bool has_same_ropes(std::int64_t length, std::int64_t other_length) const;
  // Columns of layer_embedding for one layer.
  std::int64_t layer_columns() const {
    return layer_embedding ? layer_embedding->columns / layers : 0;
  }
  // S of a function.
  std::int64_t context_of(const Function& function) const {
    return function.context == 0 ? context : function.context;
  }
  // The function of the whole context that takes the same tokens: what heads hold in place of a
  // tier. nullptr when there is none.
  const Function* head_function(const Function& function) const;
  // Whether the package of the last layers has the heads. Each of its functions, those of tiers,
  // too, then gives the logits of all its tokens beside the hidden state.
  bool has_head_inside() const;
  // The heads of each package that has nothing else, in order; none where has_head_inside(). They
  // point into `heads`.
  std::vector<std::span<const Head>> head_packages() const;
  bool classifies() const { return !labels.empty(); }
  // Whether the heads give the most likely token and no logits.
  bool is_greedy() const { return !heads.empty() && !heads.front().argmax.empty(); }
};

// The oldest format version whose readers run the artifact correctly; to_json() writes it.
int needed_format_version(const Manifest& manifest);
Json to_json(const Manifest& manifest);
// Checks everything that a reader relies on: versions, ranges, coverage of layers and vocabulary,
// file names that stay in the folder, references to ropes.
Result<Manifest> manifest_from_json(const Json& json, std::string_view subject);

// Reads DIR/manifest.json. kNotFound when DIR is no artifact. Does not hash the files.
Result<Manifest> read_manifest(const std::string& folder);

// The SHA-256 of the file, in hex: it has the hash of every other file of the artifact, so two
// artifacts with this digest are the same. kIo.
Result<std::string> manifest_digest(const std::string& folder);
Status write_manifest(const std::string& folder, const Manifest& manifest);

// Hash and size of a file of the folder, for Manifest::files.
Result<FileEntry> describe_file(const std::string& folder, const std::string& path);
// kCorrupt naming the first file that is missing or whose size (or, if asked, hash) differs.
Status check_files(const std::string& folder, const Manifest& manifest, bool check_hashes);

}  // namespace anemone::artifact
