// SPDX-License-Identifier: Apache-2.0
// A small Core ML for Linux, against which tools/ci/objcxx runs coreml_runtime.mm: one model with
// the functions decode, prefill (state total [1, 2, 3]: sum = total += x) and twice (y = x + x),
// all in fp16. Only what coreml_runtime.mm calls is here.
#pragma clang diagnostic ignored "-Wincomplete-implementation"
#pragma clang diagnostic ignored "-Wprotocol"
#pragma clang diagnostic ignored "-Wunused-parameter"
#pragma clang diagnostic ignored "-Wobjc-property-implementation"
#include "tests/exec/coreml/apple/fake_coreml.h"

#import <CoreML/CoreML.h>
#import <Foundation/Foundation.h>
#include <cstring>
#include <objc/runtime.h>
#include <string>
#include <thread>
#include <vector>

#include "sys/sysctl.h"
#include "tensor/half.h"

using anemone::Half;
using anemone::exec::coreml::testing::fake_coreml;
using anemone::exec::coreml::testing::FakeCoreMl;

namespace anemone::exec::coreml::testing {
FakeCoreMl& fake_coreml() {
  static FakeCoreMl fake;
  return fake;
}
}  // namespace anemone::exec::coreml::testing

extern "C" int sysctlbyname(const char* name, void* old, std::size_t* old_size, const void*,
                            std::size_t) {
  const std::string text = std::strcmp(name, "kern.osversion") == 0 ? "25F71" : "Mac16,10";
  if (text.size() >= *old_size) return -1;
  std::memcpy(old, text.c_str(), text.size() + 1);
  *old_size = text.size() + 1;
  return 0;
}

static NSError* chain() {
  NSError* const inner = [NSError errorWithDomain:@"NSPOSIXErrorDomain"
                                             code:28
                                         userInfo:@{NSLocalizedDescriptionKey : @"No space left"}];
  return [NSError errorWithDomain:@"com.apple.CoreML"
                             code:0
                         userInfo:@{
                           NSLocalizedDescriptionKey : @"functionName must be nil",
                           NSUnderlyingErrorKey : inner
                         }];
}

// Whether the next call fails; an exception leaves by itself.
static BOOL fails(NSError** error) {
  switch (fake_coreml().trouble.exchange(FakeCoreMl::Trouble::kNone)) {
    case FakeCoreMl::Trouble::kException:
      [NSException raise:@"NSInvalidArgumentException" format:@"nil where an array was expected"];
      break;
    case FakeCoreMl::Trouble::kError:
      if (error != nullptr) *error = chain();
      return YES;
    case FakeCoreMl::Trouble::kNone:
      break;
  }
  return NO;
}

static NSArray<NSNumber*>* shape() {
  return @[ @1, @2, @3 ];
}

@implementation MLOptimizationHints
@synthesize reshapeFrequency = _reshapeFrequency, specializationStrategy = _specializationStrategy;
- (id)copyWithZone:(NSZone*)zone {
  MLOptimizationHints* const out = [[MLOptimizationHints alloc] init];
  out.reshapeFrequency = self.reshapeFrequency;
  out.specializationStrategy = self.specializationStrategy;
  return out;
}
@end

@implementation MLModelConfiguration
@synthesize computeUnits = _computeUnits, functionName = _functionName,
            modelDisplayName = _modelDisplayName, optimizationHints = _optimizationHints;
@dynamic allowLowPrecisionAccumulationOnGPU, preferredMetalDevice, parameters;
- (instancetype)init {
  if ((self = [super init])) _optimizationHints = [[MLOptimizationHints alloc] init];
  return self;
}
@end

@implementation MLMultiArray {
  std::vector<char> own_;
  char* data_;
}
@synthesize shape = _shape, strides = _strides, dataType = _dataType, count = _count;
@dynamic dataPointer, pixelBuffer;
- (instancetype)initWithDataPointer:(void*)pointer
                              shape:(NSArray<NSNumber*>*)shape
                           dataType:(MLMultiArrayDataType)dataType
                            strides:(NSArray<NSNumber*>*)strides
                        deallocator:(void (^)(void*))deallocator
                              error:(NSError**)error {
  if ((self = [super init])) {
    ++fake_coreml().live_arrays;
    data_ = (char*)pointer;
    _shape = [shape copy];
    _strides = [strides copy];
    _dataType = dataType;
  }
  return self;
}
// Rows are padded with NaN.
- (instancetype)initWithShape:(NSArray<NSNumber*>*)shape
                     dataType:(MLMultiArrayDataType)dataType
                      strides:(NSArray<NSNumber*>*)strides {
  const NSInteger rows = [shape[1] integerValue];
  std::vector<char> own((size_t)(rows * [strides[1] integerValue]) * sizeof(Half), char(0xff));
  if ((self = [self initWithDataPointer:own.data()
                                  shape:shape
                               dataType:dataType
                                strides:strides
                            deallocator:nil
                                  error:nil])) {
    own_ = std::move(own);
    data_ = own_.data();
  }
  return self;
}
- (void)dealloc {
  --fake_coreml().live_arrays;
}
- (void)getMutableBytesWithHandler:(void (^)(void*, NSInteger, NSArray<NSNumber*>*))handler {
  const NSInteger last = [self.strides[0] integerValue] - [self.strides[1] integerValue];
  const NSInteger bytes = own_.empty() ? 2 * (last + 3) : (NSInteger)own_.size();
  handler(data_, bytes, self.strides);
}
- (float)valueInRow:(NSInteger)row column:(NSInteger)column {
  return anemone::to_float(((Half*)data_)[row * [self.strides[1] integerValue] + column]);
}
- (void)setValue:(float)value inRow:(NSInteger)row column:(NSInteger)column {
  ((Half*)data_)[row * [self.strides[1] integerValue] + column] = anemone::to_half(value);
}
@end

@interface MLMultiArray (Values)
- (float)valueInRow:(NSInteger)row column:(NSInteger)column;
- (void)setValue:(float)value inRow:(NSInteger)row column:(NSInteger)column;
@end

static MLMultiArray* new_array() {
  const int row = fake_coreml().row_elements;
  return [[MLMultiArray alloc] initWithShape:shape()
                                    dataType:MLMultiArrayDataTypeFloat16
                                     strides:@[ @(2 * row), @(row), @1 ]];
}

@implementation MLFeatureValue {
  MLMultiArray* array_;
}
@dynamic type, undefined, int64Value, doubleValue, stringValue, dictionaryValue, imageBufferValue,
    sequenceValue;
+ (instancetype)featureValueWithMultiArray:(MLMultiArray*)value {
  MLFeatureValue* const out = [[self alloc] init];
  out->array_ = value;
  return out;
}
- (MLMultiArray*)multiArrayValue {
  return array_;
}
@end

// Values are MLFeatureValue or MLMultiArray.
@implementation MLDictionaryFeatureProvider
@synthesize dictionary = _dictionary;
- (instancetype)initWithDictionary:(NSDictionary<NSString*, id>*)dictionary error:(NSError**)error {
  if ((self = [super init])) _dictionary = [dictionary copy];
  return self;
}
- (NSSet<NSString*>*)featureNames {
  return [NSSet setWithArray:self.dictionary.allKeys];
}
- (MLFeatureValue*)featureValueForName:(NSString*)name {
  const id value = self.dictionary[name];
  if (![value isKindOfClass:[MLMultiArray class]]) return value;
  return [MLFeatureValue featureValueWithMultiArray:value];
}
@end

@implementation MLPredictionOptions
@synthesize outputBackings = _outputBackings;
@dynamic usesCPUOnly;
@end

@implementation MLMultiArrayShapeConstraint {
 @public
  MLMultiArrayShapeConstraintType kind_;
  NSArray* ranges_;
}
- (MLMultiArrayShapeConstraintType)type {
  return kind_;
}
- (NSArray<NSValue*>*)sizeRangeForDimension {
  return ranges_;
}
- (NSArray<NSArray<NSNumber*>*>*)enumeratedShapes {
  return @[ shape() ];
}
@end

@implementation MLMultiArrayConstraint {
 @public
  MLMultiArrayShapeConstraint* shapes_;
}
- (NSArray<NSNumber*>*)shape {
  return shape();
}
- (MLMultiArrayDataType)dataType {
  return MLMultiArrayDataTypeFloat16;
}
- (MLMultiArrayShapeConstraint*)shapeConstraint {
  return shapes_;
}
@end

@implementation MLStateConstraint
- (NSArray<NSNumber*>*)bufferShape {
  return shape();
}
- (MLMultiArrayDataType)dataType {
  return MLMultiArrayDataTypeFloat16;
}
@end

@implementation MLFeatureDescription {
 @public
  NSString* name_;
  BOOL is_state_;
}
@dynamic imageConstraint, dictionaryConstraint, sequenceConstraint;
- (NSString*)name {
  return name_;
}
- (MLFeatureType)type {
  return is_state_ ? MLFeatureTypeState : MLFeatureTypeMultiArray;
}
- (BOOL)isOptional {
  return NO;
}
- (MLMultiArrayConstraint*)multiArrayConstraint {
  if (is_state_) return nil;
  MLMultiArrayConstraint* const out = [[MLMultiArrayConstraint alloc] init];
  out->shapes_ = [[MLMultiArrayShapeConstraint alloc] init];
  out->shapes_->kind_ = MLMultiArrayShapeConstraintTypeEnumerated;
  return out;
}
- (MLStateConstraint*)stateConstraint {
  return is_state_ ? [[MLStateConstraint alloc] init] : nil;
}
@end

static NSDictionary* described(NSString* name, BOOL is_state) {
  MLFeatureDescription* const out = [[MLFeatureDescription alloc] init];
  out->name_ = name;
  out->is_state_ = is_state;
  return @{name : out};
}

@implementation MLModelDescription {
 @public
  BOOL has_state_;
}
@dynamic predictedFeatureName, predictedProbabilitiesName, metadata, classLabels, isUpdatable,
    trainingInputDescriptionsByName, parameterDescriptionsByKey;
- (NSDictionary*)inputDescriptionsByName {
  return described(@"x", NO);
}
- (NSDictionary*)outputDescriptionsByName {
  return described(has_state_ ? @"sum" : @"y", NO);
}
- (NSDictionary*)stateDescriptionsByName {
  return has_state_ ? described(@"total", YES) : @{};
}
@end

// Completion handlers come on a thread of their own, as Core ML's do. It ends before the call
// returns, because the stand-in for ARC of this build frees blocks that other threads still need.
@interface FakeQueue : NSObject
@end
@implementation FakeQueue
+ (void)run:(void (^)(void))work {
  void (^__strong* const callee)(void) = &work;
  std::thread([callee] {
    GSRegisterCurrentThread();
    @autoreleasepool {
      (*callee)();
    }
    GSUnregisterCurrentThread();
  }).join();
}
@end

@interface FakeAsset : NSObject
@end
@implementation FakeAsset
- (void)functionNamesWithCompletionHandler:(void (^)(NSArray<NSString*>*, NSError*))handler {
  [FakeQueue run:^{
    handler(@[ @"twice", @"prefill", @"decode" ], nil);
  }];
}
- (void)modelDescriptionOfFunctionNamed:(NSString*)name
                      completionHandler:(void (^)(MLModelDescription*, NSError*))handler {
  [FakeQueue run:^{
    MLModelDescription* const out = [[MLModelDescription alloc] init];
    out->has_state_ = ![name isEqual:@"twice"];
    const BOOL is_known = [@[ @"twice", @"prefill", @"decode" ] containsObject:name];
    handler(is_known ? out : nil, is_known ? nil : chain());
  }];
}
@end

@implementation MLModelAsset
+ (instancetype)modelAssetWithURL:(NSURL*)url error:(NSError**)error {
  if (![[NSFileManager defaultManager] fileExistsAtPath:[url path]]) {
    if (error != nullptr) *error = chain();
    return nil;
  }
  return (MLModelAsset*)[[FakeAsset alloc] init];
}
@end

@interface FakeState : NSObject {
 @public
  MLMultiArray* total;
}
@end
@implementation FakeState
- (instancetype)init {
  if ((self = [super init])) {
    ++fake_coreml().live_states;
    total = new_array();
    for (NSInteger i = 0; i < 6; ++i) [total setValue:0 inRow:i / 3 column:i % 3];
  }
  return self;
}
- (void)dealloc {
  --fake_coreml().live_states;
}
- (void)getMultiArrayForStateNamed:(NSString*)name handler:(void (^)(MLMultiArray*))handler {
  if (![name isEqual:@"total"])
    [NSException raise:@"NSInvalidArgumentException" format:@"no state %@", name];
  handler(total);
}
@end

@implementation MLModel {
  NSString* function_;
}
@dynamic modelDescription, configuration, availableComputeDevices;
+ (void)compileModelAtURL:(NSURL*)url
        completionHandler:(void (^)(NSURL* _Nullable, NSError* _Nullable))handler {
  [FakeQueue run:^{
    NSFileManager* const files = [NSFileManager defaultManager];
    NSString* const name =
        [NSString stringWithFormat:@"%@/fake-%@.mlmodelc", NSTemporaryDirectory(),
                                   [[NSProcessInfo processInfo] globallyUniqueString]];
    NSError* error = nil;
    const BOOL is_there = [files fileExistsAtPath:[url path]];
    if (is_there && [files createDirectoryAtPath:name
                        withIntermediateDirectories:YES
                                         attributes:nil
                                              error:&error])
      handler([NSURL fileURLWithPath:name], nil);
    else
      handler(nil, error != nil ? error : chain());
  }];
}
+ (instancetype)modelWithContentsOfURL:(NSURL*)url
                         configuration:(MLModelConfiguration*)configuration
                                 error:(NSError**)error {
  if (fails(error)) return nil;
  MLModel* const out = [[self alloc] init];
  out->function_ = configuration.functionName;
  ++fake_coreml().live_models;
  return out;
}
- (void)dealloc {
  --fake_coreml().live_models;
}
- (MLState*)newState {
  return (MLState*)[[FakeState alloc] init];
}
- (id<MLFeatureProvider>)run:(id<MLFeatureProvider>)input
                       state:(FakeState*)state
                     options:(MLPredictionOptions*)options {
  NSString* const name = state == nil ? @"y" : @"sum";
  MLMultiArray* const x = [input featureValueForName:@"x"].multiArrayValue;
  MLMultiArray* const backing = options.outputBackings[name];
  MLMultiArray* const out = backing != nil && fake_coreml().uses_backings ? backing : new_array();
  for (NSInteger i = 0; i < 6; ++i) {
    float value = 2 * [x valueInRow:i / 3 column:i % 3];
    if (state != nil) {
      value = [state->total valueInRow:i / 3 column:i % 3] + value / 2;
      [state->total setValue:value inRow:i / 3 column:i % 3];
    }
    [out setValue:value inRow:i / 3 column:i % 3];
  }
  return [[MLDictionaryFeatureProvider alloc]
      initWithDictionary:@{name : [MLFeatureValue featureValueWithMultiArray:out]}
                   error:nil];
}
- (id<MLFeatureProvider>)predictionFromFeatures:(id<MLFeatureProvider>)input
                                        options:(MLPredictionOptions*)options
                                          error:(NSError**)error {
  return fails(error) ? nil : [self run:input state:nil options:options];
}
- (id<MLFeatureProvider>)predictionFromFeatures:(id<MLFeatureProvider>)input
                                     usingState:(MLState*)state
                                        options:(MLPredictionOptions*)options
                                          error:(NSError**)error {
  return fails(error) ? nil : [self run:input state:(FakeState*)state options:options];
}
@end

@implementation MLNeuralEngineComputeDevice
@end
@implementation MLGPUComputeDevice
@end
@implementation MLCPUComputeDevice
@end
static id<MLComputeDeviceProtocol> device(Class kind) {
  return (id<MLComputeDeviceProtocol>)class_createInstance(kind, 0);
}
NSArray<id<MLComputeDeviceProtocol>>* MLAllComputeDevices(void) {
  return @[ device([MLCPUComputeDevice class]), device([MLNeuralEngineComputeDevice class]) ];
}

// One object for all parts of a structure and a plan: a function with a constant and a product.
@interface FakePlan : NSObject {
 @public
  NSString* name;
}
@end
@implementation FakePlan
- (id)modelStructure {
  return self;
}
- (id)program {
  return self;
}
- (NSDictionary*)functions {
  return @{@"twice" : self};
}
- (id)block {
  return self;
}
- (NSArray*)operations {
  FakePlan* const constant = [[FakePlan alloc] init];
  constant->name = @"w";
  FakePlan* const product = [[FakePlan alloc] init];
  product->name = @"y";
  return @[ constant, product ];
}
- (NSArray*)outputs {
  return @[ self ];
}
- (NSString*)name {
  return name;
}
- (NSString*)operatorName {
  return [name isEqual:@"w"] ? @"const" : @"ios18.conv";
}
- (id)computeDeviceUsageForMLProgramOperation:(FakePlan*)operation {
  return [operation->name isEqual:@"w"] ? nil : self;
}
- (id)estimatedCostOfMLProgramOperation:(FakePlan*)operation {
  return [operation->name isEqual:@"w"] ? nil : self;
}
- (double)weight {
  return 1;
}
- (id)preferredComputeDevice {
  return device([MLNeuralEngineComputeDevice class]);
}
- (NSArray*)supportedComputeDevices {
  return MLAllComputeDevices();
}
@end
@implementation MLComputePlan
+ (void)loadContentsOfURL:(NSURL*)url
            configuration:(MLModelConfiguration*)configuration
        completionHandler:(void (^)(MLComputePlan* _Nullable, NSError* _Nullable))handler {
  [FakeQueue run:^{
    handler((MLComputePlan*)[[FakePlan alloc] init], nil);
  }];
}
@end
