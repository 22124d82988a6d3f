// SPDX-License-Identifier: Apache-2.0
// What `anemone compile` says at its end.
#pragma once

#include <string>

#include "base/json.h"
#include "compiler/compiler.h"

namespace anemone::cli {

// `output` is the path of the artifact.
Json report_json(const compiler::CompileReport& report, const std::string& output);
// `is_detailed`: a dry run shows each field of the form with its reason, not the form's name alone.
std::string report_text(const compiler::CompileReport& report, const std::string& output,
                        bool is_detailed);
// The text of --report: how each matrix is stored, its size and its error, and the time of each
// stage.
std::string details_text(const compiler::CompileReport& report);

}  // namespace anemone::cli
