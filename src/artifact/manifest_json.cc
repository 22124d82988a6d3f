// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "artifact/manifest.h"
#include "artifact/manifest_check.h"
#include "artifact/object_reader.h"
#include "base/check.h"
#include "base/error.h"

namespace anemone::artifact {
namespace {

// The double whose shortest decimal text is the shortest text of the float: 0.1, not
// 0.10000000149011612.
double shortest_double(float value) {
  if (!std::isfinite(value)) return static_cast<double>(value);
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value);
  // Read the way the manifest will be read; std::from_chars for double is missing on older macOS.
  const double out = Json::parse(text, end.ptr).get<double>();
  return static_cast<float>(out) == value ? out : static_cast<double>(value);
}

Json to_json(const Port& port) {
  Json out = Json::object();
  out["name"] = port.name;
  out["role"] = port_role_name(port.role);
  if (!port.rope.empty()) out["rope"] = port.rope;
  if (port.window != 0) out["window"] = port.window;
  if (port.tail != 0) out["tail"] = port.tail;
  return out;
}

Json to_json(const Cache& cache) {
  Json out = Json::object();
  out["name"] = cache.name;
  if (!cache.output.empty()) out["output"] = cache.output;
  out["dtype"] = dtype_name(cache.dtype);
  out["shape"] = cache.shape;
  if (cache.is_recurrent) out["running"] = true;
  return out;
}

Json to_json(const Experts& experts) {
  Json out = Json::object();
  out["input"] = experts.input;
  out["weights"] = experts.weights;
  out["count"] = experts.count;
  out["chosen"] = experts.active;
  out["widths"] = experts.widths;
  out["packs"] = Json::array();
  for (const ExpertPack& pack : experts.packs)
    out["packs"].push_back({{"package", pack.package}, {"begin", pack.begin}, {"end", pack.end}});
  return out;
}

Json to_json(const Shard& shard) {
  Json out = Json::object();
  out["package"] = shard.package;
  out["layer_begin"] = shard.layers.begin;
  out["layer_end"] = shard.layers.end;
  if (shard.layers.part_begin != 0) out["part_begin"] = shard.layers.part_begin;
  if (shard.layers.part_end != 0) out["part_end"] = shard.layers.part_end;
  out["inputs"] = Json::array();
  for (const Port& port : shard.inputs) out["inputs"].push_back(to_json(port));
  out["output"] = shard.output;
  if (shard.carried != 0) out["carried"] = shard.carried;
  if (shard.experts) out["experts"] = to_json(*shard.experts);
  out["caches"] = Json::array();
  for (const Cache& cache : shard.caches) out["caches"].push_back(to_json(cache));
  return out;
}

Json to_json(const Head& head) {
  Json out = Json::object();
  out["package"] = head.package;
  out["vocab_begin"] = head.vocab_begin;
  out["vocab_end"] = head.vocab_end;
  out["input"] = head.input;
  out["output"] = head.output;
  if (!head.argmax.empty()) out["argmax"] = head.argmax;
  return out;
}

Json to_json(const Function& function) {
  Json out = Json::object();
  out["name"] = function.name;
  out["tokens"] = function.tokens;
  if (function.context != 0) out["context"] = function.context;
  if (function.is_flexible) out["flexible"] = true;
  return out;
}

Json to_json(const Embedding& embedding) {
  Json out = Json::object();
  out["dtype"] = dtype_name(embedding.dtype);
  out["rows"] = embedding.rows;
  out["columns"] = embedding.columns;
  out["parts"] = Json::array();
  for (const EmbeddingPart& part : embedding.parts) {
    Json item = Json::object();
    item["file"] = part.file;
    item["offset"] = part.offset;
    item["rows"] = part.rows;
    out["parts"].push_back(std::move(item));
  }
  return out;
}

Json to_json(const Rope& rope) {
  Json out = Json::object();
  out["name"] = rope.name;
  out["scale"] = shortest_double(rope.scale);
  out["inv_freq"] = Json::array();
  for (const float frequency : rope.inv_freq) out["inv_freq"].push_back(shortest_double(frequency));
  if (rope.short_length != 0) {
    out["short_length"] = rope.short_length;
    out["long_inv_freq"] = Json::array();
    for (const float frequency : rope.long_inv_freq)
      out["long_inv_freq"].push_back(shortest_double(frequency));
  }
  return out;
}

Status read_port(const ObjectReader& reader, Port& port) {
  ANEMONE_RETURN_IF_ERROR(reader.read("name", port.name));
  std::string role;
  ANEMONE_RETURN_IF_ERROR(reader.read("role", role));
  constexpr PortRole kRoles[] = {
      PortRole::kHidden,        PortRole::kRopeCos,        PortRole::kRopeSin,
      PortRole::kAttentionMask, PortRole::kCacheWriteMask, PortRole::kUpdateMask,
      PortRole::kEmbedding,     PortRole::kLayerEmbedding, PortRole::kExperts};
  bool known = false;
  for (const PortRole candidate : kRoles) {
    if (port_role_name(candidate) != role) continue;
    port.role = candidate;
    known = true;
  }
  // A role of a later version: the host would not know what to put in.
  if (!known)
    return reader.at(unsupported("[{}] expected a known role of input \"{}\", got \"{}\"",
                                 reader.subject(), port.name, role));
  ANEMONE_RETURN_IF_ERROR(reader.read_optional("rope", port.rope));
  ANEMONE_RETURN_IF_ERROR(reader.read_optional("tail", port.tail));
  return reader.read_optional("window", port.window);
}

Status read_cache(const ObjectReader& reader, Cache& cache) {
  ANEMONE_RETURN_IF_ERROR(reader.read("name", cache.name));
  ANEMONE_RETURN_IF_ERROR(reader.read_optional("output", cache.output));
  ANEMONE_RETURN_IF_ERROR(reader.read("dtype", cache.dtype));
  ANEMONE_RETURN_IF_ERROR(reader.read_optional("running", cache.is_recurrent));
  return reader.read("shape", cache.shape);
}

Status read_expert_pack(const ObjectReader& reader, ExpertPack& pack) {
  ANEMONE_RETURN_IF_ERROR(reader.read("package", pack.package));
  ANEMONE_RETURN_IF_ERROR(reader.read("begin", pack.begin));
  return reader.read("end", pack.end);
}

Status read_experts(const ObjectReader& reader, Experts& experts) {
  ANEMONE_RETURN_IF_ERROR(reader.read("input", experts.input));
  ANEMONE_RETURN_IF_ERROR(reader.read("weights", experts.weights));
  ANEMONE_RETURN_IF_ERROR(reader.read("count", experts.count));
  ANEMONE_RETURN_IF_ERROR(reader.read("chosen", experts.active));
  ANEMONE_RETURN_IF_ERROR(reader.read("widths", experts.widths));
  return reader.read_objects("packs", experts.packs, read_expert_pack);
}

Status read_shard(const ObjectReader& reader, Shard& shard) {
  ANEMONE_RETURN_IF_ERROR(reader.read("package", shard.package));
  ANEMONE_RETURN_IF_ERROR(reader.read("layer_begin", shard.layers.begin));
  ANEMONE_RETURN_IF_ERROR(reader.read("layer_end", shard.layers.end));
  ANEMONE_RETURN_IF_ERROR(reader.read_optional("part_begin", shard.layers.part_begin));
  ANEMONE_RETURN_IF_ERROR(reader.read_optional("part_end", shard.layers.part_end));
  ANEMONE_RETURN_IF_ERROR(reader.read_objects("inputs", shard.inputs, read_port));
  ANEMONE_RETURN_IF_ERROR(reader.read("output", shard.output));
  ANEMONE_RETURN_IF_ERROR(reader.read_optional("carried", shard.carried));
  if (reader.member("experts") != nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(const ObjectReader experts, reader.object("experts"));
    ANEMONE_RETURN_IF_ERROR(read_experts(experts, shard.experts.emplace()));
  }
  return reader.read_objects("caches", shard.caches, read_cache);
}

Status read_head(const ObjectReader& reader, Head& head) {
  ANEMONE_RETURN_IF_ERROR(reader.read("package", head.package));
  ANEMONE_RETURN_IF_ERROR(reader.read("vocab_begin", head.vocab_begin));
  ANEMONE_RETURN_IF_ERROR(reader.read("vocab_end", head.vocab_end));
  ANEMONE_RETURN_IF_ERROR(reader.read("input", head.input));
  ANEMONE_RETURN_IF_ERROR(reader.read("output", head.output));
  return reader.read_optional("argmax", head.argmax);
}

Status read_rope(const ObjectReader& reader, Rope& rope) {
  ANEMONE_RETURN_IF_ERROR(reader.read("name", rope.name));
  ANEMONE_RETURN_IF_ERROR(reader.read("scale", rope.scale));
  ANEMONE_RETURN_IF_ERROR(reader.read("inv_freq", rope.inv_freq));
  ANEMONE_RETURN_IF_ERROR(reader.read_optional("short_length", rope.short_length));
  return rope.short_length == 0 ? Status() : reader.read("long_inv_freq", rope.long_inv_freq);
}

Status read_function(const ObjectReader& reader, Function& function) {
  ANEMONE_RETURN_IF_ERROR(reader.read("name", function.name));
  ANEMONE_RETURN_IF_ERROR(reader.read("tokens", function.tokens));
  ANEMONE_RETURN_IF_ERROR(reader.read_optional("context", function.context));
  return reader.read_optional("flexible", function.is_flexible);
}

Status read_embedding_part(const ObjectReader& reader, EmbeddingPart& part) {
  ANEMONE_RETURN_IF_ERROR(reader.read("file", part.file));
  ANEMONE_RETURN_IF_ERROR(reader.read("offset", part.offset));
  return reader.read("rows", part.rows);
}

Status read_embedding(const ObjectReader& reader, Embedding& embedding) {
  ANEMONE_RETURN_IF_ERROR(reader.read("dtype", embedding.dtype));
  ANEMONE_RETURN_IF_ERROR(reader.read("rows", embedding.rows));
  ANEMONE_RETURN_IF_ERROR(reader.read("columns", embedding.columns));
  return reader.read_objects("parts", embedding.parts, read_embedding_part);
}

Status read_layout(const ObjectReader& reader, HiddenLayout& layout) {
  std::string name(hidden_layout_name(layout));
  ANEMONE_RETURN_IF_ERROR(reader.read_optional("layout", name));
  const auto known = parse_hidden_layout(name);
  if (!known)
    return reader.at(
        unsupported("[{}] expected a known layout, got \"{}\"", reader.subject(), name));
  layout = *known;
  return {};
}

Status read_file_entry(const ObjectReader& reader, FileEntry& file) {
  ANEMONE_RETURN_IF_ERROR(reader.read("path", file.path));
  ANEMONE_RETURN_IF_ERROR(reader.read("bytes", file.bytes));
  return reader.read("sha256", file.sha256);
}

Result<std::int32_t> token_id(const ObjectReader& reader, std::string_view key,
                              std::int64_t value) {
  if (value < 0 || value > std::numeric_limits<std::int32_t>::max())
    return reader.at(
        parse_error("[{}] expected {} to be a token id, got {}", reader.subject(), key, value));
  return static_cast<std::int32_t>(value);
}

Status read_identity(const ObjectReader& reader, Manifest& manifest) {
  ANEMONE_RETURN_IF_ERROR(reader.read("producer", manifest.producer));
  ANEMONE_RETURN_IF_ERROR(reader.read("model_type", manifest.model_type));
  ANEMONE_RETURN_IF_ERROR(reader.read("name", manifest.name));
  ANEMONE_RETURN_IF_ERROR(reader.read("precision", manifest.precision));
  ANEMONE_RETURN_IF_ERROR(reader.read("quantization", manifest.quantization));
  ANEMONE_RETURN_IF_ERROR(reader.read("target", manifest.target));
  ANEMONE_RETURN_IF_ERROR(reader.read("vocab_size", manifest.vocab_size));
  ANEMONE_RETURN_IF_ERROR(reader.read_optional("labels", manifest.labels));
  ANEMONE_RETURN_IF_ERROR(reader.read("hidden_size", manifest.hidden_size));
  ANEMONE_RETURN_IF_ERROR(reader.read("layers", manifest.layers));
  ANEMONE_RETURN_IF_ERROR(reader.read("context", manifest.context));
  ANEMONE_RETURN_IF_ERROR(reader.read("max_position", manifest.max_position));
  std::vector<std::int64_t> eos_ids;
  ANEMONE_RETURN_IF_ERROR(reader.read("eos_ids", eos_ids));
  for (const std::int64_t value : eos_ids) {
    ANEMONE_ASSIGN_OR_RETURN(const std::int32_t id, token_id(reader, "each of eos_ids", value));
    manifest.eos_ids.push_back(id);
  }
  if (reader.member("bos_id") != nullptr) {
    std::int64_t value = 0;
    ANEMONE_RETURN_IF_ERROR(reader.read("bos_id", value));
    ANEMONE_ASSIGN_OR_RETURN(manifest.bos_id, token_id(reader, "bos_id", value));
  }
  if (const Json* generation = reader.member("generation")) manifest.generation = *generation;
  return {};
}

}  // namespace

Json to_json(const Manifest& manifest) {
  Json out = Json::object();
  out["format_version"] = needed_format_version(manifest);
  out["producer"] = manifest.producer;
  out["model_type"] = manifest.model_type;
  out["name"] = manifest.name;
  out["precision"] = manifest.precision;
  out["quantization"] = manifest.quantization;
  out["target"] = manifest.target;
  out["vocab_size"] = manifest.vocab_size;
  if (manifest.classifies()) out["labels"] = manifest.labels;
  out["hidden_size"] = manifest.hidden_size;
  out["layers"] = manifest.layers;
  out["context"] = manifest.context;
  out["max_position"] = manifest.max_position;
  out["eos_ids"] = manifest.eos_ids;
  out["bos_id"] = manifest.bos_id.has_value() ? Json(*manifest.bos_id) : Json();
  out["generation"] = *manifest.generation;

  out["layout"] = hidden_layout_name(manifest.layout);
  out["embedding"] = to_json(manifest.embedding);
  if (manifest.layer_embedding) out["layer_embedding"] = to_json(*manifest.layer_embedding);
  out["ropes"] = Json::array();
  for (const Rope& rope : manifest.ropes) out["ropes"].push_back(to_json(rope));
  out["functions"] = Json::array();
  for (const Function& function : manifest.functions) out["functions"].push_back(to_json(function));
  out["shards"] = Json::array();
  for (const Shard& shard : manifest.shards) out["shards"].push_back(to_json(shard));
  out["heads"] = Json::array();
  for (const Head& head : manifest.heads) out["heads"].push_back(to_json(head));

  if (manifest.verification) out["verification"] = to_json(*manifest.verification);
  out["files"] = Json::array();
  for (const FileEntry& file : manifest.files) {
    Json item = Json::object();
    item["path"] = file.path;
    item["bytes"] = file.bytes;
    item["sha256"] = file.sha256;
    out["files"].push_back(std::move(item));
  }
  return out;
}

Result<Manifest> manifest_from_json(const Json& json, std::string_view subject) {
  const ObjectReader reader(json, subject, "");
  ANEMONE_RETURN_IF_ERROR(reader.check_is_object());
  Manifest manifest;
  // The version is read before anything else: the other fields of another version may mean
  // something else.
  std::int64_t version = 0;
  ANEMONE_RETURN_IF_ERROR(reader.read("format_version", version));
  if (version < 1 || version > kFormatVersion)
    return version_mismatch("[{}] expected format_version 1 to {}, got {}", subject, kFormatVersion,
                            version);
  ANEMONE_RETURN_IF_ERROR(read_identity(reader, manifest));

  ANEMONE_ASSIGN_OR_RETURN(const ObjectReader embedding, reader.object("embedding"));
  ANEMONE_RETURN_IF_ERROR(read_embedding(embedding, manifest.embedding));
  if (reader.member("layer_embedding") != nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(const ObjectReader layers, reader.object("layer_embedding"));
    ANEMONE_RETURN_IF_ERROR(read_embedding(layers, manifest.layer_embedding.emplace()));
  }
  ANEMONE_RETURN_IF_ERROR(read_layout(reader, manifest.layout));
  ANEMONE_RETURN_IF_ERROR(reader.read_objects("ropes", manifest.ropes, read_rope));
  ANEMONE_RETURN_IF_ERROR(reader.read_objects("functions", manifest.functions, read_function));
  ANEMONE_RETURN_IF_ERROR(reader.read_objects("shards", manifest.shards, read_shard));
  ANEMONE_RETURN_IF_ERROR(reader.read_objects("heads", manifest.heads, read_head));
  if (reader.member("verification") != nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(const ObjectReader verification, reader.object("verification"));
    ANEMONE_ASSIGN_OR_RETURN(manifest.verification, read_verification(verification));
  }
  ANEMONE_RETURN_IF_ERROR(reader.read_objects("files", manifest.files, read_file_entry));
  ANEMONE_RETURN_IF_ERROR(check_manifest(manifest, subject));
  if (const int needed = needed_format_version(manifest); version < needed)
    return corrupt("[{}] expected format_version {} of layers in parts, got {}", subject, needed,
                   version);
  return manifest;
}

}  // namespace anemone::artifact
