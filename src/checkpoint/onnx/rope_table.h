// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>

#include "base/json.h"
#include "checkpoint/onnx/onnx_graph.h"

namespace anemone::checkpoint::onnx {

// The keys of config.json ("rope_theta", and "rope_scaling" where one theta does not say it all)
// that give the tables cos and sin [positions, dim / 2] of a graph. kUnsupported for tables that
// are no rotation by a fixed frequency per column.
Result<Json> rope_settings(const Constant& cos, const Constant& sin, const std::string& subject);

}  // namespace anemone::checkpoint::onnx
