# SPDX-License-Identifier: Apache-2.0
list(APPEND kernel_sources
  reference/quantization/category.cc
  reference/quantization/dequantize.cc
  reference/quantization/quantize.cc
)
