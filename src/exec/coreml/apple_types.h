// SPDX-License-Identifier: Apache-2.0
// Between the types of Core ML and those of runtime.h. Objective-C: only .mm files include it.
#pragma once

#import <CoreML/CoreML.h>
#import <Foundation/Foundation.h>
#include <functional>
#include <span>
#include <vector>

#include "exec/coreml/apple_support.h"
#include "exec/coreml/runtime.h"

NS_ASSUME_NONNULL_BEGIN

namespace anemone::exec::coreml {

// `row_bytes`: FeatureInfo.
std::vector<FeatureInfo> features_of(NSDictionary<NSString*, MLFeatureDescription*>* descriptions,
                                     std::int64_t row_bytes);
MLModelConfiguration* configuration_of(const ModelOptions& options);
Device device_of(id<MLComputeDeviceProtocol> _Nullable device);
PlannedOperation operation_of(MLModelStructureProgramOperation* operation, MLComputePlan* plan);

// Memory of somebody else as arrays, without a copy, by their names; nil with an error. Their types
// are those that Core ML gave for the features.
NSDictionary<NSString*, MLMultiArray*>* _Nullable multi_arrays(std::span<const NamedArray> arrays,
                                                               NSError* _Nullable* _Nullable error);
// Calls `use` with the memory of an array of Core ML, which is valid until it returns. Core ML
// tells the strides only with mutable access, so that is what it asks for.
void with_array(MLMultiArray* array, const std::function<void(const Array&)>& use);

}  // namespace anemone::exec::coreml

NS_ASSUME_NONNULL_END
