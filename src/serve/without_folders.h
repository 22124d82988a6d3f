// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace anemone::serve {

// Cuts each path in a message down to its last name: "[weight.bin] cannot open" for
// "[/srv/model/weight.bin] cannot open". Clients need not know the folders of the server.
std::string without_folders(std::string_view message);

}  // namespace anemone::serve
