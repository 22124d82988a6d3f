// SPDX-License-Identifier: Apache-2.0
// Requests that generate no text: embeddings, token labels, and the loading of models.
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "serve/openai/prompts.h"

namespace anemone::serve::openai {

Result<EmbeddingRequest> parse_embedding_request(std::string_view body, WorkBudget* budget) {
  return read_body<EmbeddingRequest>(body, budget, [](JsonFields& fields, EmbeddingRequest& out) {
    read_model(fields, out);
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
  });
}

Result<ClassifyRequest> parse_classify_request(std::string_view body, WorkBudget* budget) {
  return read_body<ClassifyRequest>(body, budget, [](JsonFields& fields, ClassifyRequest& out) {
    read_model(fields, out);
    out.inputs = read_prompts(fields, "input", kMaxInputs);
  });
}

Result<ModelRequest> parse_model_request(std::string_view body, WorkBudget* budget) {
  return read_body<ModelRequest>(
      body, budget, [](JsonFields& fields, ModelRequest& out) { read_model(fields, out); });
}

}  // namespace anemone::serve::openai
