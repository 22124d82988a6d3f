// SPDX-License-Identifier: Apache-2.0
// NVFP4 in safetensors: four-bit floats (E2M1), of which 16 neighbours of a row share an E4M3
// scale, and all of a matrix another one of fp32. Two writers store them with the same bytes and
// different names:
//
//   compressed-tensors, llm-compressor     ModelOpt (NVIDIA)              shape, type
//   "format": "nvfp4-pack-quantized"       "quant_algo": "NVFP4"
//   M.weight_packed                        M.weight                       [..., rows, columns / 2]
//   uint8 M.weight_scale                         M.weight_scale                 [..., rows, columns
//   / 16] E4M3 M.weight_global_scale  (divides)       M.weight_scale_2 (multiplies)  one fp32
//   M.input_global_scale                   M.input_scale                  of activations, not used
//
// Of the two floats of a byte the first is in the low bits. Sources: decompress() of
// compressed_tensors/compressors/nvfp4/base.py and dequantize() of its quantization/lifecycle
// (0.20.0); dequantize() of modelopt/torch/quantization/qtensor/nvfp4_tensor.py and the key names
// of modelopt/torch/export (0.47.0). Modules that were left out ("ignore", "exclude_modules") have
// plain floats and are told by that.
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string>

#include "checkpoint/hf_config.h"
#include "checkpoint/weight_source.h"

namespace anemone::checkpoint {

// ModelOpt says what it did in this file; older versions say it nowhere else.
inline constexpr const char* kModelOptConfig = "hf_quant_config.json";

// `config` with the quantization_config that hf_quant_config.json of the folder, an `object`,
// stands for. kParseError where it is none.
Result<HfConfig> with_modelopt_config(const HfConfig& config, const Json& object,
                                      const std::string& subject);

// The tensors of `source`, with each quantized matrix as the floats "M.weight" [..., rows, columns]
// that it stands for, and without its scales. kNotFound or kCorrupt where tensors do not fit,
// kUnsupported for matrices in another form beside them (fp8, zero points, smoothed inputs).
Result<std::shared_ptr<const WeightSource>> read_nvfp4(std::shared_ptr<const WeightSource> source);

}  // namespace anemone::checkpoint
