// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/executors.h"
#include "artifact/manifest.h"
#include "base/json.h"
#include "cli/table.h"

namespace anemone::cli {

struct InspectOptions {
  std::string path;
  bool is_strict = false;
  bool as_json = false;
  bool as_mil = false;
  bool is_explain = false;
  api::ExecutorOptions executor = {};  // whose plan is explained
};

// What a file holds, in the form that was asked for.
struct Report {
  std::string text;
  Json json;
};

// The folder that compile writes; every file is hashed.
Result<Report> inspect_artifact(const InspectOptions& options);
Result<Report> inspect_package(const InspectOptions& options);
// What the executor makes of a package: its steps, what they read and compute.
Result<Report> inspect_plan(const InspectOptions& options);
// A checkpoint folder of any kind: what it is as a model, then its tensors where they are
// safetensors.
Result<Report> inspect_checkpoint(const InspectOptions& options);
// What a checkpoint is as a model: architecture, parameters, form of the weights, context, chat
// template, licence, and what it compiles to. The errors of open_for_planning().
Result<Report> summarize_model(const std::string& path);
// Puts a summary, or why there is none, below the first line of a report.
void add_summary(Report& report, const Result<Report>& summary);
// One .safetensors file, or a checkpoint folder.
Result<Report> inspect_tensors(const InspectOptions& options);
// One GGUF model, of one file or several.
Result<Report> inspect_gguf(const InspectOptions& options);
Result<Report> inspect_tokenizer(const InspectOptions& options);

// Whether a folder is a package and not an artifact, by its name or by what is in it.
bool is_package_folder(const std::string& path);

// "decode (T=1), prefill (T=64), decode_256 (T=1, S=256)".
std::string functions_text(const artifact::Manifest& manifest);

}  // namespace anemone::cli
