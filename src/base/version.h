// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace anemone {

// "0.1.0": project(VERSION) of the top CMakeLists.txt.
std::string_view version();

}  // namespace anemone
