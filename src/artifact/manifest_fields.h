// SPDX-License-Identifier: Apache-2.0
// The members of manifest.json, each once, in the order of the file. `io` is an ObjectReader or an
// ObjectWriter (manifest_io.h), so one list serves both directions. A key of the file never
// changes, even where the field got a better name since: "running" is Cache::is_recurrent, "chosen"
// is Experts::active.
#pragma once

#include <array>
#include <fmt/format.h>

#include "artifact/manifest.h"
#include "artifact/manifest_io.h"

namespace anemone::artifact {

inline constexpr std::array kPortRoles = {PortRole::kHidden,
                                          PortRole::kRopeCos,
                                          PortRole::kRopeSin,
                                          PortRole::kAttentionMask,
                                          PortRole::kAttentionMaskPastAndStep,
                                          PortRole::kCacheWriteMask,
                                          PortRole::kUpdateMask,
                                          PortRole::kEmbedding,
                                          PortRole::kLayerEmbedding,
                                          PortRole::kExperts,
                                          PortRole::kPosition};
inline constexpr std::array kHiddenLayouts = {HiddenLayout::kTokensInHeight,
                                              HiddenLayout::kTokensInWidth};

// The layout is a member of the manifest itself, where the first versions have it.
template <typename Io>
void fields(Io& io, typename Io::template Of<Form>& form) {
  for (const FormField& field : form_fields())
    if (field.name != "layout") io.choice(field, form);
}

template <typename Io>
void fields(Io& io, typename Io::template Of<Port>& port) {
  io.member("name", port.name);
  io.word("role", port.role, Words<PortRole>{kPortRoles, port_role_name},
          fmt::format("role of input \"{}\"", port.name));
  io.optional("rope", port.rope);
  io.optional("window", port.window);
  io.optional("tail", port.tail);
}

template <typename Io>
void fields(Io& io, typename Io::template Of<Cache>& cache) {
  io.member("name", cache.name);
  io.optional("output", cache.output);
  io.member("dtype", cache.dtype);
  io.member("shape", cache.shape);
  io.optional("running", cache.is_recurrent);
  io.optional("appended", cache.is_appended);
  io.optional("window", cache.window);
}

template <typename Io>
void fields(Io& io, typename Io::template Of<ExpertPack>& pack) {
  io.member("package", pack.package);
  io.member("begin", pack.begin);
  io.member("end", pack.end);
}

template <typename Io>
void fields(Io& io, typename Io::template Of<Experts>& experts) {
  io.member("input", experts.input);
  io.member("weights", experts.weights);
  io.member("count", experts.count);
  io.member("chosen", experts.active);
  io.member("widths", experts.widths);
  io.member("packs", experts.packs);
}

template <typename Io>
void fields(Io& io, typename Io::template Of<Shard>& shard) {
  io.member("package", shard.package);
  io.member("layer_begin", shard.layers.begin);
  io.member("layer_end", shard.layers.end);
  io.optional("part_begin", shard.layers.part_begin);
  io.optional("part_end", shard.layers.part_end);
  io.member("inputs", shard.inputs);
  io.member("output", shard.output);
  io.optional("carried", shard.carried);
  io.optional("experts", shard.experts);
  io.member("caches", shard.caches);
}

template <typename Io>
void fields(Io& io, typename Io::template Of<Head>& head) {
  io.member("package", head.package);
  io.member("vocab_begin", head.vocab_begin);
  io.member("vocab_end", head.vocab_end);
  io.member("input", head.input);
  io.member("output", head.output);
  io.optional("argmax", head.argmax);
}

template <typename Io>
void fields(Io& io, typename Io::template Of<Embed>& embed) {
  io.member("package", embed.package);
  io.member("input", embed.input);
  io.member("output", embed.output);
}

template <typename Io>
void fields(Io& io, typename Io::template Of<Function>& function) {
  io.member("name", function.name);
  io.member("tokens", function.tokens);
  io.optional("context", function.context);
  io.optional("flexible", function.is_flexible);
}

template <typename Io>
void fields(Io& io, typename Io::template Of<Quantization>& quantization) {
  io.member("dtype", quantization.dtype);
  io.member("block_rows", quantization.block_rows);
  io.member("block_columns", quantization.block_columns);
  io.optional("offset", quantization.offset);
  io.optional("scales", quantization.scales);
}

template <typename Io>
void fields(Io& io, typename Io::template Of<EmbeddingPart>& part) {
  io.member("file", part.file);
  io.member("offset", part.offset);
  io.member("rows", part.rows);
  io.optional("quantization", part.quantization);
}

template <typename Io>
void fields(Io& io, typename Io::template Of<Embedding>& embedding) {
  io.member("dtype", embedding.dtype);
  io.member("rows", embedding.rows);
  io.member("columns", embedding.columns);
  io.member("parts", embedding.parts);
}

template <typename Io>
void fields(Io& io, typename Io::template Of<Rope>& rope) {
  io.member("name", rope.name);
  io.member("scale", rope.scale);
  io.member("inv_freq", rope.inv_freq);
  io.optional("short_length", rope.short_length);
  if (rope.short_length != 0) io.member("long_inv_freq", rope.long_inv_freq);
}

template <typename Io>
void fields(Io& io, typename Io::template Of<Verification>& verification) {
  auto& agreement = verification.agreement;
  auto& limits = verification.limits;
  io.member("passed", verification.passed);
  io.member("against", verification.against);
  io.member("text", verification.text);
  io.member("ids_sha256", verification.ids_sha256);
  io.member("tokens", agreement.tokens);
  io.member("cosine_mean", agreement.cosine_mean);
  io.member("cosine_median", agreement.cosine_median);
  io.member("cosine_min", agreement.cosine_min);
  io.member("top1", agreement.top1);
  io.member("top1_near", agreement.top1_near);
  io.member("perplexity", agreement.perplexity);
  io.member("reference_perplexity", agreement.reference_perplexity);
  io.member("min_cosine", limits.min_cosine);
  io.member("min_top1", limits.min_top1);
  io.member("max_perplexity_ratio", limits.max_perplexity_ratio);
  io.member("producer", verification.producer);
}

template <typename Io>
void fields(Io& io, typename Io::template Of<FileEntry>& file) {
  io.member("path", file.path);
  io.member("bytes", file.bytes);
  io.member("sha256", file.sha256);
}

// All members but format_version, which is read first because it says what the others mean.
template <typename Io>
void fields(Io& io, typename Io::template Of<Manifest>& manifest) {
  io.member("producer", manifest.producer);
  io.member("model_type", manifest.model_type);
  io.member("name", manifest.name);
  io.member("precision", manifest.precision);
  io.member("quantization", manifest.quantization);
  io.member("target", manifest.target);
  io.member("vocab_size", manifest.vocab_size);
  io.optional("labels", manifest.labels);
  io.member("hidden_size", manifest.hidden_size);
  io.member("layers", manifest.layers);
  io.member("context", manifest.context);
  io.member("max_position", manifest.max_position);
  io.member("eos_ids", manifest.eos_ids);
  io.or_null("bos_id", manifest.bos_id);
  io.member("generation", manifest.generation);
  io.newer_word("layout", manifest.form.layout,
                Words<HiddenLayout>{kHiddenLayouts, hidden_layout_name}, "layout");
  io.optional("form", manifest.form);
  io.member("embedding", manifest.embedding);
  io.optional("layer_embedding", manifest.layer_embedding);
  io.member("ropes", manifest.ropes);
  io.member("functions", manifest.functions);
  io.member("shards", manifest.shards);
  io.member("heads", manifest.heads);
  io.optional("embed", manifest.embed);
  io.optional("verification", manifest.verification);
  io.member("files", manifest.files);
}

}  // namespace anemone::artifact
