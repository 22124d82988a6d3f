// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/onnx/onnx_checkpoint.h"

#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/inner_file.h"
#include "checkpoint/onnx/decoder_graph.h"
#include "checkpoint/onnx/named_decoder.h"
#include "checkpoint/onnx/rope_table.h"

namespace anemone::checkpoint::onnx {
namespace {

// The decoder's tensors under the names of transformers.
class OnnxSource : public WeightMap {
 public:
  OnnxSource(std::string origin, std::shared_ptr<const OnnxGraph> graph,
             const DecoderGraph& decoder)
      : WeightMap(std::move(origin)), graph_(std::move(graph)) {
    put("model.embed_tokens.weight", decoder.embedding);
    put("model.norm.weight", *decoder.final_norm);
    if (!decoder.is_tied) put("lm_head", decoder.head);
    for (std::size_t i = 0; i < decoder.layers.size(); ++i) {
      const DecoderLayer& layer = decoder.layers[i];
      const std::string at = fmt::format("model.layers.{}.", i);
      put(at + "input_layernorm.weight", *layer.input_norm);
      put(at + "post_attention_layernorm.weight", *layer.post_attention_norm);
      if (layer.q_norm != nullptr) put(at + "self_attn.q_norm.weight", *layer.q_norm);
      if (layer.k_norm != nullptr) put(at + "self_attn.k_norm.weight", *layer.k_norm);
      put(at + "self_attn.q_proj", layer.q);
      put(at + "self_attn.k_proj", layer.k);
      put(at + "self_attn.v_proj", layer.v);
      put(at + "self_attn.o_proj", layer.o);
      put(at + "mlp.gate_proj", layer.gate);
      put(at + "mlp.up_proj", layer.up);
      put(at + "mlp.down_proj", layer.down);
    }
  }

 private:
  void put(const std::string& name, const Matrix& matrix) {
    decoders_.push_back(matrix.decoder);
    add(name, matrix.weight);
  }
  void put(const std::string& name, const Constant& constant) {
    put_part(name, constant, 0, element_count(constant.shape));
  }
  void put(const std::string& name, const Projection& projection) {
    put(name + ".weight", projection.matrix);
    if (projection.bias != nullptr)
      put_part(name + ".bias", *projection.bias, projection.bias_first, projection.matrix.rows);
  }
  void put_part(const std::string& name, const Constant& constant, std::int64_t first,
                std::int64_t count) {
    const auto element = static_cast<std::size_t>(dtype_bytes(constant.dtype, 1));
    WeightRef weight;
    weight.dtype = constant.dtype;
    weight.shape = {count};
    weight.bytes = constant.bytes.subspan(static_cast<std::size_t>(first) * element,
                                          static_cast<std::size_t>(count) * element);
    weight.file = constant.file;
    add(name, std::move(weight));
  }

  std::shared_ptr<const OnnxGraph> graph_;
  std::vector<std::shared_ptr<const WeightDecoder>> decoders_;
};

// The class whose forward pass the graph has.
Result<std::string> model_type_of(const DecoderGraph& decoder, std::int64_t hidden,
                                  const std::string& path) {
  const auto is_same = [&](auto of) {
    for (const DecoderLayer& layer : decoder.layers)
      if (of(layer) != of(decoder.layers[0])) return false;
    return true;
  };
  const DecoderLayer& first = decoder.layers[0];
  const auto has_qkv_bias = [](const DecoderLayer& layer) {
    return (layer.q.bias != nullptr) + (layer.k.bias != nullptr) + (layer.v.bias != nullptr);
  };
  const auto has_output_bias = [](const DecoderLayer& layer) { return layer.o.bias != nullptr; };
  const auto has_norms = [](const DecoderLayer& layer) {
    return (layer.q_norm != nullptr) + (layer.k_norm != nullptr);
  };
  const auto has_mlp_bias = [](const DecoderLayer& layer) {
    return layer.gate.bias != nullptr || layer.up.bias != nullptr || layer.down.bias != nullptr;
  };
  const bool is_regular = is_same(has_qkv_bias) && is_same(has_output_bias) && is_same(has_norms) &&
                          is_same(has_mlp_bias) && !has_mlp_bias(first) &&
                          has_qkv_bias(first) % 3 == 0 && has_norms(first) % 2 == 0 &&
                          decoder.head.bias == nullptr;
  const bool has_biases = has_qkv_bias(first) == 3;
  if (is_regular && has_norms(first) == 2 && has_biases == has_output_bias(first))
    return std::string("qwen3");
  if (is_regular && has_norms(first) == 0 && has_biases && !has_output_bias(first))
    return std::string("qwen2");
  const bool is_divided = hidden % decoder.heads == 0;
  if (is_regular && has_norms(first) == 0 && has_biases == has_output_bias(first) &&
      (is_divided || !has_biases))
    return std::string(is_divided ? "llama" : "mistral");
  return unsupported("[{}] expected biases and head norms as in llama, qwen2 or qwen3", path);
}

Status check_sizes(const DecoderGraph& decoder, std::int64_t hidden, std::int64_t inner,
                   const std::string& path) {
  const std::int64_t q = decoder.heads * decoder.head_dim;
  const std::int64_t kv = decoder.kv_heads * decoder.head_dim;
  const auto is = [](const Projection& projection, std::int64_t rows, std::int64_t columns) {
    return projection.matrix.rows == rows && projection.matrix.columns == columns;
  };
  const auto has = [](const Constant* norm, std::int64_t size) {
    return norm == nullptr || norm->shape == Shape{size};
  };
  bool fits = has(decoder.final_norm, hidden) && is(decoder.head, decoder.embedding.rows, hidden);
  for (const DecoderLayer& l : decoder.layers)
    fits = fits && is(l.q, q, hidden) && is(l.k, kv, hidden) && is(l.v, kv, hidden) &&
           is(l.o, hidden, q) && is(l.gate, inner, hidden) && is(l.up, inner, hidden) &&
           is(l.down, hidden, inner) && has(l.input_norm, hidden) &&
           has(l.post_attention_norm, hidden) && has(l.q_norm, decoder.head_dim) &&
           has(l.k_norm, decoder.head_dim);
  if (fits) return {};
  return corrupt("[{}] expected matrices of one hidden size ({}) and MLP size ({})", path, hidden,
                 inner);
}

Result<Json> make_config(const DecoderGraph& decoder, const Json& model, const std::string& path) {
  const std::int64_t hidden = decoder.embedding.columns;
  const std::int64_t inner = decoder.layers[0].gate.matrix.rows;
  ANEMONE_RETURN_IF_ERROR(check_sizes(decoder, hidden, inner, path));
  ANEMONE_ASSIGN_OR_RETURN(Json config, rope_settings(*decoder.cos, *decoder.sin, path));
  ANEMONE_ASSIGN_OR_RETURN(config["model_type"], model_type_of(decoder, hidden, path));
  const bool has_bias = decoder.layers[0].o.bias != nullptr;
  config["hidden_size"] = hidden;
  config["intermediate_size"] = inner;
  config["num_hidden_layers"] = decoder.layers.size();
  config["num_attention_heads"] = decoder.heads;
  config["num_key_value_heads"] = decoder.kv_heads;
  config["head_dim"] = decoder.head_dim;
  config["vocab_size"] = decoder.embedding.rows;
  config["rms_norm_eps"] = decoder.norm_epsilon;
  config["hidden_act"] = "silu";
  config["attention_bias"] = has_bias;
  config["tie_word_embeddings"] = decoder.is_tied;
  const Json* context = json_member(model, "context_length");
  config["max_position_embeddings"] = context != nullptr ? *context : Json(decoder.cos->shape[0]);
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"})
    if (const Json* id = json_member(model, key)) config[key] = *id;
  return config;
}

Json make_generation_config(const Json& genai, const Json& model) {
  Json out = Json::object();
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"})
    if (const Json* id = json_member(model, key)) out[key] = *id;
  if (const Json* search = json_member(genai, "search"))
    for (const char* key : {"do_sample", "temperature", "top_k", "top_p", "repetition_penalty"})
      if (const Json* value = json_member(*search, key)) out[key] = *value;
  return out;
}

struct Bundle {
  std::string config_path;
  Json genai;
  std::string model_path;
  std::shared_ptr<const OnnxGraph> graph;

  const Json* model() const { return json_member(genai, "model"); }
  const Json* decoder() const {
    return model() == nullptr ? nullptr : json_member(*model(), "decoder");
  }
};

Result<Bundle> open_bundle(const std::string& folder) {
  namespace fs = std::filesystem;
  Bundle out;
  ANEMONE_ASSIGN_OR_RETURN(out.config_path, inner_file(folder, "genai_config.json"));
  ANEMONE_ASSIGN_OR_RETURN(out.genai, read_json_file(out.config_path));
  if (out.decoder() == nullptr)
    return parse_error("[{}] expected model.decoder, got none", out.config_path);
  ANEMONE_ASSIGN_OR_RETURN(const auto name,
                           json_string(*out.decoder(), "filename", out.config_path));
  const fs::path file = name.value_or("model.onnx");
  if (file.has_parent_path() || file.filename().empty() || file == "." || file == "..")
    return parse_error("[{}] expected the name of a file in this folder, got \"{}\"",
                       out.config_path, file.string());
  ANEMONE_ASSIGN_OR_RETURN(out.model_path, inner_file(folder, file.string()));
  ANEMONE_ASSIGN_OR_RETURN(out.graph, OnnxGraph::open(out.model_path));
  return out;
}

}  // namespace

Result<std::vector<std::string>> onnx_bundle_files(const std::string& folder) {
  ANEMONE_ASSIGN_OR_RETURN(const Bundle bundle, open_bundle(folder));
  std::vector<std::string> files = bundle.graph->files();
  files.push_back(bundle.config_path);
  return files;
}

Result<Checkpoint> open_onnx_bundle(const std::string& folder) {
  ANEMONE_ASSIGN_OR_RETURN(const Bundle bundle, open_bundle(folder));
  const auto& graph = bundle.graph;
  const Json* model = bundle.model();
  const Json* settings = bundle.decoder();
  Checkpoint out;
  auto read = read_decoder(*graph);
  if (read.status().code() == Code::kUnsupported) {
    auto named = read_named_decoder(*graph, *settings);
    // The graph is to blame unless all names and sizes were found.
    if (!named.ok())
      return named.status().code() == Code::kCorrupt ? named.status() : read.status();
    out.notes.push_back(
        fmt::format("the graph has an unknown form; the names of its tensors were used instead: {}",
                    read.status().message()));
    read = std::move(named);
  }
  if (!read.ok()) return read.status();
  const DecoderGraph decoder = std::move(read).value();
  out.path = folder;
  ANEMONE_ASSIGN_OR_RETURN(Json config, make_config(decoder, *model, bundle.model_path));
  ANEMONE_ASSIGN_OR_RETURN(out.config, HfConfig::from_json(std::move(config), bundle.config_path));
  out.generation = make_generation_config(bundle.genai, *model);
  out.weights = std::make_shared<OnnxSource>(folder, graph, decoder);
  return out;
}

}  // namespace anemone::checkpoint::onnx
