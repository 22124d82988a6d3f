// SPDX-License-Identifier: Apache-2.0
// What `anemone compile` says at its end.
#pragma once

#include <string>

#include "base/json.h"
#include "compiler/compiler.h"

namespace anemone::cli {

Json report_json(const compiler::CompileReport& report, const std::string& output);
std::string report_text(const compiler::CompileReport& report, const std::string& output);
// The text of --report: every matrix, and the time of each stage.
std::string details_text(const compiler::CompileReport& report);

}  // namespace anemone::cli
