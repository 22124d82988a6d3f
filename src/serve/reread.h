// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

namespace anemone::serve {

// What a server has read from files, which may change while it runs: gives the value that holds
// from now on, or nullopt where it is as before. Called often, on the thread that moves all bytes,
// so it is quick unless something has changed, and waits for nobody.
template <typename T>
using Reread = std::function<std::optional<T>()>;

}  // namespace anemone::serve
