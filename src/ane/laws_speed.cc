// SPDX-License-Identifier: Apache-2.0
// Facts about speed and energy, whatever a package holds: no package breaks these laws.
#include "ane/law_tables.h"

namespace anemone::ane {
namespace {

using enum Evidence::Kind;

constexpr Law kSpeedLaws[] = {
    {.id = "memory-rate",
     .severity = Severity::kFact,
     .statement = "a chip streams 61 to 126 GB/s of weights, which bounds what a run takes",
     .evidence = {{kMeasured, "anemll-bench",
                   "M1 61, M4 64, M5 70, M3 Max 120, M4 Pro 126, M4 Max 119 GB/s"},
                  {kDerived, "ane-book",
                   "60 to 75 GB/s while four dense models and ZAYA1 decode, 37 with palettes of "
                   "four bits (M4 Max)"},
                  {kMeasured, "emilio",
                   "21 to 110 GB/s: 16.8 MB at 67, 67 MB at 21, 268 MB at 25, 127 MB of an MLP at "
                   "110 (M4 Max)",
                   kAgainst}},
     .remedy = "fewer bytes a token: smaller weights, several tokens a run, chosen experts alone"},
    {.id = "decode-bound",
     .severity = Severity::kFact,
     .statement = "the rate of an M4 allows 130 tok/s for Qwen2.5-0.5B in int8 (494 MB) and 32 for "
                  "Qwen3-4B in int4 (2.0 GB)",
     .evidence = {{kDerived, "anemll-bench",
                   "95 to 110 for the first with a cache of 2,048 rows; for the second 28 where "
                   "rows are appended, at most 22 where the cache is blended"},
                  {kMeasured, "ane-book", "160 tok/s of the first, at about 75 GB/s (M4 Max)"},
                  {kStated, "CoreML-LLM", "24 to 48 tok/s of 0.8B to 2B (iPhone 17 Pro)"},
                  {kMeasured, "ane-book",
                   "17.2 tok/s of Phi-4-mini and 37.2 of Hy-MT 1.8B in int8 (M4 Max)"}},
     .remedy = "anemone check estimates it; a number above it has left something out"},
    {.id = "on-chip-memory",
     .severity = Severity::kFact,
     .statement =
         "24 to 32 MB of weights fit into the chip's own memory, and what is larger runs slower",
     .evidence = {{kMeasured, "dev-erik/ANE",
                   "282.6 GFLOPS per MB at 12.5 MB, 59.2 at 32 MB, 8.0 at 128 MB (M4 Max)"},
                  {kMeasured, "Orion", "about 30 % less beyond 32 MB (M4 Max)"}},
     .remedy = "nothing for a language model, whose weights are read once a run"},
    {.id = "dispatch-cost",
     .severity = Severity::kFact,
     .statement = "a run costs about 0.1 ms whatever it computes",
     .evidence = {{kMeasured, "Orion", "0.095 ms of messages and driver calls (M4 Max)"},
                  {kMeasured, "dev-erik/ANE", "0.2 ms for a kernel of 768 by 256 (M4 Max)"},
                  {kMeasured, "dev-erik/ANE",
                   "0.035 ms for a run of 256 channels through Core ML (M4 Max)", kAgainst},
                  {kMeasured, "Orion", "0.03 ms in another measurement (M4 Max)", kAgainst}},
     .remedy = "few packages, and nothing between them on the CPU"},
    {.id = "package-count",
     .severity = Severity::kFact,
     .statement = "fewer and larger packages decode faster",
     .evidence = {{kMeasured, "ane-book",
                   "Phi-4-mini: 32 packages 8.1 tok/s, 11 packages 14.4, 8 packages 15.4, 5 "
                   "packages 16.7, 4 packages 17.2 (M4 Max)"}},
     .remedy = "as few packages as stay on the chip; from eight down it counts little"},
    {.id = "energy",
     .severity = Severity::kFact,
     .statement = "the chip takes between 0.2 and 8 W",
     .evidence = {{kMeasured, "emilio", "0.22 W; 812 mJ a sentence, 15,385 on the CPU (M4 Max)"},
                  {kMeasured, "dev-erik/ANE", "2 to 4 W in training"},
                  {kStated, "coreml-llm-cli",
                   "Llama 2 7B: 7.0 tok/s at 4.2 W (M1 Max), 13.9 at 8 W (M3 Max)"}},
     .remedy =
         "measure with powermetrics --samplers ane_power; a power of 0 is a proof of its own"},
    {.id = "tokens-per-run",
     .severity = Severity::kFact,
     .statement = "a run of several tokens takes little longer than a run of one",
     .evidence = {{kMeasured, "ane-book",
                   "Phi-4-mini: 70 tok/s with 4 tokens a run, 17 with one; a head 0.69 and 1.61 ms "
                   "a token (M4 Max)"},
                  {kMeasured, "emilio", "64 rows and 128 tokens of fixed width (M4 Max)"},
                  {kStated, "ANEMLL", "64 tokens"}},
     .remedy = "prefill in runs of 64 tokens"},
    {.id = "context-cost",
     .severity = Severity::kFact,
     .statement =
         "a step costs the more, the longer the context that was compiled, whatever part is in use",
     .evidence = {{kMeasured, "Aion",
                   "15 tok/s at 2,048, 21 at 512, 22.4 at 256, 22.8 at 128 (M4 Max)"},
                  {kMeasured, "CoreML-LLM Bonsai",
                   "24.1 tok/s at 1,024, 9.4 at 2,048, 4.9 at 4,096, of a 1.7B in int4 whose cache "
                   "is blended and repeated"},
                  {kStated, "ANEMLL", "512 to 2,048 recommended; 4,096 from version 0.3.5 on"}},
     .remedy = "contexts as tiers (compile --context), and no more than is needed"},
    {.id = "blend-cost",
     .severity = Severity::kFact,
     .statement =
         "writing a row by a product with a one-hot matrix rewrites the whole cache at every step",
     .evidence = {{kMeasured, "mobius#78", "a step is about 40 % faster without it (M5 Pro)"},
                  {kMeasured, "CoreML-LLM Bonsai", "half the speed for twice the context"},
                  {kMeasured, "ane-book", "160 tok/s of a 0.5B with it (M4 Max)", kAgainst},
                  {kMeasured, "CoreML-LLM Bonsai", "92 % of the operations on the chip with it",
                   kAgainst}},
     .remedy = "compile --kv-form readonly, with a product over the past and one over new rows; "
               "for one token a broadcast product"},
    {.id = "expert-cost",
     .severity = Severity::kFact,
     .statement = "experts in one graph are all read at every step, whatever the router chooses",
     .evidence = {{kDerived, "the reports",
                   "LFM2.5-8B: 8 GB a token, at most 8 tok/s (M4); with the chosen experts alone, "
                   "22 layers of 4 runs and 2 crossings, perhaps 15"},
                  {kMeasured, "ane-book",
                   "ZAYA1 with all 16 experts: 8.1 GB a token at 8.6 tok/s; with palettes of four "
                   "bits 4.05 GB at 9.25 (M4 Max)"},
                  {kMeasured, "emilio",
                   "chosen experts alone: 1,024 packages, 2.75 ms a layer (M4 Max)"}},
     .remedy = "experts in functions of their own, of which the host runs the chosen ones"},
    {.id = "package-reload",
     .severity = Severity::kFact,
     .statement = "packages that do not stay loaded cost seconds a token",
     .evidence = {{kMeasured, "ane-book",
                   "270 packages of Gemma 4 26B: 28.9 s a token and 208 s to the first one (M4 "
                   "Max, 48 GB)"}},
     .remedy = "a model whose packages all fit into memory, or none"},
    {.id = "square-tokens",
     .severity = Severity::kFact,
     .statement =
         "64 tokens as 8 by 8 make the convolutions of an MLP faster: 20 % of the whole model",
     .evidence = {{kMeasured, "coreml-llm-cli", "Llama 2 7B"}},
     .remedy = "a shape to try for prefill; unmeasured elsewhere"},
    {.id = "long-recurrence",
     .severity = Severity::kFact,
     .statement =
         "a recurrence over 64 tokens, unrolled, has more operations than a function may have",
     .evidence = {{kDerived, "Qwen3.5-0.8B", "about 9,000 for its delta net"}},
     .remedy = "8 or 16 tokens a run for such models"},
    {.id = "common-forms",
     .severity = Severity::kFact,
     .statement =
         "forms that nobody contradicts: rotations in halves with cosines from the host, masks as "
         "inputs, softmax over the last axis, one product for all heads that share keys, rows "
         "looked up on the host, the head for the last column alone, and no loop over tokens",
     .evidence =
         {{kStated, "ANEMLL", "rotations in halves with tables from the host"},
          {kStated, "ane-book",
           "two products for each group of heads: 96 operations instead of 672 in 24 layers"},
          {kStated, "ane-book",
           "heads cut from the channels, so that norms and cache writes have the same graph for "
           "any number of tokens"},
          {kStated, "ane-book", "no head for tokens of a prompt before the last one"}},
     .remedy = "keep them"},
    {.id = "small-models-on-cpu",
     .severity = Severity::kFact,
     .statement = "a small model decodes faster on the CPU than on the chip",
     .evidence = {{kMeasured, "Orion",
                   "GPT-2 124M: 283 tok/s on the CPU, about 170 on the chip (M4 Max)"}},
     .remedy = "run models of about 100M parameters on the CPU"},
    {.id = "beside-the-gpu",
     .severity = Severity::kFact,
     .statement = "a GPU decodes faster; the chip gains in long prompts beside it, in power and in "
                  "the background",
     .evidence =
         {{kMeasured, "Anemll#33", "11 tok/s on the chip, 23 with an engine on the GPU"},
          {kStated, "omlx#2781",
           "a part of prefill on the chip: 13 to 22 % faster at 16K tokens, 57 % at 32K (M3 Max)"},
          {kStated, "NVMAI", "6,103 tokens of a prompt in 57.5 s instead of 132.9 (M3)"}},
     .remedy = "promise power and prompts, not tok/s of decoding"},
    {.id = "speculation",
     .severity = Severity::kFact,
     .statement = "drafts from repeated text gain between nothing and 62 %, by the length of the "
                  "prompt, and the text may differ",
     .evidence = {{kMeasured, "ane-book",
                   "Phi-4-mini: 1.7 % at 39 tokens of a prompt, 19 % at 100, 62 % at 800 (M4 Max)"},
                  {kMeasured, "ane-book", "62 % for Hy-MT, whose prompt repeated one token"},
                  {kMeasured, "ane-book",
                   "ZAYA1 is four times slower with it: 2 % to 12 % of drafts accepted", kAgainst}},
     .remedy = "measure with prompts of the own use, against greedy decoding of one token a run"},
};

}  // namespace

std::span<const Law> speed_laws() {
  return kSpeedLaws;
}

}  // namespace anemone::ane
