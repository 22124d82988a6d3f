// SPDX-License-Identifier: Apache-2.0
// The one call of the macOS header that coreml_runtime.mm uses, for tools/ci/objcxx; fake_coreml.mm
// has its body.
#pragma once

#include <cstddef>

extern "C" int sysctlbyname(const char* name, void* old, std::size_t* old_size, const void* with,
                            std::size_t with_size);
