// SPDX-License-Identifier: Apache-2.0
// Facts about loading, placing and running packages, whatever a package holds: no package breaks
// these laws.
#include "ane/law_tables.h"

namespace anemone::ane {
namespace {

using enum Evidence::Kind;

constexpr Law kRuntimeLaws[] = {
    // Loading.
    {.id = "error-14",
     .severity = Severity::kFact,
     .statement = "error -14 says that Core ML has no valid plan, and not why: the package is too "
                  "large, has too many states, was compiled by another version of the system, or "
                  "the process holds too much",
     .evidence = {{kMeasured, "ane-book",
                   "1.5 GB in int8 and 1.7 GB in int4 of one package; a second set of shards "
                   "beside 3 GB; compiled models after an upgrade (M4 Max)"},
                  {kMeasured, "magenta-realtime-2-iphone", "48 states (A14, A17)"},
                  {kMeasured, "mobius#77", "a package with states (M5 Pro)"},
                  {kStated, "ane-book, chapter 1", "packages of more than 250 MB"}},
     .remedy = "compile again from the .mlpackage; then fewer models in the process, smaller "
               "packages, fewer states, in this order"},
    {.id = "system-upgrade",
     .severity = Severity::kFact,
     .statement = "an upgrade of the system invalidates compiled models (.mlmodelc)",
     .evidence = {{kMeasured, "ane-book",
                   "their plans fail with -14, and compiling again from the .mlpackage helps"},
                  {kMeasured, "coremltools#2503",
                   "a model that ran under one release of macOS fails under the next"}},
     .remedy = "keep the .mlpackage, and key compiled models with the build of the system and the "
               "device"},
    {.id = "compile-cache",
     .severity = Severity::kFact,
     .statement = "the system keeps compiled models in caches of its own, one for each name of an "
                  "executable, which grow to tens or hundreds of GB and may be emptied at any time",
     .evidence = {{kMeasured, "ane-book",
                   "32 GB for the name of one executable, with Gemma 4 26B; 86 GB of stale entries "
                   "in ~/Library/Caches after an upgrade"},
                  {kMeasured, "users' threads",
                   "274 GB in the cache of aned; an emptied cache brings the slow first load back"},
                  {kMeasured, "openquack#89",
                   "80 s at every start, as nothing was found in the cache of the start before"}},
     .remedy = "load from an executable whose name stays, look at the space on the disk first, and "
               "expect a slow load at any start"},
    {.id = "first-load",
     .severity = Severity::kFact,
     .statement = "the first load or run of a package on a device compiles it for the chip, which "
                  "takes from milliseconds to hours",
     .evidence = {{kMeasured, "emilio",
                   "78 ms for 16 MB, 340 times a warm run of 0.23 ms (M4 Max)"},
                  {kMeasured, "ane-book", "97 to 133 s for the first run of Phi-4-mini (M4 Max)"},
                  {kMeasured, "dictus-ios#371", "118.5 s the first time, 2.1 s later"},
                  {kStated, "coreml-llm-cli", "113 s for Llama 2 7B, later 8 s"},
                  {kMeasured, "EnviousWispr#879", "109 s"},
                  {kMeasured, "whisper.cpp#937", "3.3 hours, at each of three starts (M1 Max)"},
                  {kMeasured, "users' threads", "440 to 560 s, and 11 hours"}},
     .remedy =
         "load and run every function once before the model counts as ready, and say so meanwhile"},
    {.id = "late-failure",
     .severity = Severity::kFact,
     .statement = "a load that succeeds proves nothing: the first run may be killed, crash, or run "
                  "elsewhere",
     .evidence = {{kMeasured, "coremltools#2758",
                   "667 MB of fp16: the chip's compiler fails, the load succeeds after 140 s, the "
                   "first run is killed (SIGKILL, exit code 137)"},
                  {kMeasured, "NVMAI#7",
                   "a history of 32,768 tokens fails to compile without an error, and a run takes "
                   "380 s instead of 17; 8,192 are fine (M5)"},
                  {kMeasured, "speech-swift#313",
                   "a crash on an M5 Max of what falls back on an M4"},
                  {kMeasured, "coreai-models#257",
                   "a static export that computes garbage, exact before the export (Core AI)"}},
     .remedy = "run a package once in a process of its own, and compare with expected outputs "
               "(anemone probe)"},
    {.id = "range-compile-time",
     .severity = Severity::kFact,
     .statement = "a package with a range of shapes is compiled anew in every process for each "
                  "shape that it meets",
     .evidence = {{kMeasured, "ane-book",
                   "Phi-4-mini: 112 s for one token and 133 s for four (M4 Max)"},
                  {kMeasured, "ane-book", "113 and 136 to 141 s in a later experiment"}},
     .remedy =
         "a function with fixed shapes for each width (no --range-dim); a past of fixed length "
         "(--kv-form readonly)"},
    {.id = "trace-width",
     .severity = Severity::kFact,
     .statement = "states and a range of tokens in one graph were reported to corrupt what is "
                  "computed for more than one token",
     .evidence =
         {{kStated, "ane-book",
           "one chapter says so, and that the graph has to be traced with the largest width"},
          {kMeasured, "ane-book",
           "its converters trace with one token, and what they made of Hy-MT agrees with shards of "
           "fixed width to a cosine of 1.000000",
           kAgainst}},
     .remedy = "fixed widths; otherwise compare each width with a run of single tokens"},
    {.id = "function-load",
     .severity = Severity::kFact,
     .statement = "a function takes 0.33 s to load and about 1.25 KB beside its constants, and a "
                  "limit of 64 functions does not hold",
     .evidence = {{kMeasured, "emilio", "256 functions of one package load in 84.5 s and run"},
                  {kDerived, "the reports",
                   "1,400 functions of a stack of experts take minutes at that rate"}},
     .remedy = "load only the functions that are used, one after another, with progress"},
    {.id = "shared-constants",
     .severity = Severity::kFact,
     .statement = "functions of a package share equal constants on the disk; whether compiled "
                  "functions share them in memory is unmeasured",
     .evidence = {{kMeasured, "CoreML-LLM", "packages 75 % smaller"},
                  {kMeasured, "ANEMLL",
                   "packages about 50 % smaller with prefill and decode in one"},
                  {kMeasured, "emilio", "equal constants are stored once"},
                  {kMeasured, "CoreML-LLM IPHONE_ANE_SPARSITY",
                   "four resident variants of a chunk make prefill 2.2 times slower (iPhone)",
                   kAgainst}},
     .remedy = "put functions that share weights into one package, but load few of them"},
    {.id = "function-name",
     .severity = Severity::kFact,
     .statement = "a function is chosen by its name when a model is loaded, from macOS 15 on, and "
                  "the error for the name hides other causes",
     .evidence =
         {{kStated, "Apple's headers",
           "functionName is new in macOS 15; none is the default function"},
          {kMeasured, "emilio",
           "from Python, a function loads from the .mlpackage and not from the compiled folder"},
          {kMeasured, "Anemll#5",
           "an error that functionName must be nil was a full disk: 16 GB were needed"}},
     .remedy = "check the space on the disk before a load, and print the whole chain of errors"},

    // Placement.
    {.id = "compute-units",
     .severity = Severity::kFact,
     .statement = "a model is to be loaded for the CPU and the Neural Engine",
     .evidence = {{kStated, "ane-book, chapter 1", "cpuAndNeuralEngine is required"},
                  {kMeasured, "onnxsim#1403",
                   "weights of int8 end in a failed assertion on the GPU"},
                  {kMeasured, "FluidAudio#11",
                   "all units are slower (22.3 s) than CPU and Neural Engine (19.0 s)"},
                  {kMeasured, "ane-book",
                   "the programs for Phi-4-mini, LFM2.5 and the privacy filter load for all units "
                   "and run on the chip",
                   kAgainst}},
     .remedy = "load with cpuAndNeuralEngine, so that nothing can go to the GPU"},
    {.id = "placement-proof",
     .severity = Severity::kFact,
     .statement = "a compute plan on a Mac is the only proof of placement",
     .evidence =
         {{kStated, "ane-book, chapter 1",
           "MLComputePlan is the only proof; the size of the compiled folder is a quick hint"},
          {kStated, "users' threads", "no interface says where a function ran: tools read logs"},
          {kStated, "Apple's headers",
           "a plan is what Core ML means to use, not a record of what ran; from macOS 14.4 on",
           kAgainst}},
     .remedy = "anemone check predicts, a plan on a Mac confirms (anemone probe), and time or "
               "power tells what ran"},
    {.id = "undecided-devices",
     .severity = Severity::kFact,
     .statement = "a compute plan names no device for constants and for what restores weights",
     .evidence = {{kStated, "Apple's headers",
                   "nothing is the answer where it cannot be determined"},
                  {kMeasured, "ane-book",
                   "constexpr_lut_to_dense shows an unknown device while all 34 operations that "
                   "compute are on the chip (M4 Max)"},
                  {kStated, "users' threads",
                   "for every operation where the target of the model is too old"}},
     .remedy = "leave constants and constexpr operations out of what is counted, and fail where "
               "nothing at all is known"},
    {.id = "silent-fallback",
     .severity = Severity::kFact,
     .statement = "what leaves the chip is about five times slower, and nothing says so",
     .evidence = {{kMeasured, "ane-book",
                   "about five times slower and no warning, when int4 with scales per block went "
                   "to the CPU (M4 Max)"},
                  {kMeasured, "coreai-models#205",
                   "the exporter succeeds and the plan is for the GPU alone"},
                  {kMeasured, "NVMAI#7", "38 times slower, and no fallback to the GPU (M5)"}},
     .remedy = "fail when the placement is not the wanted one (anemone check --strict)"},

    // Sizes.
    {.id = "size-failures",
     .severity = Severity::kFact,
     .statement = "too large a package fails in three ways, error -14, all of it on the GPU or all "
                  "of it on the CPU, and no number of bytes separates them",
     .evidence = {{kMeasured, "ane-book", "-14: 1.5 GB of a 1.5B in int8, 1.7 GB of a 3B in int4"},
                  {kMeasured, "ane-book", "GPU: 364 and 398 MB of experts without states"},
                  {kMeasured, "ane-book", "CPU: 24 layers of Phi-4-mini, 2.3 GB"},
                  {kMeasured, "ane-book", "none of them: 2,016 MB of Phi-4-mini with states",
                   kAgainst}},
     .remedy = "look for all three: the error, the plan, and wrong or slow outputs"},
    {.id = "older-size-limits",
     .severity = Severity::kFact,
     .statement = "96 MB and 223 MB, which older pages give as the most that a package may have, "
                  "are no limits",
     .evidence =
         {{kStated, "ane-book",
           "a cliff at 96 MB was found wrong by its own note on int4, and a README still has it"},
          {kStated, "ane-book, chapter 1", "223 MB are validated: three layers of Phi-4-mini"},
          {kMeasured, "ane-book",
           "223 MB were a layer of a 7B; three layers of Phi-4-mini have 288 MB, and both run"}},
     .remedy = "plan with what package-bytes and large-package say"},
    {.id = "least-bytes",
     .severity = Severity::kFact,
     .statement = "a least size of 14 MB, below which the CPU is taken, does not hold: the cost of "
                  "the operations decides",
     .evidence =
         {{kStated, "ane-book",
           "about 14 MB; 19 MB of MicroGPT are on the chip at 1,535 tok/s, 0.03 MB are not"},
          {kMeasured, "emilio", "a linear operation of 25 MB on the CPU, one of 50 MB on the chip"},
          {kMeasured, "ane-book", "experts of 2.4 MB on the chip", kAgainst},
          {kMeasured, "maderix/ANE", "kernels of about 1 MB through the private API", kAgainst}},
     .remedy = "measure a small package before merging it with others"},
    {.id = "probe-size",
     .severity = Severity::kFact,
     .statement =
         "a probe says something of the chip only with four layers or more of width 1,024 or more",
     .evidence = {{kMeasured, "ANE_Profiler.md", "Core ML takes the CPU below about 50 MB"},
                  {kMeasured, "stablehlo-coreml#110", "one or two layers on the CPU"},
                  {kMeasured, "ane-book",
                   "a block of width 64 on the CPU, of width 1,024 on the chip"}},
     .remedy = "probes of that size; a tiny model on a Mac proves nothing"},
    {.id = "axis-65536",
     .severity = Severity::kFact,
     .statement = "65,536 channels are stated as the most that an operation takes",
     .evidence =
         {{kStated, "dev-erik/ANE", "its reason for a head in 16 pieces of 9,496"},
          {kMeasured, "ane-book",
           "heads of 87,424 channels on the chip; others have 50,016, 60,409 and 64,000 (M4 Max)",
           kAgainst},
          {kMeasured, "mobius#61", "16,384 are the most on an M2", kAgainst}},
     .remedy = "split at 16,384, which all chips took (law wide-output)"},
    {.id = "head-split",
     .severity = Severity::kFact,
     .statement = "splitting a head further costs 5 % or less",
     .evidence = {{kMeasured, "CoreML-LLM LMSPLIT", "4.6 % for 16 pieces (A19)"},
                  {kMeasured, "ane-book", "5.14, 5.10 and 5.16 ms in 3, 4 and 8 packages (M4 Max)"},
                  {kDerived, "ANEMLL", "its heads in 8 and 16 pieces stay below 16,384"}},
     .remedy = "split for every chip, and not further than the chip asks"},

    // Memory and states.
    {.id = "process-memory",
     .severity = Severity::kFact,
     .statement =
         "a process that holds more than about 3 GB on the chip gets -14 for the next package",
     .evidence = {{kMeasured, "ane-book",
                   "shards of Phi-4-mini for one token beside a set for four (M4 Max)"}},
     .remedy = "one set of packages for all widths, and a sum of what the process holds"},
    {.id = "phone-memory",
     .severity = Severity::kFact,
     .statement = "the memory of a phone bounds tokens times context, beside the weights",
     .evidence = {{kMeasured, "executorch#8439",
                   "Llama 1B: out of memory with 1 token and a context of 2,048, and with 64 and "
                   "512, not with 64 and 2,048 (iPhone 15 Pro)"}},
     .remedy = "measure each pair of width and context on the phone; less is not always safer"},
    {.id = "background-work",
     .severity = Severity::kFact,
     .statement = "an app in the background of iOS may use the chip, and its memory is less than "
                  "the weights",
     .evidence = {{kMeasured, "dictus-ios#268",
                   "1,166 operations on the chip and 13 on the CPU; 284 MB for a model of 1.8 GB"},
                  {kStated, "FluidAudio#738",
                   "Apple's notes for iOS 27: the background is restricted, and the memory counts "
                   "for the app",
                   kAgainst}},
     .remedy = "expect refusals in the background from iOS 27 on, and count the weights as memory "
               "of the app"},
    {.id = "state-admission",
     .severity = Severity::kFact,
     .statement = "states were refused with -14 in some reports and ran on the chip in others, M5 "
                  "Pro and A19 among them",
     .evidence = {{kMeasured, "magenta-realtime-2-iphone", "refused (A14, A17)"},
                  {kMeasured, "mobius#77", "refused (M5 Pro)"},
                  {kMeasured, "ANEMLL", "accepted", kAgainst},
                  {kMeasured, "CoreML-LLM", "accepted (A19, M4)", kAgainst},
                  {kMeasured, "FluidAudio#679", "accepted", kAgainst},
                  {kMeasured, "speech-swift#282", "accepted", kAgainst},
                  {kMeasured, "ane-book", "accepted (M4 Max)", kAgainst}},
     .remedy = "caches as inputs (--kv-form readonly) where nobody measured the chip"},
    {.id = "state-per-model",
     .severity = Severity::kFact,
     .statement = "a state belongs to one model: packages share none",
     .evidence = {{kMeasured, "ane-book", "one for each shard of layers and each session"},
                  {kStated, "Apple's headers", "a model makes it, and its runs take it"}},
     .remedy = "keep the cache of a layer in the package of the layer"},
    {.id = "state-access",
     .severity = Severity::kFact,
     .statement = "Core ML owns the memory of a state: it starts at zero, is read and written only "
                  "inside a handler, and runs that share it take turns",
     .evidence = {{kStated, "Apple's headers",
                   "anything else is undefined; there is no call that takes memory of the caller"},
                  {kStated, "Apple's headers", "a batch of runs takes no state"}},
     .remedy = "one state a sequence, one run of it at a time, and a copy inside the handler where "
               "a cache is saved"},
    {.id = "rejected-drafts",
     .severity = Severity::kFact,
     .statement = "rows of a cache after the last token need no rollback: the mask hides them "
                  "until they are written again",
     .evidence = {{kMeasured, "ane-book",
                   "speculative decoding without copies of the cache (M4 Max)"}},
     .remedy = "set the position back, and nothing else"},
    {.id = "output-slots",
     .severity = Severity::kFact,
     .statement = "a process has about ten slots for outputs of the chip, and runs fail after nine "
                  "that were not released",
     .evidence = {{kMeasured, "ane-book",
                   "fails without an autorelease pool around each run (M4 Max)"}},
     .remedy = "an autorelease pool around every run"},
    {.id = "output-backings",
     .severity = Severity::kFact,
     .statement = "Core ML may write outputs elsewhere than into the memory that it was given",
     .evidence = {{kStated, "Apple's headers",
                   "page-aligned memory is best; compare the output with the backing"}},
     .remedy = "compare after each run, and copy where they differ"},
    {.id = "array-types",
     .severity = Severity::kFact,
     .statement = "inputs and outputs have fp16, fp32, fp64 or int32, and int8 from macOS 26 on",
     .evidence = {{kStated, "Apple's headers", "no int64, int16, uint8 or bool"}},
     .remedy = "token ids as int32, masks as fp16"},
};

}  // namespace

std::span<const Law> runtime_laws() {
  return kRuntimeLaws;
}

}  // namespace anemone::ane
