// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace anemone::engine {

// What a text has to be, for whoever wants to read it by program (OpenAI's response_format and what
// other servers have beside it). docs/structured-generation.md says what each kind supports.
struct ResponseFormat {
  enum class Kind {
    kJsonObject,  // any JSON object
    kJsonSchema,  // a JSON text that is valid against `source`; its objects have no properties that
                  // the schema does not name, unless it asks for them (additionalProperties)
    kRegex,       // a text that the pattern `source` matches from beginning to end
    kGrammar,     // a text of the grammar `source`, as llama.cpp writes them (GBNF)
    kChoice,      // one of `choices`
    kStages,      // the stages of the manifest `source` (stage_manifest.h), one after the other
  };
  Kind kind = Kind::kJsonObject;
  std::string source = {};
  std::vector<std::string> choices = {};
  // What errors call a schema or a manifest: the field or flag that it came with. Empty: "schema"
  // or "stages". The text does not depend on it.
  std::string subject = {};
};

}  // namespace anemone::engine
