// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace anemone::serve {

// A message in which every path has its last name alone: "[weight.bin] cannot open" for
// "[/home/a/model/weight.bin] cannot open". Clients need not know the folders of the server.
std::string without_folders(std::string_view message);

}  // namespace anemone::serve
