// SPDX-License-Identifier: Apache-2.0
// The requests about texts that make none: embeddings and labels.
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_release.h"
#include "serve/openai/prompts.h"

namespace anemone::serve::openai {

Result<EmbeddingRequest> parse_embedding_request(std::string_view body, WorkBudget* budget) {
  ANEMONE_ASSIGN_OR_RETURN(Json json, parse_json(body, "body", JsonLimits{.budget = budget}));
  const JsonReleaser releaser(json);
  JsonFields fields(json);
  EmbeddingRequest out;
  out.model = read_model(fields);
  out.inputs = read_prompts(fields, "input", kMaxInputs);
  out.dimensions = fields.integer("dimensions", 1, std::numeric_limits<std::int64_t>::max());
  if (const auto name = fields.string("pooling")) {
    const auto pooling = engine::parse_pooling(*name);
    if (pooling.ok())
      out.pooling = *pooling;
    else
      fields.fail(pooling.status());
  }
  const std::string format = fields.string("encoding_format").value_or("float");
  out.is_base64 = format == "base64";
  if (!out.is_base64 && format != "float")
    fields.fail(invalid_argument("[encoding_format] expected float or base64, got {}",
                                 describe_json(Json(format))));
  ANEMONE_RETURN_IF_ERROR(fields.status());
  return out;
}

Result<ClassifyRequest> parse_classify_request(std::string_view body, WorkBudget* budget) {
  ANEMONE_ASSIGN_OR_RETURN(Json json, parse_json(body, "body", JsonLimits{.budget = budget}));
  const JsonReleaser releaser(json);
  JsonFields fields(json);
  ClassifyRequest out;
  out.model = read_model(fields);
  out.inputs = read_prompts(fields, "input", kMaxInputs);
  ANEMONE_RETURN_IF_ERROR(fields.status());
  return out;
}

}  // namespace anemone::serve::openai
