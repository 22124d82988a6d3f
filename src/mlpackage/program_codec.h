// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>
#include <vector>

#include "ir/program.h"
#include "mlpackage/blob_cache.h"
#include "mlpackage/value_codec.h"

namespace anemone::mlpackage {

namespace wire {
class Program;
}

// The program of a model file. Functions are created in the order of `function_names`; each must be
// there, and no other. What an operation may look like is not judged here (ir/verifier.h does):
// operands that nothing defines become values without a producer.
Result<ir::Program> decode_program(const wire::Program& program,
                                   const std::vector<std::string>& function_names,
                                   BlobCache& blobs);

Status encode_program(const ir::Program& program, const BlobOffset& blob_offset,
                      wire::Program& out);

}  // namespace anemone::mlpackage
