// SPDX-License-Identifier: Apache-2.0
// Between the types of Core ML and those of runtime.h. Objective-C: only .mm files include it.
#pragma once

#import <CoreML/CoreML.h>
#import <Foundation/Foundation.h>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/coreml/runtime.h"

NS_ASSUME_NONNULL_BEGIN

namespace anemone::exec::coreml {

std::string text_of(NSString* _Nullable text);  // empty for nil
NSString* string_of(std::string_view text);     // empty for what is not UTF-8
NSURL* url_of(const std::string& path);

// What Core ML says when a call gives nothing: the error, if there is one, with those below it.
RuntimeError error_of(NSError* _Nullable error);
RuntimeError error_of(NSException* exception);

// Sorted by name, since a dictionary has no order. `row_bytes`: FeatureInfo.
std::vector<FeatureInfo> features_of(NSDictionary<NSString*, MLFeatureDescription*>* descriptions,
                                     std::int64_t row_bytes);
MLModelConfiguration* configuration_of(const ModelOptions& options);
Device device_of(id<MLComputeDeviceProtocol> _Nullable device);
PlannedOperation operation_of(MLModelStructureProgramOperation* operation, MLComputePlan* plan);

// Memory of somebody else as an array, without a copy; nil with an error.
MLMultiArray* _Nullable multi_array(const Array& array, NSError* _Nullable* _Nullable error);
// Calls `use` with the memory of an array of Core ML, which is valid until it returns. Core ML
// tells the strides only with mutable access, so that is what it asks for.
void with_array(MLMultiArray* array, const std::function<void(const Array&)>& use);

}  // namespace anemone::exec::coreml

NS_ASSUME_NONNULL_END
