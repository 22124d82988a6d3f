// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/apple_types.h"

#include <algorithm>
#include <iterator>

#include "exec/coreml/size_range.h"

NS_ASSUME_NONNULL_BEGIN

namespace anemone::exec::coreml {
namespace {

struct ElementType {
  DType dtype;
  NSInteger type;
};
constexpr ElementType kElementTypes[] = {
    {DType::kFp16, MLMultiArrayDataTypeFloat16},
    {DType::kFp32, MLMultiArrayDataTypeFloat32},
    {DType::kFp64, MLMultiArrayDataTypeDouble},
    {DType::kInt32, MLMultiArrayDataTypeInt32},
    {DType::kInt8, 0x20008},  // MLMultiArrayDataTypeInt8, which only the SDK of macOS 26 names
};

// In the order of ComputeUnits.
constexpr MLComputeUnits kUnits[] = {MLComputeUnitsCPUOnly, MLComputeUnitsCPUAndGPU,
                                     MLComputeUnitsAll, MLComputeUnitsCPUAndNeuralEngine};

Shape shape_of(NSArray<NSNumber*>* numbers) {
  Shape out;
  for (NSNumber* number in numbers) out.push_back(number.longLongValue);
  return out;
}

// kString: a type that has no tensor.
DType dtype_of(MLMultiArrayDataType type) {
  const auto* found = std::ranges::find(kElementTypes, NSInteger{type}, &ElementType::type);
  return found == std::end(kElementTypes) ? DType::kString : found->dtype;
}

FeatureInfo feature_of(MLFeatureDescription* description, std::int64_t row_bytes) {
  FeatureInfo out;
  out.name = text_of(description.name);
  out.is_optional = description.isOptional;
  out.dtype = DType::kString;
  if (MLStateConstraint* const state = description.stateConstraint; state != nil) {
    out.dtype = dtype_of(state.dataType);
    out.shape = shape_of(state.bufferShape);
    return out;
  }
  MLMultiArrayConstraint* const constraint = description.multiArrayConstraint;
  if (description.type != MLFeatureTypeMultiArray || constraint == nil) return out;
  out.dtype = dtype_of(constraint.dataType);
  out.shape = shape_of(constraint.shape);
  out.row_bytes = row_bytes;
  MLMultiArrayShapeConstraint* const shapes = constraint.shapeConstraint;
  if (shapes.type == MLMultiArrayShapeConstraintTypeEnumerated)
    for (NSArray<NSNumber*>* shape in shapes.enumeratedShapes)
      out.allowed_shapes.push_back(shape_of(shape));
  if (shapes.type == MLMultiArrayShapeConstraintTypeRange)
    for (NSValue* range in shapes.sizeRangeForDimension)
      out.size_ranges.push_back(size_range(range.rangeValue.location, range.rangeValue.length));
  return out;
}

}  // namespace

std::vector<FeatureInfo> features_of(NSDictionary<NSString*, MLFeatureDescription*>* descriptions,
                                     std::int64_t row_bytes) {
  std::vector<FeatureInfo> out;
  for (NSString* name in descriptions)
    out.push_back(feature_of((MLFeatureDescription*)descriptions[name], row_bytes));
  return out;
}

MLModelConfiguration* configuration_of(const ModelOptions& options) {
  MLModelConfiguration* const out = [[MLModelConfiguration alloc] init];
  out.computeUnits = kUnits[static_cast<std::size_t>(options.units)];
  if (!options.function.empty()) out.functionName = string_of(options.function);
  if (!options.display_name.empty()) out.modelDisplayName = string_of(options.display_name);
  // The property gives a copy: it is changed and put back.
  MLOptimizationHints* const hints = out.optimizationHints;
  if (options.specializes_for_speed)
    hints.specializationStrategy = MLSpecializationStrategyFastPrediction;
  out.optimizationHints = hints;
  return out;
}

Device device_of(id<MLComputeDeviceProtocol> _Nullable device) {
  NSObject* const object = (NSObject*)device;
  if ([object isKindOfClass:[MLNeuralEngineComputeDevice class]]) return Device::kNeuralEngine;
  if ([object isKindOfClass:[MLGPUComputeDevice class]]) return Device::kGpu;
  if ([object isKindOfClass:[MLCPUComputeDevice class]]) return Device::kCpu;
  return Device::kUnknown;
}

// Constants have neither a device nor a cost: what nil is asked for is nil or 0.
PlannedOperation operation_of(MLModelStructureProgramOperation* operation, MLComputePlan* plan) {
  MLComputePlanDeviceUsage* const usage = [plan computeDeviceUsageForMLProgramOperation:operation];
  PlannedOperation out{.name = text_of(operation.outputs.firstObject.name),
                       .type = text_of(operation.operatorName),
                       .preferred = device_of(usage.preferredComputeDevice),
                       .supported = {},
                       .cost = [plan estimatedCostOfMLProgramOperation:operation].weight};
  for (id<MLComputeDeviceProtocol> device in usage.supportedComputeDevices)
    out.supported.push_back(device_of(device));
  return out;
}

NSDictionary<NSString*, MLMultiArray*>* _Nullable multi_arrays(
    std::span<const NamedArray> arrays, NSError* _Nullable* _Nullable error) {
  NSMutableDictionary<NSString*, MLMultiArray*>* const out = [NSMutableDictionary dictionary];
  for (const auto& [name, array] : arrays) {
    const auto* type = std::ranges::find(kElementTypes, array.dtype, &ElementType::dtype);
    MLMultiArray* const made =
        [[MLMultiArray alloc] initWithDataPointer:array.data
                                            shape:numbers_of(array.shape)
                                         dataType:static_cast<MLMultiArrayDataType>(type->type)
                                          strides:numbers_of(array.strides)
                                      deallocator:nil
                                            error:error];
    if (made == nil) return nil;
    [out setObject:made forKey:string_of(name)];
  }
  return out;
}

void with_array(MLMultiArray* array, const std::function<void(const Array&)>& use) {
  const DType dtype = dtype_of(array.dataType);
  const Shape shape = shape_of(array.shape);
  [array getMutableBytesWithHandler:^(void* bytes, NSInteger size, NSArray<NSNumber*>* strides) {
    use({dtype, shape, shape_of(strides), static_cast<std::byte*>(bytes),
         static_cast<std::uint64_t>(std::max<NSInteger>(size, 0))});
  }];
}

}  // namespace anemone::exec::coreml

NS_ASSUME_NONNULL_END
