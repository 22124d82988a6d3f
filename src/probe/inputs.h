// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <map>
#include <string>

#include "artifact/manifest.h"
#include "exec/executor.h"
#include "tensor/tensor.h"

namespace anemone::probe {

// What the masks among the inputs of a package are, by name.
using Roles = std::map<std::string, artifact::PortRole>;

// A value for an input: masks as of a step after three tokens, and everything else from the seed.
// A dimension with a range is as long as it may be.
Result<Tensor> make_input(const exec::Feature& feature, const Roles& roles, std::uint64_t seed);

}  // namespace anemone::probe
