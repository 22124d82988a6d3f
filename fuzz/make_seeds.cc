// SPDX-License-Identifier: Apache-2.0
// Writes the binary seeds of corpus/: fuzz_make_seeds FOLDER. The other seeds are text, written by
// hand.
#include <cstdio>
#include <filesystem>
#include <string>

#include "base/check.h"
#include "base/file.h"
#include "checkpoint/gguf/block_type.h"
#include "checkpoint/safetensors.h"
#include "fuzz/support.h"
#include "fuzz/value_programs.h"
#include "ir/text.h"
#include "mlpackage/package_writer.h"
#include "tests/support/tiny_gguf.h"

namespace {

using namespace anemone;
namespace fs = std::filesystem;

// A package without a weight file: each constant has fewer than ten elements, so that the writer
// puts it into model.mlmodel.
constexpr std::string_view kSmall = R"(program(1.0)
{
    func main<ios18>(tensor<fp16, [1, 4]> x, state<tensor<fp16, [1, 4]>> cache) {
        tensor<fp16, [4]> bias = const()[name = string("bias"), val = tensor<fp16, [4]>([0, 1, 2, 3])];
        string mode = const()[name = string("mode"), val = string("EXACT")];
        tensor<fp16, [1, 4]> old = read_state(input = cache)[name = string("old")];
        tensor<fp16, [1, 4]> sum = add(x = x, y = old)[name = string("sum")];
        write_state(data = sum, input = cache)[name = string("keep")];
        tensor<fp16, [1, 4]> g = gelu(mode = mode, x = sum)[name = string("g")];
        tensor<fp16, [1, 4]> y = add(x = g, y = bias)[name = string("y")];
    } -> (y);
})";

// The constants w, d and q have ten elements or more, so that the writer puts them into weight.bin:
// one blob each of fp16, int8 and packed int4. No operation uses d and q. b is too small for a
// blob.
constexpr std::string_view kWeights = R"(program(1.0)
{
    func main<ios18>(tensor<fp16, [1, 4]> x) {
        tensor<fp16, [4, 4]> w = const()[name = string("w"), val = tensor<fp16, [4, 4]>([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])];
        tensor<int8, [4, 4]> d = const()[name = string("d"), val = tensor<int8, [4, 4]>([[1, 2, 3, 4], [5, 6, 7, 8], [-1, -2, -3, -4], [0, 0, 0, 0]])];
        tensor<int4, [3, 5]> q = const()[name = string("q"), val = tensor<int4, [3, 5]>([[1, 2, 3, 4, 5], [5, 6, 7, -8, 0], [-1, -2, -3, -4, -5]])];
        tensor<fp16, [4]> b = const()[name = string("b"), val = tensor<fp16, [4]>([0, 0, 0, 0])];
        tensor<fp16, [1, 4]> y = linear(bias = b, weight = w, x = x)[name = string("y")];
    } -> (y);
})";

constexpr std::string_view kConfig = R"({"model_type": "llama", "vocab_size": 64,
  "hidden_size": 16, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
  "intermediate_size": 24, "max_position_embeddings": 128, "rope_theta": 10000.0,
  "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
  "high_freq_factor": 4.0, "original_max_position_embeddings": 32}, "eos_token_id": [1, 2]})";

void write(const fs::path& path, std::string_view content) {
  ANEMONE_CHECK(make_directories(path.parent_path().string()).ok());
  ANEMONE_CHECK(write_file(path.string(), content).ok());
  std::printf("%s: %zu bytes\n", path.c_str(), content.size());
}

// Writes a package and gives the path of its data, with a slash at the end.
std::string write_package(const std::string& path, ir::Program program) {
  mlpackage::Model model;
  model.program = std::move(program);
  for (const auto& function : model.program.functions()) {
    auto interface = mlpackage::describe_function(*function);
    ANEMONE_CHECK(interface.ok());
    model.functions.push_back(std::move(*interface));
  }
  ANEMONE_CHECK(mlpackage::write_package(model, path).ok());
  return path + "/Data/com.apple.CoreML/";
}

std::string write_package(const std::string& path, std::string_view mil) {
  auto program = ir::parse(mil, "seed");
  ANEMONE_CHECK(program.ok());
  return write_package(path, std::move(*program));
}

std::string must_read(const std::string& path) {
  auto content = read_file(path);
  ANEMONE_CHECK(content.ok());
  return std::move(*content);
}

// One input of several parts, as fuzz::split_parts() reads it.
std::string joined(const std::vector<std::pair<std::string, std::string>>& parts) {
  std::string out;
  for (const auto& [name, content] : parts)
    out += (out.empty() ? "" : "\n") + ("=== " + name + "\n") + content;
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  ANEMONE_CHECK(argc == 2);
  const fs::path out = argv[1];
  const fuzz::ScratchFolder scratch({});

  const std::string small = write_package(scratch.path() + "/small.mlpackage", kSmall);
  write(out / "mlmodel" / "small.mlmodel", must_read(small + "model.mlmodel"));
  const std::string package = scratch.path() + "/weights.mlpackage";
  const std::string data = write_package(package, kWeights);
  const std::string blob = must_read(data + "weights/weight.bin");
  write(out / "weight_blob" / "three.bin", blob);
  write(out / "package" / "weights.parts",
        joined({{"Manifest.json", must_read(package + "/Manifest.json")},
                {"Data/com.apple.CoreML/weights/weight.bin", blob},
                {"Data/com.apple.CoreML/model.mlmodel", must_read(data + "model.mlmodel")}}));
  for (auto& [name, program] : fuzz::value_programs()) {
    const std::string path = scratch.path() + "/" + name + ".mlpackage";
    const std::string at = write_package(path, std::move(program));
    // "values" are the elements of the inputs, as package.cc reads them: 1, 0, 2, 3, 0 and two
    // hostile ones.
    write(out / "package" / (name + ".parts"),
          joined({{"values", "\x09\x08\x0a\x0b\x20\xc0\xff"},
                  {"Manifest.json", must_read(path + "/Manifest.json")},
                  {"Data/com.apple.CoreML/model.mlmodel", must_read(at + "model.mlmodel")}}));
  }

  const std::string file = scratch.path() + "/x.safetensors";
  const Tensor half(DType::kFp16, {2, 3});
  const Tensor whole(DType::kInt64, {2});
  const Tensor none(DType::kFp32, {0, 4});
  const std::vector<NamedView> tensors = {
      {"half", half.view()}, {"whole", whole.view()}, {"none", none.view()}};
  ANEMONE_CHECK(checkpoint::write_safetensors(file, tensors, {{"format", "pt"}}).ok());
  write(out / "safetensors" / "three.safetensors", must_read(file));
  write(out / "gguf" / "tiny.gguf", anemone::testing::tiny_gguf());
  // A tokenizer, and a tensor of two rows of every block type.
  anemone::testing::GgufBuilder types;
  types.text("tokenizer.ggml.model", "llama")
      .texts("tokenizer.ggml.tokens", {"<unk>", "\u2581", "a", "\u2581a", "<0x41>"})
      .i32s("tokenizer.ggml.token_type", {2, 1, 1, 1, 6})
      .f32s("tokenizer.ggml.scores", {0, -1, -2, -3, 0});
  for (std::uint32_t id = 0; id < 64; ++id)
    for (const auto* type : checkpoint::gguf::find_block_types(id))
      types.tensor(type->name, {2, type->values}, id,
                   std::string(std::size_t{2} * type->bytes, '\x31'));
  write(out / "gguf" / "types.gguf", types.bytes());
  const std::string index =
      R"({"metadata": {"total_size": 28}, "weight_map": {"half": "a.safetensors",
  "whole": "a.safetensors"}})";
  write(out / "checkpoint" / "sharded.parts",
        joined({{"config.json", std::string(kConfig)},
                {"generation_config.json", R"({"eos_token_id": [1, 2], "temperature": 0.7})"},
                {"model.safetensors.index.json", index},
                {"a.safetensors", must_read(file)}}));
  const Tensor blocks(DType::kUInt8, {2, 1, 16});
  const Tensor scales(DType::kUInt8, {2, 1});
  const std::vector<NamedView> mxfp4 = {{"w_blocks", blocks.view()}, {"w_scales", scales.view()}};
  ANEMONE_CHECK(checkpoint::write_safetensors(file, mxfp4).ok());
  write(out / "checkpoint" / "mxfp4.parts",
        joined({{"config.json",
                 R"({"model_type": "gpt_oss", "quantization_config": {"quant_method": "mxfp4"}})"},
                {"model.safetensors", must_read(file)}}));
  // Put together by hand, because no DType is F8_E4M3: the length of the header in 8 bytes (it is
  // below 256), the header and the data.
  const std::string header =
      R"({"w":{"dtype":"F8_E4M3","shape":[2,4],"data_offsets":[0,8]},)"
      R"("w_scale_inv":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]}})";
  write(out / "checkpoint" / "fp8.parts",
        joined({{"config.json",
                 R"({"model_type": "qwen3", "quantization_config": {"quant_method": "fp8", )"
                 R"("weight_block_size": [2, 3]}})"},
                {"model.safetensors", std::string(1, static_cast<char>(header.size())) +
                                          std::string(7, '\0') + header + std::string(16, '\1')}}));
  const auto nvfp4 = [&](const std::string& packed_name, const std::string& global_name,
                         const std::string& name, const std::string& config) {
    const std::string text =
        R"({"m.)" + packed_name + R"(":{"dtype":"U8","shape":[2,8],"data_offsets":[0,16]},)" +
        R"("m.weight_scale":{"dtype":"F8_E4M3","shape":[2,1],"data_offsets":[16,18]},)" + R"("m.)" +
        global_name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[18,22]}})";
    std::string bytes(8, '\0');
    bytes[0] = static_cast<char>(text.size());
    bytes += text + std::string(22, '\x31');
    write(out / "checkpoint" / name, joined({{"config.json", R"({"model_type": "llama")" + config},
                                             {"model.safetensors", bytes}}));
  };
  nvfp4("weight_packed", "weight_global_scale", "nvfp4.parts",
        R"(, "quantization_config": {"quant_method": "compressed-tensors", )"
        R"("format": "nvfp4-pack-quantized"}})");
  nvfp4("weight", "weight_scale_2", "modelopt.parts",
        R"(})"
        "\n=== hf_quant_config.json\n"
        R"({"quantization": {"quant_algo": "NVFP4"}})");
  return 0;
}
