// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace anemone {

// A path that starts the executable of this process again; empty if the system names none.
std::string executable_path();

}  // namespace anemone
