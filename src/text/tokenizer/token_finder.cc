// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/token_finder.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace anemone::text {

std::size_t TokenFinder::slot_of(std::uint64_t key) const {
  const std::size_t mask = edges_.size() - 1;
  auto at = static_cast<std::size_t>(table_place(key, multiplier_, shift_));
  while (edges_[at].key != 0 && edges_[at].key != key) at = (at + 1) & mask;
  return at;
}

std::uint32_t TokenFinder::child(std::uint32_t node, unsigned char byte) const {
  if (node == 0) return roots_[byte];
  return edges_.empty() ? 0 : edges_[slot_of(key_of(node, byte))].to;
}

std::uint32_t TokenFinder::add_child(std::uint32_t node, unsigned char byte) {
  const auto added = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({node, nodes_[node].depth + 1, 0, 0, -1, byte});
  if (node == 0) {
    roots_[byte] = added;
    return added;
  }
  if (edge_count_ * 2 >= edges_.size()) {
    std::vector<Edge> old(std::max<std::size_t>(64, edges_.size() * 2));
    old.swap(edges_);
    shift_ = 64 - std::countr_zero(edges_.size());
    for (const Edge& edge : old)
      if (edge.key != 0) edges_[slot_of(edge.key)] = edge;
  }
  const std::uint64_t key = key_of(node, byte);
  edges_[slot_of(key)] = {key, added};
  ++edge_count_;
  return added;
}

void TokenFinder::insert(std::string_view key, std::int32_t value) {
  if (key.empty()) return;
  std::uint32_t node = 0;
  for (auto c = key.rbegin(); c != key.rend(); ++c) {
    const auto byte = static_cast<unsigned char>(*c);
    const std::uint32_t next = child(node, byte);
    node = next != 0 ? next : add_child(node, byte);
  }
  if (nodes_[node].value < 0) nodes_[node].value = value;
}

void TokenFinder::build() {
  // The nodes are visited by depth, so that the links of a node's parent are there.
  std::vector<std::uint32_t> order(nodes_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return nodes_[a].depth < nodes_[b].depth;
  });
  for (const std::uint32_t at : order) {
    Node& node = nodes_[at];
    if (node.depth <= 1) continue;
    std::uint32_t from = nodes_[node.parent].failure;
    while (from != 0 && child(from, node.byte) == 0) from = nodes_[from].failure;
    node.failure = child(from, node.byte);
    const Node& suffix = nodes_[node.failure];
    node.output = suffix.value >= 0 ? node.failure : suffix.output;
  }
}

Status TokenFinder::find_all(std::string_view text, ChargedVector<Hit>& hits) const {
  const std::size_t first = hits.size();
  std::uint32_t state = 0;
  for (std::size_t at = text.size(); at-- > 0;) {
    const auto byte = static_cast<unsigned char>(text[at]);
    std::uint32_t next = child(state, byte);
    while (next == 0 && state != 0) {
      state = nodes_[state].failure;
      next = child(state, byte);
    }
    state = next;
    if (state == 0) continue;
    const std::uint32_t longest = nodes_[state].value >= 0 ? state : nodes_[state].output;
    if (longest == 0) continue;
    if (hits.is_full()) ANEMONE_RETURN_IF_ERROR(hits.make_room(1));
    hits.push_back({at, at + nodes_[longest].depth, nodes_[longest].value});
  }
  // Keeps the hits from the left, without those that begin inside of another.
  std::reverse(hits.begin() + static_cast<std::ptrdiff_t>(first), hits.end());
  std::size_t kept = first;
  std::size_t done = 0;
  for (std::size_t i = first; i < hits.size(); ++i) {
    if (hits[i].begin < done) continue;
    done = hits[i].end;
    hits[kept++] = hits[i];
  }
  hits.cut_to(kept);
  return {};
}

}  // namespace anemone::text
