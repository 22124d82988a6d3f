// SPDX-License-Identifier: Apache-2.0
#include "artifact/manifest_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "base/error.h"

namespace anemone::artifact {
namespace {

// Bounds far above what any model needs. A manifest that exceeds them is damaged, and below them
// sums and products of fields cannot overflow.
constexpr std::int64_t kMaxId = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxHidden = 1 << 20;
constexpr std::int64_t kMaxLayers = 1 << 16;
constexpr std::int64_t kMaxParts = 1 << 16;

using Names = std::set<std::string_view, std::less<>>;

// Checks that `name` is a plain file name, without folders, in the artifact folder.
Status check_file_name(std::string_view subject, std::string_view field, std::string_view name) {
  if (is_inner_path(name) && name.find('/') == name.npos) return {};
  return corrupt("[{}] expected {} to be a file name in the artifact folder, got \"{}\"", subject,
                 field, name);
}

Status check_ids(const Manifest& manifest, std::string_view subject) {
  // An end-of-sequence id beyond the vocabulary is harmless, since no step can give it; checkpoints
  // made for tests have such ids.
  for (const std::int32_t id : manifest.eos_ids)
    ANEMONE_RETURN_IF_ERROR(check_range(subject, "each of eos_ids", id, 0, kMaxId));
  if (manifest.bos_id.has_value())
    ANEMONE_RETURN_IF_ERROR(check_range(subject, "bos_id", *manifest.bos_id, 0, kMaxId));
  return {};
}

Status check_ropes(const Manifest& manifest, std::string_view subject) {
  Names names;
  for (const Rope& rope : manifest.ropes) {
    ANEMONE_RETURN_IF_ERROR(check_present(subject, "the name of a rope", rope.name));
    if (!names.insert(rope.name).second)
      return corrupt("[{}] expected each rope once, got \"{}\" twice", subject, rope.name);
    if (rope.inv_freq.empty())
      return corrupt("[{}] expected inv_freq of rope \"{}\" to hold numbers, got none", subject,
                     rope.name);
    for (const auto* frequencies : {&rope.inv_freq, &rope.long_inv_freq})
      for (const float frequency : *frequencies)
        if (!std::isfinite(frequency) || frequency < 0)
          return corrupt("[{}] expected inv_freq of rope \"{}\" to be finite and >= 0, got {}",
                         subject, rope.name, frequency);
    ANEMONE_RETURN_IF_ERROR(check_range(subject,
                                        fmt::format("short_length of rope \"{}\"", rope.name),
                                        rope.short_length, 0, kMaxContext));
    if (rope.short_length != 0 && rope.long_inv_freq.size() != rope.inv_freq.size())
      return corrupt("[{}] expected {} long_inv_freq of rope \"{}\", got {}", subject,
                     rope.inv_freq.size(), rope.name, rope.long_inv_freq.size());
    if (!std::isfinite(rope.scale))
      return corrupt("[{}] expected a finite scale of rope \"{}\", got {}", subject, rope.name,
                     rope.scale);
  }
  return {};
}

Status check_functions(const Manifest& manifest, std::string_view subject) {
  if (manifest.functions.empty())
    return corrupt("[{}] expected at least one function, got none", subject);
  Names names;
  std::set<std::pair<std::int64_t, std::int64_t>> sizes;
  for (const Function& function : manifest.functions) {
    ANEMONE_RETURN_IF_ERROR(check_present(subject, "the name of a function", function.name));
    if (!names.insert(function.name).second)
      return corrupt("[{}] expected each function once, got \"{}\" twice", subject, function.name);
    ANEMONE_RETURN_IF_ERROR(check_range(subject,
                                        fmt::format("tokens of function \"{}\"", function.name),
                                        function.tokens, 1, manifest.context));
    const std::int64_t context = manifest.context_of(function);
    ANEMONE_RETURN_IF_ERROR(check_range(subject,
                                        fmt::format("context of function \"{}\"", function.name),
                                        context, function.tokens, manifest.context));
    if (!sizes.insert({function.tokens, context}).second)
      return corrupt(
          "[{}] expected one function per size, got two of {} tokens with a context of {}", subject,
          function.tokens, context);
    if (manifest.head_function(function) == nullptr)
      return corrupt(
          "[{}] expected a function with the whole context that takes as many tokens as \"{}\", "
          "got none",
          subject, function.name);
  }
  return {};
}

// Checks the rules for a model that labels tokens: it has a label per logit, no caches, and each of
// its functions attends to exactly the tokens of the step.
Status check_classifier(const Manifest& manifest, std::string_view subject) {
  if (!manifest.classifies()) return {};
  if (static_cast<std::int64_t>(manifest.labels.size()) != manifest.vocab_size)
    return corrupt("[{}] expected a label for each of {} logits, got {}", subject,
                   manifest.vocab_size, manifest.labels.size());
  for (const Function& function : manifest.functions)
    if (manifest.context_of(function) != function.tokens)
      return corrupt(
          "[{}] expected function \"{}\" of a model with labels to have a context of its {} "
          "tokens, got {}",
          subject, function.name, function.tokens, manifest.context_of(function));
  for (const Shard& shard : manifest.shards)
    if (!shard.caches.empty())
      return corrupt("[{}] expected a model with labels to have no caches, got \"{}\"", subject,
                     shard.caches.front().name);
  if (manifest.is_greedy())
    return corrupt(
        "[{}] expected a model with labels to have heads that give logits, got greedy heads",
        subject);
  return {};
}

// Checks the rules for caches that grow: the axis of their positions is the only open one of a
// function, which takes whatever is there, up to the whole context.
Status check_growing(const Manifest& manifest, std::string_view subject) {
  if (!manifest.form.has_growing_caches() || manifest.classifies()) return {};
  for (const Function& function : manifest.functions)
    if (function.is_flexible || manifest.context_of(function) != manifest.context)
      return corrupt(
          "[{}] expected function \"{}\" to take a fixed number of tokens and the whole context, "
          "as caches grow, got {} tokens and a context of {}",
          subject, function.name, function.is_flexible ? "any number of" : "a fixed number of",
          manifest.context_of(function));
  for (const Shard& shard : manifest.shards)
    for (const Cache& cache : shard.caches)
      if (!cache.is_recurrent && !cache.is_appended)
        return corrupt(
            "[{}] expected cache \"{}\" to be appended to, as caches grow, got one that is not "
            "({})",
            subject, cache.name, shard.package);
  return {};
}

// Checks that a shard begins where the one before it ended; that may be inside a layer.
Status check_layers(const LayerSpan& before, const LayerSpan& layers, std::int64_t limit,
                    std::string_view subject) {
  ANEMONE_RETURN_IF_ERROR(check_range(subject, "part_begin", layers.part_begin, 0, kMaxParts));
  ANEMONE_RETURN_IF_ERROR(check_range(subject, "part_end", layers.part_end, 0, kMaxParts));
  if (layers.part_begin != before.part_end)
    return corrupt("[{}] expected part_begin {}, where the shard before ends, got {}", subject,
                   before.part_end, layers.part_begin);
  const std::int64_t expected = before.part_end == 0 ? before.end : before.end - 1;
  ANEMONE_RETURN_IF_ERROR(
      check_next_range(subject, "layers", expected, layers.begin, layers.end, limit));
  if (layers.end == layers.begin + 1 && layers.part_end != 0 &&
      layers.part_end <= layers.part_begin)
    return corrupt("[{}] expected part_end to be more than part_begin {}, got {}", subject,
                   layers.part_begin, layers.part_end);
  return {};
}

// Checks that all heads are in the package of the last layers and take its hidden state.
Status check_head_inside(const Manifest& manifest, std::string_view subject) {
  const Shard& last = manifest.shards.back();
  for (const Head& head : manifest.heads)
    if (head.package != last.package || head.input != last.output)
      return corrupt(
          "[{}] expected all heads in \"{}\" with its output \"{}\" as input, got one in "
          "\"{}\" with \"{}\"",
          subject, last.package, last.output, head.package, head.input);
  return {};
}

// The outputs that a package has beside those of its heads.
Names other_outputs(const Manifest& manifest) {
  Names names;
  if (!manifest.has_head_inside()) return names;
  const Shard& last = manifest.shards.back();
  names.insert(last.output);
  for (const Cache& cache : last.caches)
    if (!cache.output.empty()) names.insert(cache.output);
  return names;
}

Status check_heads(const Manifest& manifest, std::string_view subject) {
  std::int64_t rows = 0;
  std::vector<std::span<const Head>> packages = manifest.head_packages();
  if (manifest.has_head_inside()) packages.emplace_back(manifest.heads);
  for (const std::span<const Head> heads : packages) {
    const std::string& package = heads.front().package;
    Names outputs = other_outputs(manifest);
    for (const Head& head : heads) {
      ANEMONE_RETURN_IF_ERROR(check_next_range(subject, "vocabulary rows", rows, head.vocab_begin,
                                               head.vocab_end, manifest.vocab_size)
                                  .with(package));
      rows = head.vocab_end;
      ANEMONE_RETURN_IF_ERROR(check_present(subject, "the input of a head", head.input));
      ANEMONE_RETURN_IF_ERROR(check_present(subject, "the output of a head", head.output));
      if (head.argmax.empty() == manifest.is_greedy() || head.argmax == head.output)
        return corrupt(
            "[{}] expected all heads or none to have an argmax output, separate from the output "
            "({})",
            subject, package);
      if (head.input != heads.front().input)
        return corrupt("[{}] expected the heads of \"{}\" to have one input, got \"{}\" and \"{}\"",
                       subject, package, heads.front().input, head.input);
      for (const std::string* output : {&head.output, &head.argmax})
        if (!output->empty() && !outputs.insert(*output).second)
          return corrupt("[{}] expected each output of \"{}\" once, got \"{}\" twice", subject,
                         package, *output);
    }
  }
  if (rows == manifest.vocab_size) return {};
  return corrupt("[{}] expected the heads to cover {} vocabulary rows, got {}", subject,
                 manifest.vocab_size, rows);
}

Status check_packages(const Manifest& manifest, std::string_view subject) {
  Names packages;
  const auto add_package = [&](const std::string& name) -> Status {
    ANEMONE_RETURN_IF_ERROR(check_file_name(subject, "package", name));
    if (packages.insert(name).second) return {};
    return corrupt("[{}] expected each package once, got \"{}\" twice", subject, name);
  };
  LayerSpan covered;
  for (const Shard& shard : manifest.shards) {
    ANEMONE_RETURN_IF_ERROR(add_package(shard.package));
    ANEMONE_RETURN_IF_ERROR(
        check_layers(covered, shard.layers, manifest.layers, subject).with(shard.package));
    covered = shard.layers;
    const bool is_last = covered.end == manifest.layers && covered.part_end == 0;
    ANEMONE_RETURN_IF_ERROR(
        check_range(subject, "carried", shard.carried, 0, is_last ? 0 : kMaxHidden)
            .with(shard.package));
    ANEMONE_RETURN_IF_ERROR(check_shard(manifest, shard, subject));
    if (shard.experts)
      for (const ExpertPack& pack : shard.experts->packs)
        ANEMONE_RETURN_IF_ERROR(add_package(pack.package));
  }
  if (covered.end != manifest.layers || covered.part_end != 0)
    return corrupt("[{}] expected the shards to cover {} layers, got {}", subject, manifest.layers,
                   covered.part_end == 0 ? covered.end : covered.end - 1);
  if (manifest.has_head_inside()) ANEMONE_RETURN_IF_ERROR(check_head_inside(manifest, subject));
  for (const std::span<const Head> heads : manifest.head_packages())
    ANEMONE_RETURN_IF_ERROR(add_package(heads.front().package));
  if (manifest.embed) {
    ANEMONE_RETURN_IF_ERROR(add_package(manifest.embed->package));
    ANEMONE_RETURN_IF_ERROR(check_present(subject, "the input of embed", manifest.embed->input));
    ANEMONE_RETURN_IF_ERROR(check_present(subject, "the output of embed", manifest.embed->output));
  }
  return check_heads(manifest, subject);
}

Status check_file_entries(const Manifest& manifest, std::string_view subject) {
  const std::string* before = nullptr;
  for (const FileEntry& file : manifest.files) {
    if (!is_inner_path(file.path) || file.path == kManifestName)
      return corrupt("[{}] expected files to name paths in the artifact folder, got \"{}\"",
                     subject, file.path);
    if (before != nullptr && *before >= file.path)
      return corrupt("[{}] expected files sorted by path, each once, got \"{}\" after \"{}\"",
                     subject, file.path, *before);
    if (!is_sha256(file.sha256))
      return corrupt("[{}] expected 64 lower-case hex digits as sha256 of \"{}\", got \"{}\"",
                     subject, file.path, file.sha256);
    before = &file.path;
  }
  return {};
}

}  // namespace

Status check_range(std::string_view subject, std::string_view field, std::int64_t value,
                   std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return {};
  return corrupt("[{}] expected {} between {} and {}, got {}", subject, field, low, high, value);
}

Status check_present(std::string_view subject, std::string_view field, std::string_view value) {
  if (!value.empty()) return {};
  return corrupt("[{}] expected a name as {}, got an empty string", subject, field);
}

Status check_next_range(std::string_view subject, std::string_view what, std::int64_t expected,
                        std::int64_t begin, std::int64_t end, std::int64_t limit) {
  if (begin == expected && end > begin && end <= limit) return {};
  return corrupt("[{}] expected a range of {} that starts at {} and ends by {}, got {} to {}",
                 subject, what, expected, limit, begin, end);
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool is_inner_path(std::string_view path) {
  for (const char c : path)
    if (c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    if (end == path.size()) return true;
    begin = end + 1;
  }
}

Status check_manifest(const Manifest& manifest, std::string_view subject) {
  if (manifest.precision != "fp16" && manifest.precision != "fp32")
    return corrupt("[{}] expected precision fp16 or fp32, got \"{}\"", subject, manifest.precision);
  ANEMONE_RETURN_IF_ERROR(check_range(subject, "vocab_size", manifest.vocab_size, 1, kMaxId));
  ANEMONE_RETURN_IF_ERROR(check_range(subject, "hidden_size", manifest.hidden_size, 1, kMaxHidden));
  ANEMONE_RETURN_IF_ERROR(check_range(subject, "layers", manifest.layers, 1, kMaxLayers));
  ANEMONE_RETURN_IF_ERROR(check_range(subject, "context", manifest.context, 1, kMaxContext));
  ANEMONE_RETURN_IF_ERROR(check_range(subject, "max_position", manifest.max_position, 0,
                                      std::numeric_limits<std::int64_t>::max()));
  if (!manifest.generation->is_object())
    return corrupt("[{}] expected generation to be an object, got {}", subject,
                   manifest.generation->type_name());
  ANEMONE_RETURN_IF_ERROR(check_ids(manifest, subject));
  ANEMONE_RETURN_IF_ERROR(check_embeddings(manifest, subject));
  ANEMONE_RETURN_IF_ERROR(check_ropes(manifest, subject));
  ANEMONE_RETURN_IF_ERROR(check_functions(manifest, subject));
  ANEMONE_RETURN_IF_ERROR(check_packages(manifest, subject));
  ANEMONE_RETURN_IF_ERROR(check_experts(manifest, subject));
  ANEMONE_RETURN_IF_ERROR(check_classifier(manifest, subject));
  ANEMONE_RETURN_IF_ERROR(check_growing(manifest, subject));
  if (manifest.verification)
    ANEMONE_RETURN_IF_ERROR(check_verification(*manifest.verification, subject));
  return check_file_entries(manifest, subject);
}

}  // namespace anemone::artifact
