// SPDX-License-Identifier: Apache-2.0
// Facts about the numbers that the chip computes, and about how weights are stored for it. No check
// looks for them in a package. docs/guide/form.md says who the sources are.
#include "ane/law_tables.h"

namespace anemone::ane {
namespace {

using enum Evidence::Kind;

constexpr Law kNumericLaws[] = {
    // The range and rounding of fp16.
    {.id = "fp16-overflow",
     .severity = Severity::kFact,
     .statement =
         "activations of a whole model may leave the range of fp16, 65,504, and become NaN",
     .evidence = {{kMeasured, "ane-book",
                   "Qwen2.5-1.5B in fp16 (width 1,536, heads of 128): zeros in the first run, NaN "
                   "from the third; activations overflow, weights do not (M4 Max)"},
                  {kStated, "ANEMLL", "looks for overflow before it converts"}},
     .remedy = "compare the whole model with fp32 (anemone verify), and scale what is large"},
    {.id = "norm-scale",
     .severity = Severity::kFact,
     .statement = "squares inside a norm overflow fp16 unless its input is scaled down first, and "
                  "epsilon by the square of that",
     .evidence = {{kMeasured, "ane-book", "x times 1/sqrt(d), epsilon/d"},
                  {kMeasured, "Aion", "x/16, epsilon/256"},
                  {kMeasured, "coremltools#2821",
                   "coremltools' own norm is worse than one scaled by the largest element"},
                  {kDerived, "emilio",
                   "x/128 with the epsilon as it was, in effect an epsilon 16,384 times as large",
                   kAgainst},
                  {kStated, "the reports",
                   "layer_norm of x and -x together, or an l2 norm, do without", kAgainst}},
     .remedy = "scale by the largest element, as the graphs of compile do"},
    {.id = "mask-value",
     .severity = Severity::kFact,
     .statement = "-10,000 and -65,504 both hide a position in fp16",
     .evidence = {{kMeasured, "ane-book", "-10,000 for Phi-4-mini and ZAYA1, -65,504 for Hy-MT"},
                  {kMeasured, "Aion", "-65,504"},
                  {kMeasured, "Orion", "-10,000"}},
     .remedy = "-10,000, which cannot overflow when a score is added"},
    {.id = "training-range",
     .severity = Severity::kFact,
     .statement = "training in fp16 on the chip needs clamps at 65,504 and a scaled loss",
     .evidence = {{kMeasured, "Orion", "clamps before softmax and layer norm"},
                  {kMeasured, "maderix/ANE", "a loss times 256 times the number of layers"}},
     .remedy = "nothing for inference"},
    {.id = "calibration-precision",
     .severity = Severity::kFact,
     .statement = "calibration of a quantizer in fp16 overflows",
     .evidence = {{kMeasured, "ane-book", "models with heads of 128"}},
     .remedy = "run it in fp32"},
    {.id = "floor-1637",
     .severity = Severity::kFact,
     .statement = "contexts below 1,637 are said to give NaN in the third run of a model of width "
                  "1,536 with 2 heads of 128 for keys",
     .evidence = {{kMeasured, "ane-book", "NaN with short caches, where states were on the CPU"},
                  {kMeasured, "ane-book", "Hy-MT is right at 512, 768, 1,024 and 1,280", kAgainst}},
     .remedy = "any context; run three steps and look for NaN"},
    {.id = "state-reset",
     .severity = Severity::kFact,
     .statement =
         "what a trace in PyTorch leaves in the buffers of a state makes the comparison of "
         "the model with its converted package fail with NaN",
     .evidence = {{kMeasured, "ane-book", "buffers have to be set to zero after a trace"},
                  {kStated, "Apple's headers", "a new state is zero"}},
     .remedy = "begin every comparison with zero states"},
    {.id = "token-order",
     .severity = Severity::kFact,
     .statement =
         "heads are merged as head, dimension, token; another order is right for one token alone",
     .evidence = {{kMeasured, "ane-book", "a fault that no test with one token showed"}},
     .remedy = "test each graph with several tokens"},
    {.id = "width-rounding",
     .severity = Severity::kFact,
     .statement =
         "a run of four tokens rounds otherwise than four runs of one, so that the text may differ",
     .evidence = {{kMeasured, "ane-book",
                   "cosines of 0.9999, 0.989, 0.999 and 0.994 for the four tokens of one layer of "
                   "Phi-4-mini; its text with drafts is not the same (M4 Max)"},
                  {kMeasured, "ane-book", "a head of four tokens: 0.99993 (M4 Max)", kAgainst}},
     .remedy = "promise equal text only for runs of equal width"},
    {.id = "test-tokens",
     .severity = Severity::kFact,
     .statement =
         "the first token of a text, and tokens with small embeddings, are no measure of quality",
     .evidence = {{kMeasured, "ane-book",
                   "ids 2, 42, 100 and 300 of ZAYA1 give low cosines in a model that is right"}},
     .remedy = "compare with common words in the middle of a text"},
    {.id = "cache-bytes",
     .severity = Severity::kFact,
     .statement = "a cache of 4,096 rows of Phi-4-mini has 512 MiB, not 4 GB",
     .evidence = {{kStated, "ane-book",
                   "about 4 GB for 32 layers of 2 times 8 heads of 128 in fp16", kAgainst},
                  {kDerived, "the reports", "32 * 2 * 8 * 4,096 * 128 * 2 bytes"}},
     .remedy = "layers * 2 * heads * rows * size of a head * 2 bytes"},

    // How weights are stored.
    {.id = "int8-accuracy",
     .severity = Severity::kFact,
     .statement =
         "one scale per matrix in int8 is enough for dense layers and not for the experts of a "
         "layer in one tensor",
     .evidence = {{kMeasured, "ane-book",
                   "Phi-4-mini: cosine 0.9998 to 0.99996 of a layer, 0.9985 of twenty"},
                  {kMeasured, "ane-book",
                   "tensors of 31.7 million weights, experts of Gemma 4: 0.9555 per layer, 0.5654 "
                   "after thirty"},
                  {kMeasured, "ane-book",
                   "a scale per channel: 0.9999 of experts of the privacy filter"},
                  {kMeasured, "ane-book",
                   "a scale per channel in the attention of Gemma 4 lowers the cosine by 0.03 per "
                   "layer of global attention, to 0.55 at layer 25",
                   kAgainst}},
     .remedy = "a scale per channel or palettes for experts, fp16 where attention suffers"},
    {.id = "int4-accuracy",
     .severity = Severity::kFact,
     .statement = "four bits per weight cost quality: how much depends on the model, and on how "
                  "many weights share a scale or a palette",
     .evidence = {{kMeasured, "ane-book",
                   "a 1.5B in int4 with scales per block is incoherent after 15 tokens, and GPTQ "
                   "does not help"},
                  {kMeasured, "ane-book", "experts of the privacy filter: cosine 0.26"},
                  {kMeasured, "executorch#9395", "poor text of Llama 3.2 3B"},
                  {kStated, "coreai-models",
                   "perplexity of Qwen3: 0.6B 26.2 to 30.9, 4B 16.4 to 18.3, 8B 12.2 to 12.9"},
                  {kMeasured, "ane-book",
                   "palettes for groups of 32 channels: 0.9994 to 0.9996 of a layer of ZAYA1",
                   kAgainst},
                  {kMeasured, "ane-book",
                   "palettes for groups of 32 channels: 0.985 of a layer of Gemma 4", kAgainst}},
     .remedy =
         "compare with the checkpoint (anemone verify); six or eight bits where it is too little"},
    {.id = "int8-placement",
     .severity = Severity::kFact,
     .statement = "convolutions with weights in int8 were seen on the chip, all or some of them",
     .evidence = {{kMeasured, "ane-book",
                   "all of them: 97 of 97 of a 0.5B, 8 of 8 of a 3B, 1 to 20 layers of Phi-4-mini "
                   "(M4 Max)"},
                  {kMeasured, "onnxsim#1403", "36 to 43 % of a 1.5B"},
                  {kMeasured, "stablehlo-coreml#110",
                   "none, at any depth: the CPU alone supports them (one Mac)", kAgainst}},
     .remedy = "measure it on the chip in question, and use palettes where int8 leaves"},
    {.id = "palette-placement",
     .severity = Severity::kFact,
     .statement = "convolutions with palettes of four bits for groups of channels stay on the chip "
                  "and are right",
     .evidence = {{kMeasured, "ane-book",
                   "36 of 36 of a layer of ZAYA1 with groups of 32 (M4 Max)"},
                  {kMeasured, "ane-book", "all 34 operations of a package of Gemma 4 (M4 Max)"},
                  {kMeasured, "coreai-models#279",
                   "cosine 0.9975 where scales per block have 0.367 (iPhone)"},
                  {kStated, "coreai-models", "Apple's presets for iOS have them"},
                  {kStated, "ANEMLL", "ships four bits for layers and six for heads"},
                  {kMeasured, "coremltools#2716",
                   "one palette for each matrix of a 0.6B: cosine 0.63 (M4)", kAgainst}},
     .remedy = "compile --quant lut4, lut6 or lut8"},
    {.id = "palette-groups",
     .severity = Severity::kFact,
     .statement = "a palette serves 8 to 32 output channels",
     .evidence = {{kStated, "Apple", "8 to 16 channels"},
                  {kStated, "coreai-models", "its presets have 8 and 32"},
                  {kStated, "0seba", "much slower below 4 channels"},
                  {kMeasured, "ane-book", "32 channels on the chip (M4 Max)"}},
     .remedy = "groups of 8 or more"},
    {.id = "palette-faults",
     .severity = Severity::kFact,
     .statement = "palettes of four bits that coremltools wrote were seen to compute wrong "
                  "numbers, and to crash after 100 to 200 runs of a package with states",
     .evidence =
         {{kMeasured, "coremltools#2716",
           "a crash of what coremltools 9.0 wrote, none in 250 runs of what 8.3 wrote (M5 Max)"},
          {kMeasured, "coremltools#2716",
           "cosine 0.03 on the CPU and 0.63 on the chip of a 0.6B without states, where fp16 has "
           "0.9999 and int8 0.9992 (M4)"},
          {kMeasured, "coremltools#2688",
           "coremltools 9.0 may write scales of a palette, which fail to load, unasked (M4)"}},
     .remedy = "run such a package 300 times before it ships, and compare with another engine than "
               "Core ML's own on the CPU",
     .systems = "macOS 26"},
    {.id = "compressed-stream",
     .severity = Severity::kFact,
     .statement =
         "palettes are read compressed, so that time follows their bytes; int8 gains little",
     .evidence = {{kMeasured, "anemll-bench#5", "six bits 2.6 times as fast as fp16 (M4)"},
                  {kMeasured, "smpanaro joint-compression-test",
                   "four bits 3.3 times as fast (M1 Max)"},
                  {kMeasured, "larql", "int8 1.15 times as fast"},
                  {kMeasured, "ANEForge#45", "int8 about 1.05 times as fast"},
                  {kMeasured, "ane-book",
                   "four bits are 4 % faster than int8 for half the bytes of ZAYA1 (M4 Max)",
                   kAgainst}},
     .remedy = "palettes, which save time and space; int8 saves space alone"},
    {.id = "int4-channel",
     .severity = Severity::kFact,
     .statement = "four bits with a scale per channel were seen on the CPU",
     .evidence = {{kMeasured, "ane-book", "in a program of one convolution (M4 Max)"},
                  {kMeasured, "stablehlo-coreml#110", "at any depth (one Mac)"},
                  {kStated, "ExecuTorch", "channel-wise four bits are what the chip accepts",
                   kAgainst}},
     .remedy = "palettes of four bits, which no report saw leave the chip"},
    {.id = "int8-activations",
     .severity = Severity::kFact,
     .statement = "activations and weights in int8 multiply 1.9 times as fast as fp16",
     .evidence = {{kMeasured, "maderix/ANE",
                   "35.1 instead of 18.6 * 10^12 operations per second, 128 convolutions of 512 "
                   "channels on 64 by 64; nobody compared the outputs (M4)"},
                  {kStated, "dev-erik/ANE",
                   "int8 becomes fp16 before it is multiplied: it saves bytes alone", kAgainst},
                  {kStated, "Orion", "the same", kAgainst}},
     .remedy = "nothing for decoding, which waits for bytes; unproven for prefill"},
};

}  // namespace

std::span<const Law> numeric_laws() {
  return kNumericLaws;
}

}  // namespace anemone::ane
