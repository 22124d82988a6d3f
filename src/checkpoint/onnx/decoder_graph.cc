// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/onnx/decoder_graph.h"

#include <cmath>
#include <set>

#include "base/error.h"

namespace anemone::checkpoint::onnx {
namespace {

// A norm and what it is the norm of.
struct Norm {
  const Node* node = nullptr;
  const Constant* weight = nullptr;
  std::string sum;  // the hidden state before it
};

class DecoderReader {
 public:
  explicit DecoderReader(const OnnxGraph& graph) : graph_(graph) {}

  Result<DecoderGraph> read() {
    std::vector<const Node*> attentions;
    for (const Node& node : graph_.nodes())
      if (node.op == "GroupQueryAttention") attentions.push_back(&node);
    if (attentions.empty())
      return unsupported("[{}] expected a decoder with GroupQueryAttention, got none",
                         graph_.path());
    for (const Node* attention : attentions) ANEMONE_RETURN_IF_ERROR(read_layer(*attention));
    ANEMONE_RETURN_IF_ERROR(read_head());
    ANEMONE_RETURN_IF_ERROR(check_nothing_is_left());
    return std::move(out_);
  }

 private:
  Status unknown(const Node& node, std::string_view what) const {
    return unsupported("[{}] expected {} at {} ({})", graph_.path(), what, node.name, node.op);
  }
  // Takes the node that makes `value`.
  Result<const Node*> maker(const std::string& value, std::string_view what) {
    const Node* node = graph_.producer(value);
    if (node == nullptr)
      return unsupported("[{}] expected a node that computes {}, got {}", graph_.path(), what,
                         value.empty() ? "nothing" : value);
    used_.insert(node);
    return node;
  }
  // The only node that uses a value.
  Result<const Node*> user(const std::string& value, std::string_view what) {
    const auto all = graph_.consumers(value);
    if (all.size() != 1)
      return unsupported("[{}] expected {} to be used once, got {} uses of {}", graph_.path(), what,
                         all.size(), value);
    used_.insert(all[0]);
    return all[0];
  }

  // y = matrix * x (+ bias): `node` is the product or the addition after it. Gives x.
  Result<std::string> read_projection(const Node* node, Projection& out) {
    used_.insert(node);
    if (node->op == "Add") {
      out.bias = graph_.constant(node->input(1));
      const bool is_second = out.bias != nullptr;
      if (!is_second) out.bias = graph_.constant(node->input(0));
      if (out.bias == nullptr) return unknown(*node, "a constant bias");
      ANEMONE_ASSIGN_OR_RETURN(node, maker(node->input(is_second ? 0 : 1), "a projection"));
    }
    ANEMONE_ASSIGN_OR_RETURN(out.matrix, read_matrix(graph_, *node));
    if (node->op != "MatMulNBits" && node->op != "MatMul") return unknown(*node, "a projection");
    if (node->op == "MatMulNBits" && !node->input(5).empty()) {
      if (out.bias != nullptr) return unknown(*node, "one bias");
      out.bias = graph_.constant(node->input(5));
      if (out.bias == nullptr) return unknown(*node, "a constant bias");
    }
    if (out.bias != nullptr && (out.bias->shape != Shape{out.matrix.rows} || !out.bias->is_float()))
      return unknown(*node, "a bias for each row");
    return node->input(0);
  }

  Result<Norm> read_norm(const std::string& value) {
    Norm out;
    ANEMONE_ASSIGN_OR_RETURN(out.node, maker(value, "a norm"));
    const bool has_skip = out.node->op == "SkipSimplifiedLayerNormalization";
    if (!has_skip && out.node->op != "SimplifiedLayerNormalization")
      return unknown(*out.node, "an RMS norm");
    if (out.node->integer("axis", -1) != -1) return unknown(*out.node, "a norm of the last axis");
    if (has_skip && !out.node->input(3).empty()) return unknown(*out.node, "no bias");
    out.weight = graph_.constant(out.node->input(has_skip ? 2 : 1));
    if (out.weight == nullptr || out.weight->shape.size() != 1 || !out.weight->is_float())
      return unknown(*out.node, "a constant weight");
    out.sum = has_skip ? out.node->output(3) : out.node->input(0);
    const double epsilon = static_cast<double>(out.node->number("epsilon", 1e-5f));
    if (out_.norm_epsilon != 0 && out_.norm_epsilon != epsilon)
      return unknown(*out.node, "the epsilon of the other norms");
    out_.norm_epsilon = epsilon;
    return out;
  }

  // A head's vectors, normed or not, back to the projection's output.
  Result<std::string> read_head_norm(std::string value, const Constant*& weight) {
    const Node* node = graph_.producer(value);
    if (node == nullptr || node->op != "Reshape") return value;
    used_.insert(node);
    ANEMONE_ASSIGN_OR_RETURN(const Norm norm, read_norm(node->input(0)));
    weight = norm.weight;
    ANEMONE_ASSIGN_OR_RETURN(const Node* first, maker(norm.sum, "heads"));
    if (norm.node->op != "SimplifiedLayerNormalization" || first->op != "Reshape")
      return unknown(*norm.node, "a norm of each head");
    return first->input(0);
  }

  // The RotaryEmbedding node that gives `value`; null where another node does.
  const Node* rotary_of(const std::string& value) const {
    const Node* node = graph_.producer(value);
    return node != nullptr && node->op == "RotaryEmbedding" ? node : nullptr;
  }

  // The value that a RotaryEmbedding node rotates to give `value`; `value` itself without one.
  Result<std::string> read_rotary(const std::string& value) {
    const Node* node = rotary_of(value);
    if (node == nullptr) return value;
    used_.insert(node);
    const bool is_plain =
        node->input(1) == "position_ids" && node->integer("interleaved", 0) == 0 &&
        node->integer("is_packed_batching", 0) == 0 && node->number("scale", 1) == 1;
    const std::int64_t dim = node->integer("rotary_embedding_dim", 0);
    if (!is_plain || (dim != 0 && dim != out_.head_dim))
      return unknown(*node, "a rotary embedding of halves of whole heads, at position_ids");
    return node->input(0);
  }

  Result<std::string> read_qkv(const Node& attention, DecoderLayer& layer) {
    const std::int64_t q_rows = out_.heads * out_.head_dim;
    const std::int64_t kv_rows = out_.kv_heads * out_.head_dim;
    std::string packed = attention.input(1).empty() ? attention.input(0) : "";
    if (packed.empty()) {
      ANEMONE_ASSIGN_OR_RETURN(const std::string rotated_q, read_rotary(attention.input(0)));
      ANEMONE_ASSIGN_OR_RETURN(const std::string rotated_k, read_rotary(attention.input(1)));
      ANEMONE_ASSIGN_OR_RETURN(const std::string q, read_head_norm(rotated_q, layer.q_norm));
      ANEMONE_ASSIGN_OR_RETURN(const std::string k, read_head_norm(rotated_k, layer.k_norm));
      ANEMONE_ASSIGN_OR_RETURN(const Node* q_node, maker(q, "the queries"));
      ANEMONE_ASSIGN_OR_RETURN(const Node* k_node, maker(k, "the keys"));
      ANEMONE_ASSIGN_OR_RETURN(const Node* v_node, maker(attention.input(2), "the values"));
      if (q_node->op == "Split") {
        const Constant* sizes = graph_.constant(q_node->input(1));
        const bool is_split = k_node == q_node && v_node == q_node && q == q_node->output(0) &&
                              k == q_node->output(1) && attention.input(2) == q_node->output(2) &&
                              q_node->integer("axis", 0) == -1 && sizes != nullptr &&
                              sizes->dtype == DType::kInt64 && sizes->shape == Shape{3} &&
                              element_as_double(sizes->view(), 0) == static_cast<double>(q_rows) &&
                              element_as_double(sizes->view(), 1) == static_cast<double>(kv_rows);
        if (!is_split) return unknown(*q_node, "a split into queries, keys and values");
        packed = q_node->input(0);
      } else {
        ANEMONE_ASSIGN_OR_RETURN(const std::string x, read_projection(q_node, layer.q));
        ANEMONE_ASSIGN_OR_RETURN(const std::string x_k, read_projection(k_node, layer.k));
        ANEMONE_ASSIGN_OR_RETURN(const std::string x_v, read_projection(v_node, layer.v));
        if (x != x_k || x != x_v) return unknown(attention, "projections of one input");
        return x;
      }
    }
    Projection all;
    ANEMONE_ASSIGN_OR_RETURN(const Node* node, maker(packed, "a projection"));
    ANEMONE_ASSIGN_OR_RETURN(const std::string x, read_projection(node, all));
    if (all.matrix.rows != q_rows + 2 * kv_rows) return unknown(*node, "rows for all heads");
    layer.q = {all.matrix.part(0, q_rows), all.bias, 0};
    layer.k = {all.matrix.part(q_rows, kv_rows), all.bias, q_rows};
    layer.v = {all.matrix.part(q_rows + kv_rows, kv_rows), all.bias, q_rows + kv_rows};
    return x;
  }

  // The attention's own settings.
  Status read_attention(const Node& node) {
    const std::int64_t heads = node.integer("num_heads", 0);
    const std::int64_t kv_heads = node.integer("kv_num_heads", 0);
    // Either the attention rotates, or a node of its own rotates the queries and another the keys.
    const Node* q_rotary = rotary_of(node.input(0));
    const Node* k_rotary = rotary_of(node.input(1));
    const bool is_apart = q_rotary != nullptr;
    const bool is_rotated_once =
        node.integer("do_rotary", 0) == (is_apart ? 0 : 1) && is_apart == (k_rotary != nullptr) &&
        (!is_apart ||
         (q_rotary->input(2) == k_rotary->input(2) && q_rotary->input(3) == k_rotary->input(3)));
    const Constant* cos = graph_.constant(is_apart ? q_rotary->input(2) : node.input(7));
    const Constant* sin = graph_.constant(is_apart ? q_rotary->input(3) : node.input(8));
    const bool is_plain =
        node.integer("local_window_size", -1) == -1 && node.number("softcap", 0) == 0 &&
        node.integer("smooth_softmax", 0) == 0 && node.integer("rotary_interleaved", 0) == 0 &&
        node.integer("causal", 1) == 1;
    if (!is_plain) return unknown(node, "causal attention without windows, caps or sinks");
    for (std::size_t i = 9; i < node.inputs.size(); ++i)
      if (!node.input(i).empty() && i != 9) return unknown(node, "attention without a bias");
    if (!is_rotated_once || cos == nullptr || sin == nullptr || !cos->is_float() ||
        cos->shape.size() != 2 || sin->shape != cos->shape || sin->dtype != cos->dtype ||
        element_count(cos->shape) == 0)
      return unknown(node, "rotary tables");
    if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0) return unknown(node, "heads");
    const std::int64_t dim = cos->shape[1] * 2;
    const double usual = 1 / std::sqrt(static_cast<double>(dim));
    const double scale = static_cast<double>(node.number("scale", 0));
    if (scale != 0 && std::abs(scale - usual) > 1e-6 * usual)
      return unknown(node, "a scale of 1 / sqrt(head size), with all of a head rotated");
    if (out_.cos == nullptr) {
      out_.heads = heads;
      out_.kv_heads = kv_heads;
      out_.head_dim = dim;
      out_.cos = cos;
      out_.sin = sin;
    }
    if (heads != out_.heads || kv_heads != out_.kv_heads || cos != out_.cos || sin != out_.sin)
      return unknown(node, "the heads and tables of the other layers");
    return {};
  }

  Status read_layer(const Node& attention) {
    used_.insert(&attention);
    ANEMONE_RETURN_IF_ERROR(read_attention(attention));
    DecoderLayer layer;
    ANEMONE_ASSIGN_OR_RETURN(const std::string x, read_qkv(attention, layer));
    ANEMONE_ASSIGN_OR_RETURN(const Norm input, read_norm(x));
    layer.input_norm = input.weight;
    ANEMONE_RETURN_IF_ERROR(enter(input));
    ANEMONE_ASSIGN_OR_RETURN(std::string attended, follow(attention.output(0), layer.o));
    // The skip norm adds what the projection gives to the hidden state.
    ANEMONE_ASSIGN_OR_RETURN(const Node* post, user(attended, "the attention's output"));
    if (!adds(*post, hidden_, attended)) return unknown(*post, "the sum with the hidden state");
    ANEMONE_ASSIGN_OR_RETURN(const Norm norm, read_norm(post->output(0)));
    layer.post_attention_norm = norm.weight;
    hidden_ = norm.sum;
    ANEMONE_RETURN_IF_ERROR(read_mlp(post->output(0), layer));
    out_.layers.push_back(std::move(layer));
    return {};
  }

  // The hidden state that a layer begins with: the embedding, or the sum of the layer before.
  Status enter(const Norm& norm) {
    if (!out_.layers.empty()) {
      if (!adds(*norm.node, hidden_, pending_))
        return unknown(*norm.node, "the sum of the layer before");
      hidden_ = norm.sum;
      return {};
    }
    hidden_ = norm.sum;
    ANEMONE_ASSIGN_OR_RETURN(const Node* node, maker(hidden_, "the embedding"));
    if ((node->op != "Gather" && node->op != "GatherBlockQuantized") ||
        node->input(1) != "input_ids")
      return unknown(*node, "an embedding of input_ids");
    ANEMONE_ASSIGN_OR_RETURN(out_.embedding, read_matrix(graph_, *node));
    if (const Node* shaped = graph_.producer(node->input(0))) used_.insert(shaped);
    return {};
  }

  static bool adds(const Node& node, const std::string& a, const std::string& b) {
    return node.op == "SkipSimplifiedLayerNormalization" &&
           ((node.input(0) == a && node.input(1) == b) ||
            (node.input(0) == b && node.input(1) == a));
  }

  // The projection that takes `value`, and its output.
  Result<std::string> follow(const std::string& value, Projection& projection) {
    ANEMONE_ASSIGN_OR_RETURN(const Node* node, user(value, "the input of a projection"));
    const auto next = graph_.consumers(node->output(0));
    const Node* last = node;
    if (next.size() == 1 && next[0]->op == "Add" &&
        (graph_.constant(next[0]->input(0)) != nullptr ||
         graph_.constant(next[0]->input(1)) != nullptr))
      last = next[0];
    ANEMONE_RETURN_IF_ERROR(read_projection(last, projection).status());
    return last->output(0);
  }

  Status read_mlp(const std::string& x, DecoderLayer& layer) {
    // down(silu(gate(x)) * up(x)), where silu(g) = g * sigmoid(g).
    const auto users = graph_.consumers(x);
    const Node* gate = nullptr;
    const Node* up = nullptr;
    std::string gated;
    std::string raised;
    for (const Node* node : users) {
      Projection projection;
      used_.insert(node);
      ANEMONE_RETURN_IF_ERROR(read_projection(node, projection).status());
      bool is_gate = false;
      for (const Node* next : graph_.consumers(node->output(0)))
        is_gate = is_gate || next->op == "Sigmoid";
      (is_gate ? gate : up) = node;
      (is_gate ? gated : raised) = node->output(0);
      (is_gate ? layer.gate : layer.up) = std::move(projection);
    }
    if (users.size() != 2 || gate == nullptr || up == nullptr)
      return unsupported(
          "[{}] expected an MLP of two projections of {}, one of them followed by SiLU",
          graph_.path(), x);
    ANEMONE_ASSIGN_OR_RETURN(const Node* product, user(raised, "the MLP's projection"));
    if (product->op != "Mul") return unknown(*product, "a product with the gate");
    const std::string& activated =
        product->input(0) == raised ? product->input(1) : product->input(0);
    ANEMONE_ASSIGN_OR_RETURN(const Node* silu, maker(activated, "the gate"));
    const bool first = silu->input(0) == gated;
    ANEMONE_ASSIGN_OR_RETURN(const Node* sigmoid, maker(silu->input(first ? 1 : 0), "SiLU"));
    if (silu->op != "Mul" || sigmoid->op != "Sigmoid" || sigmoid->input(0) != gated ||
        silu->input(first ? 0 : 1) != gated)
      return unknown(*silu, "SiLU of the gate");
    ANEMONE_ASSIGN_OR_RETURN(pending_, follow(product->output(0), layer.down));
    return {};
  }

  Status read_head() {
    ANEMONE_ASSIGN_OR_RETURN(const Node* node, maker("logits", "logits"));
    while (node->op == "Cast") {
      ANEMONE_ASSIGN_OR_RETURN(node, maker(node->input(0), "logits"));
    }
    ANEMONE_ASSIGN_OR_RETURN(const std::string x, read_projection(node, out_.head));
    ANEMONE_ASSIGN_OR_RETURN(const Norm norm, read_norm(x));
    if (!adds(*norm.node, hidden_, pending_)) return unknown(*norm.node, "the last layer's sum");
    out_.final_norm = norm.weight;
    out_.is_tied = out_.head.matrix.weight.bytes.data() == out_.embedding.weight.bytes.data() &&
                   out_.head.matrix.weight.bytes.size() == out_.embedding.weight.bytes.size();
    return {};
  }

  // Whatever else depends on the tokens would change the numbers.
  Status check_nothing_is_left() const {
    std::set<std::string, std::less<>> depends = {"input_ids"};
    for (const Node& node : graph_.nodes()) {  // in the order of the computation
      bool is_dependent = false;
      for (const std::string& input : node.inputs)
        is_dependent = is_dependent || depends.contains(input);
      if (!is_dependent) continue;
      if (!used_.contains(&node)) return unknown(node, "nothing beside the decoder");
      depends.insert(node.outputs.begin(), node.outputs.end());
    }
    return {};
  }

  const OnnxGraph& graph_;
  DecoderGraph out_;
  std::set<const Node*> used_;
  std::string hidden_;   // before the next sum
  std::string pending_;  // what is to be added to it
};

}  // namespace

Result<DecoderGraph> read_decoder(const OnnxGraph& graph) {
  return DecoderReader(graph).read();
}

}  // namespace anemone::checkpoint::onnx
