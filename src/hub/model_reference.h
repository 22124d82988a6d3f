// SPDX-License-Identifier: Apache-2.0
// How a person names a model of the hub: OWNER/NAME, OWNER/NAME:Q4_K_M for one of the files of a
// GGUF repository, or the address of its page or of one of its files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/repository.h"

namespace anemone::hub {

struct ModelReference {
  RepoName repo;
  std::string revision = "main";
  std::string variant{};  // "Q4_K_M", or a file of the repository; empty: the whole model
};

// nullopt for anything else. Addresses are those of huggingface.co and hf.co, and of the endpoint
// that the environment names.
std::optional<ModelReference> parse_model_reference(std::string_view text);

// The variants that the GGUF files of a repository come in, such as "Q4_K_M": what follows the last
// '-' or '.' of their names, which a quantization is. Parts of one model are one. Sorted.
std::vector<std::string> gguf_variants(const std::vector<std::string>& paths);

// The paths that belong to the variant, whatever the case of its letters, sorted; or the file of
// that path with its parts.
std::vector<std::string> files_of_variant(const std::vector<std::string>& paths,
                                          std::string_view variant);

// "model-Q4_0-00001-of-00003.gguf" -> "model-Q4_0": the parts of one model have one name.
std::string gguf_model(std::string path);

}  // namespace anemone::hub
