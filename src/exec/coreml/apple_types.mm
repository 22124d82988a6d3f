// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/apple_types.h"

#include <algorithm>
#include <utility>

NS_ASSUME_NONNULL_BEGIN

namespace anemone::exec::coreml {
namespace {

// MLMultiArrayDataTypeInt8, which only the SDK of macOS 26 names.
constexpr NSInteger kInt8 = 0x20008;

Shape shape_of(NSArray<NSNumber*>* numbers) {
  Shape out;
  for (NSNumber* number in numbers) out.push_back(number.longLongValue);
  return out;
}

NSArray<NSNumber*>* numbers_of(const std::vector<std::int64_t>& values) {
  NSMutableArray<NSNumber*>* const out = [NSMutableArray array];
  for (const std::int64_t value : values) [out addObject:[NSNumber numberWithLongLong:value]];
  return out;
}

// kString: a type that has no tensor.
DType dtype_of(MLMultiArrayDataType type) {
  switch (static_cast<NSInteger>(type)) {
    case MLMultiArrayDataTypeFloat16:
      return DType::kFp16;
    case MLMultiArrayDataTypeFloat32:
      return DType::kFp32;
    case MLMultiArrayDataTypeDouble:
      return DType::kFp64;
    case MLMultiArrayDataTypeInt32:
      return DType::kInt32;
    case kInt8:
      return DType::kInt8;
    default:
      return DType::kString;
  }
}

MLMultiArrayDataType type_of(DType dtype) {
  switch (dtype) {
    case DType::kFp16:
      return MLMultiArrayDataTypeFloat16;
    case DType::kFp64:
      return MLMultiArrayDataTypeDouble;
    case DType::kInt32:
      return MLMultiArrayDataTypeInt32;
    case DType::kInt8:
      return static_cast<MLMultiArrayDataType>(kInt8);
    default:
      return MLMultiArrayDataTypeFloat32;
  }
}

MLComputeUnits units_of(ComputeUnits units) {
  switch (units) {
    case ComputeUnits::kCpuOnly:
      return MLComputeUnitsCPUOnly;
    case ComputeUnits::kCpuAndGpu:
      return MLComputeUnitsCPUAndGPU;
    case ComputeUnits::kAll:
      return MLComputeUnitsAll;
    case ComputeUnits::kCpuAndNeuralEngine:
      break;
  }
  return MLComputeUnitsCPUAndNeuralEngine;
}

// The headers do not say whether the end of a range belongs to it. A size too many is refused by
// Core ML itself, one too few would be refused here, so the end is counted in; a range of one size
// or none is a fixed size.
SizeRange range_of(NSRange range) {
  constexpr NSUInteger kMost = NSUInteger{1} << 40;
  const auto lower = static_cast<std::int64_t>(range.location);
  if (range.length <= 1) return {lower, lower};
  if (range.length > kMost || range.location > kMost) return {lower, SizeRange::kUnbounded};
  return {lower, static_cast<std::int64_t>(range.location + range.length)};
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
  if (shapes.type == MLMultiArrayShapeConstraintTypeEnumerated) {
    for (NSArray<NSNumber*>* shape in shapes.enumeratedShapes)
      out.allowed_shapes.push_back(shape_of(shape));
    if (out.allowed_shapes.size() < 2) out.allowed_shapes.clear();
  } else if (shapes.type == MLMultiArrayShapeConstraintTypeRange) {
    for (NSValue* range in shapes.sizeRangeForDimension)
      out.size_ranges.push_back(range_of(range.rangeValue));
  }
  return out;
}

}  // namespace

std::vector<FeatureInfo> features_of(NSDictionary<NSString*, MLFeatureDescription*>* descriptions,
                                     std::int64_t row_bytes) {
  std::vector<FeatureInfo> out;
  for (NSString* name in descriptions)
    out.push_back(feature_of((MLFeatureDescription*)descriptions[name], row_bytes));
  // A dictionary has no order.
  std::ranges::sort(out, {}, &FeatureInfo::name);
  return out;
}

MLModelConfiguration* configuration_of(const ModelOptions& options) {
  MLModelConfiguration* const out = [[MLModelConfiguration alloc] init];
  out.computeUnits = units_of(options.units);
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

PlannedOperation operation_of(MLModelStructureProgramOperation* operation, MLComputePlan* plan) {
  PlannedOperation out;
  if (operation.outputs.count > 0)
    out.name = text_of(((MLModelStructureProgramNamedValueType*)operation.outputs[0]).name);
  out.type = text_of(operation.operatorName);
  if (MLComputePlanDeviceUsage* const usage =
          [plan computeDeviceUsageForMLProgramOperation:operation];
      usage != nil) {
    out.preferred = device_of(usage.preferredComputeDevice);
    for (id<MLComputeDeviceProtocol> device in usage.supportedComputeDevices)
      out.supported.push_back(device_of(device));
  }
  if (MLComputePlanCost* const cost = [plan estimatedCostOfMLProgramOperation:operation];
      cost != nil)
    out.cost = cost.weight;
  return out;
}

MLMultiArray* _Nullable multi_array(const Array& array, NSError* _Nullable* _Nullable error) {
  return [[MLMultiArray alloc] initWithDataPointer:array.data
                                             shape:numbers_of(array.shape)
                                          dataType:type_of(array.dtype)
                                           strides:numbers_of(array.strides)
                                       deallocator:nil
                                             error:error];
}

void with_array(MLMultiArray* array, const std::function<void(const Array&)>& use) {
  const DType dtype = dtype_of(array.dataType);
  const Shape shape = shape_of(array.shape);
  const std::function<void(const Array&)>* const callee = &use;
  [array getMutableBytesWithHandler:^(void* bytes, NSInteger size, NSArray<NSNumber*>* strides) {
    (*callee)({dtype, shape, shape_of(strides), static_cast<std::byte*>(bytes),
               static_cast<std::uint64_t>(std::max<NSInteger>(size, 0))});
  }];
}

}  // namespace anemone::exec::coreml

NS_ASSUME_NONNULL_END
