// SPDX-License-Identifier: Apache-2.0
#include "engine/session/kv_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/zero_memory.h"
#include "exec/cache_positions.h"

namespace anemone::engine {
namespace {

using Kind = CacheLayout::Kind;

std::uint64_t bytes_of(const CacheLayout& layout) {
  return dtype_bytes(layout.dtype, static_cast<std::uint64_t>(element_count(layout.shape)));
}

// What one position takes in all heads.
std::uint64_t bytes_of_position(const CacheLayout& layout) {
  return bytes_of(layout) / static_cast<std::uint64_t>(layout.shape[2]);
}

Kind kind_of(const artifact::Cache& cache, const artifact::Form& form) {
  if (cache.is_appended) return form.has_growing_caches() ? Kind::kGrow : Kind::kAppend;
  return cache.output.empty() ? Kind::kState : Kind::kReplace;
}

CacheLayout layout_of(const artifact::Cache& cache, const artifact::Manifest& manifest) {
  return {.name = cache.name,
          .output = cache.output,
          .dtype = cache.dtype,
          .shape = cache.shape,
          .kind = kind_of(cache, manifest.form),
          .is_recurrent = cache.is_recurrent,
          .window = cache.window,
          .most = artifact::past_positions(manifest.form.past, manifest.context, cache.window)};
}

Shape with_positions(const CacheLayout& layout, std::int64_t positions) {
  Shape out = layout.shape;
  out[2] = positions;
  return out;
}

// A cache tensor of zeros. kOutOfMemory.
Result<Tensor> make_tensor(const CacheLayout& layout, const Shape& shape) {
  try {
    return Tensor(layout.dtype, shape);
  } catch (const std::bad_alloc&) {
    return out_of_memory(
        "[{}] not enough memory: the cache needs {} bytes", layout.name,
        dtype_bytes(layout.dtype, static_cast<std::uint64_t>(element_count(shape))));
  }
}

}  // namespace

Result<KvCache> KvCache::make(std::vector<Package> packages) {
  KvCache out;
  for (Package& package : packages) {
    Held& held = out.packages_.emplace_back();
    ANEMONE_ASSIGN_OR_RETURN(held.states, package.program->make_state());
    for (CacheLayout& layout : package.caches) {
      out.is_recurrent_ = out.is_recurrent_ || layout.is_recurrent;
      ANEMONE_CHECK(layout.is_recurrent || layout.shape.size() == 4);
      Tensor& tensor = held.tensors.emplace_back();
      if (layout.kind == Kind::kGrow) {
        out.is_growing_ = true;
      } else if (layout.kind != Kind::kState) {
        ANEMONE_ASSIGN_OR_RETURN(tensor, make_tensor(layout, layout.shape));
      }
      held.layouts.push_back(std::move(layout));
    }
  }
  return out;
}

Result<KvCache> KvCache::make(const Model& model) {
  std::vector<Package> packages;
  const std::vector<artifact::Shard>& shards = model.manifest().shards;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    Package& package = packages.emplace_back(Package{.program = &model.shard(s), .caches = {}});
    for (const artifact::Cache& cache : shards[s].caches)
      package.caches.push_back(layout_of(cache, model.manifest()));
  }
  return make(std::move(packages));
}

Status KvCache::reserve(std::int64_t positions) {
  if (!is_growing_ || positions <= room_) return {};
  const auto least = static_cast<std::uint64_t>(std::max(positions, kLeastRoom));
  const auto room = static_cast<std::int64_t>(std::bit_ceil(least));
  // All new tensors are made before an old one is replaced, so that an error changes nothing.
  std::vector<Tensor> grown;
  for (const Held& held : packages_)
    for (const CacheLayout& layout : held.layouts) {
      if (layout.kind != Kind::kGrow) continue;
      ANEMONE_CHECK(positions <= layout.shape[2]);
      ANEMONE_ASSIGN_OR_RETURN(
          grown.emplace_back(),
          make_tensor(layout, with_positions(layout, std::min(room, layout.shape[2]))));
    }
  std::size_t next = 0;
  for (Held& held : packages_)
    for (std::size_t c = 0; c < held.layouts.size(); ++c) {
      if (held.layouts[c].kind != Kind::kGrow) continue;
      Tensor& tensor = grown[next++];
      if (length_ > 0) exec::copy_positions(held.tensors[c].view(), length_, tensor.mutable_view());
      held.tensors[c] = std::move(tensor);
    }
  room_ = room;
  return {};
}

std::int64_t KvCache::taken_positions(std::int64_t context) const {
  return is_growing_ ? std::min(room_, context) : context;
}

std::vector<exec::CacheBinding> KvCache::bindings(std::size_t package, std::int64_t position,
                                                  std::int64_t count) {
  std::vector<exec::CacheBinding> out;
  Held& held = packages_[package];
  out.reserve(held.layouts.size());
  for (std::size_t c = 0; c < held.layouts.size(); ++c) {
    const CacheLayout& layout = held.layouts[c];
    if (layout.kind == Kind::kState) continue;
    out.push_back({.input = layout.name,
                   .output = layout.output,
                   .kind = layout.kind == Kind::kReplace ? exec::CacheBinding::Kind::kReplace
                                                         : exec::CacheBinding::Kind::kAppend,
                   .cache = &held.tensors[c],
                   .position = position,
                   .count = count,
                   .window = layout.window,
                   .past = taken_positions(layout.most)});
  }
  return out;
}

void KvCache::append(std::int64_t position, std::int64_t count) {
  ANEMONE_CHECK(position >= 0 && position <= length_ && count >= 0);
  length_ = position + count;
}

Status KvCache::truncate(std::int64_t length) {
  if (length < 0 || length > length_)
    return invalid_argument("[cache] expected a length from 0 to {}, got {}", length_, length);
  if (is_recurrent_ && length < length_)
    return unsupported("[cache] expected all {} tokens, which recurrent states stand for, got {}",
                       length_, length);
  // The positions beyond are masked from now on, and overwritten before they are shown again.
  length_ = length;
  return {};
}

Status KvCache::edit(Held& held, std::size_t cache, const Edit& edit) {
  const CacheLayout& layout = held.layouts[cache];
  if (layout.kind == Kind::kState) return held.states->edit(layout.name, edit);
  edit(held.tensors[cache].mutable_view());
  return {};
}

Status KvCache::copy_prefix(KvCache& from, std::int64_t positions) {
  if (positions < 0 || positions > from.length_)
    return invalid_argument("[cache] expected a prefix of at most {} tokens, got {}", from.length_,
                            positions);
  if (is_recurrent_ && positions < from.length_)
    return unsupported("[cache] expected all {} tokens, which recurrent states stand for, got {}",
                       from.length_, positions);
  ANEMONE_CHECK(packages_.size() == from.packages_.size());
  length_ = 0;  // so that reserve() copies nothing
  ANEMONE_RETURN_IF_ERROR(reserve(positions));
  length_ = positions;
  for (std::size_t p = 0; p < packages_.size(); ++p)
    for (std::size_t c = 0; c < packages_[p].layouts.size(); ++c) {
      const CacheLayout& layout = packages_[p].layouts[c];
      ANEMONE_CHECK(layout.shape == from.packages_[p].layouts[c].shape);
      if (positions == 0 && !layout.is_recurrent) continue;
      Status inner;
      const Status status = edit(from.packages_[p], c, [&](const MutableTensorView& source) {
        inner = edit(packages_[p], c, [&](const MutableTensorView& target) {
          if (layout.is_recurrent)
            std::memcpy(target.data, source.data, static_cast<std::size_t>(bytes_of(layout)));
          else
            exec::copy_positions(source, positions, target);
        });
      });
      ANEMONE_RETURN_IF_ERROR(status);
      ANEMONE_RETURN_IF_ERROR(inner);
    }
  return {};
}

std::uint64_t KvCache::Snapshot::bytes() const {
  std::uint64_t bytes = 0;
  for (const Tensor& state : states) bytes += state.view().size_bytes();
  return bytes;
}

Result<KvCache::Snapshot> KvCache::snapshot() {
  Snapshot out{.length = length_, .states = {}};
  for (Held& held : packages_)
    for (std::size_t c = 0; c < held.layouts.size(); ++c)
      if (held.layouts[c].is_recurrent)
        ANEMONE_RETURN_IF_ERROR(edit(held, c, [&](const MutableTensorView& state) {
          out.states.push_back(Tensor::copy_of(state));
        }));
  return out;
}

Status KvCache::restore(const Snapshot& snapshot) {
  if (snapshot.length > length_)
    return invalid_argument("[cache] expected a snapshot of at most {} tokens, got one of {}",
                            length_, snapshot.length);
  std::size_t next = 0;
  for (Held& held : packages_)
    for (std::size_t c = 0; c < held.layouts.size(); ++c) {
      if (!held.layouts[c].is_recurrent) continue;
      ANEMONE_CHECK(next < snapshot.states.size() &&
                    snapshot.states[next].shape() == held.layouts[c].shape);
      const TensorView saved = snapshot.states[next++].view();
      ANEMONE_RETURN_IF_ERROR(edit(held, c, [&](const MutableTensorView& state) {
        std::memcpy(state.data, saved.data, static_cast<std::size_t>(saved.size_bytes()));
      }));
    }
  length_ = snapshot.length;
  return {};
}

void KvCache::clear() {
  for (Held& held : packages_) {
    held.states->reset();
    // All positions: a step that gives NaN may have put it anywhere.
    for (std::size_t c = 0; c < held.layouts.size(); ++c) {
      Tensor& tensor = held.tensors[c];
      if (held.layouts[c].kind == Kind::kGrow)
        tensor = Tensor();
      else if (!tensor.empty())
        zero_memory(tensor.mutable_data(), static_cast<std::size_t>(tensor.view().size_bytes()));
    }
  }
  length_ = 0;
  room_ = 0;
}

std::uint64_t KvCache::bytes() const {
  std::uint64_t bytes = 0;
  for (const Held& held : packages_)
    for (const CacheLayout& layout : held.layouts)
      bytes += layout.is_recurrent
                   ? bytes_of(layout)
                   : bytes_of_position(layout) * static_cast<std::uint64_t>(length_);
  return bytes;
}

}  // namespace anemone::engine
