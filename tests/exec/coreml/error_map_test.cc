// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/error_map.h"

#include <gtest/gtest.h>

namespace anemone::exec::coreml {
namespace {

struct ErrorCase {
  const char* name;
  RuntimeError error;
  Cause cause;
  Code code;
  const char* says;
};

const ErrorCase kErrorCases[] = {
    {"MinusFourteenInTheText",
     runtime_error("com.apple.CoreML", 0,
                   "Failed to build the model execution plan using a model architecture file "
                   "'model.mil' with error code: -14."),
     Cause::kNoPlan, Code::kDevice, "compile again from the .mlpackage; then fewer models"},
    {"MinusFourteenBelow",
     {{{"com.apple.CoreML", 0, "Error in declaring network."},
       {"com.apple.appleneuralengine", -14, "x"}}},
     Cause::kNoPlan,
     Code::kDevice,
     "(-14)"},
    {"Surface", runtime_error("com.apple.appleneuralengine", 8, "status=0x1d : Program Inference"),
     Cause::kSurface, Code::kDevice, "read-only caches"},
    {"FullDiskUnderAFunctionName",
     {{{"com.apple.CoreML", 0, "functionName must be nil unless the model type is ML Program"},
       {"NSPOSIXErrorDomain", 28, "No space left on device"}}},
     Cause::kDiskFull,
     Code::kIo,
     "no space left on device"},
    {"FunctionName", runtime_error("com.apple.CoreML", 0, "The functionName property must be nil"),
     Cause::kFunctionName, Code::kDevice, "free space on the disk"},
    {"CocoaFullDisk", runtime_error("NSCocoaErrorDomain", 640, "The volume is full"),
     Cause::kDiskFull, Code::kIo, "free space"},
    {"Memory", runtime_error("NSPOSIXErrorDomain", 12, "Cannot allocate memory"), Cause::kMemory,
     Code::kOutOfMemory, "close other models"},
    {"NoFile", runtime_error("NSCocoaErrorDomain", 260, "There is no such file"), Cause::kFile,
     Code::kIo, "compile the package again"},
    {"Io", runtime_error("com.apple.CoreML", 3, "coremldata.bin is not valid"), Cause::kFile,
     Code::kIo, "absent or damaged"},
    {"FeatureType", runtime_error("com.apple.CoreML", 1, "MultiArray shape"), Cause::kFeature,
     Code::kInvalidArgument, "do not fit the manifest"},
    {"CustomLayer", runtime_error("com.apple.CoreML", 4, "custom layer"), Cause::kUnsupported,
     Code::kUnsupported, "CPU engine"},
    {"Cancelled", runtime_error("com.apple.CoreML", 11, "cancelled"), Cause::kCancelled,
     Code::kCancelled, "try again"},
    {"Exception", runtime_error("NSException", 0, "NSInvalidArgumentException: nil"),
     Cause::kMisuse, Code::kInternal, "mistake of anemone"},
    {"Other", runtime_error("com.apple.CoreML", 0, "Something new"), Cause::kUnknown, Code::kDevice,
     "com.apple.CoreML 0: Something new"},
};

class ErrorMap : public ::testing::TestWithParam<ErrorCase> {};

TEST_P(ErrorMap, SaysCauseAndRemedy) {
  const MappedError mapped = map_error(GetParam().error, "layers_0.mlpackage", "cannot load");
  EXPECT_EQ(mapped.cause, GetParam().cause);
  EXPECT_EQ(mapped.status.code(), GetParam().code);
  EXPECT_TRUE(mapped.status.message().starts_with("[layers_0.mlpackage] cannot load: "));
  EXPECT_NE(mapped.status.message().find(GetParam().says), std::string::npos)
      << mapped.status.message();
}
INSTANTIATE_TEST_SUITE_P(Table, ErrorMap, ::testing::ValuesIn(kErrorCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ErrorMapLimits, LongChainsAndTextsAreCut) {
  RuntimeError error;
  for (int i = 0; i < 1000; ++i) error.chain.push_back({"d", i, std::string(100'000, 'x')});
  EXPECT_LT(describe(error).size(), 2500u);
}

}  // namespace
}  // namespace anemone::exec::coreml
