// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace anemone::probe {

// probe.swift: runs the packages of probe.json on a Mac and writes results.json, as
// docs/probe-results.md says.
extern const std::string_view kMacScript;

}  // namespace anemone::probe
