// SPDX-License-Identifier: Apache-2.0
// The .npy format of numpy, versions 1 to 3 (numpy.lib.format):
//
//   offset 0   6 bytes     "\x93NUMPY"
//   offset 6   2 bytes     version, major and minor
//   offset 8   2 or 4      length N of the header, little-endian: u16 in version 1, else u32
//   then       N bytes     a Python dictionary: {'descr': '<f4', 'fortran_order': False,
//                          'shape': (2, 3), }
//   then       data        the elements, row-major, or column-major with fortran_order
#pragma once

#include <anemone/status.h>

#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace anemone::values {

// The array of a file, row-major. `subject` starts each error:
//   kCorrupt       no .npy file, or damaged: too short, too long, a header that is none
//   kUnsupported   elements that are no bool, integer or float of 1 to 8 bytes in little-endian
//   order
// Memory is bounded by the size of the file.
Result<Tensor> parse_npy(std::string_view bytes, std::string_view subject);

// The bytes of a file of version 1, row-major. kUnsupported naming `subject` for elements that
// numpy has no type for (bf16, less than a byte, strings).
Result<std::string> npy_bytes(const TensorView& values, std::string_view subject);

}  // namespace anemone::values
