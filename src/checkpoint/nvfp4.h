// SPDX-License-Identifier: Apache-2.0
// NVFP4 in safetensors: four-bit floats (E2M1). 16 neighbours of a row share a scale of E4M3, and
// all floats of a matrix share another one of fp32. Two writers store the same bytes under
// different names. A matrix "M" [..., rows, columns] of compressed-tensors and llm-compressor
// ("format": "nvfp4-pack-quantized") has the tensors
//
//   - M.weight_packed, uint8 [..., rows, columns / 2];
//   - M.weight_scale, E4M3 [..., rows, columns / 16];
//   - M.weight_global_scale, one fp32, by which the other scales are divided;
//   - M.input_global_scale, for activations, which is not used.
//
// The same matrix of ModelOpt ("quant_algo": "NVFP4") has
//
//   - M.weight, as M.weight_packed above;
//   - M.weight_scale, as above;
//   - M.weight_scale_2, one fp32, by which the other scales are multiplied;
//   - M.input_scale, for activations, which is not used.
//
// The low bits of a byte hold the first of its two floats. Sources: decompress() of
// compressed_tensors/compressors/nvfp4/base.py and dequantize() of its quantization/lifecycle
// (0.20.0); dequantize() of modelopt/torch/quantization/qtensor/nvfp4_tensor.py and the key names
// of modelopt/torch/export (0.47.0). Modules that were left out ("ignore", "exclude_modules") have
// plain floats, which tell them apart.
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string>

#include "checkpoint/hf_config.h"
#include "checkpoint/weight_source.h"

namespace anemone::checkpoint {

// The file in which ModelOpt says what it quantized; older versions say it nowhere else.
inline constexpr const char* kModelOptConfig = "hf_quant_config.json";

// Gives `config` the quantization_config that `object` stands for, the contents of the folder's
// hf_quant_config.json. kParseError where they are no such file.
Result<HfConfig> with_modelopt_config(const HfConfig& config, const Json& object,
                                      const std::string& subject);

// The tensors of `source`, with each quantized matrix as the floats "M.weight" [..., rows, columns]
// that it stands for, and without its scales. kNotFound or kCorrupt where tensors do not fit,
// kUnsupported for matrices in another form beside them (fp8, zero points, smoothed inputs).
Result<std::shared_ptr<const WeightSource>> read_nvfp4(std::shared_ptr<const WeightSource> source);

}  // namespace anemone::checkpoint
