# SPDX-License-Identifier: Apache-2.0
list(APPEND op_sources
  quantization/category.cc
  quantization/dequantize.cc
  quantization/quantize.cc
  quantization/scales.cc
)
