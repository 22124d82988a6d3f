// SPDX-License-Identifier: Apache-2.0
// The private classes of the Neural Engine, as far as they are called: no SDK declares them. Their
// methods are those that others found (docs/ane-laws.md). They are looked up by name, so nothing is
// linked. Objective-C: only .mm files include it.
#pragma once

#import <Foundation/Foundation.h>
#import <IOSurface/IOSurface.h>

NS_ASSUME_NONNULL_BEGIN

@protocol AnemoneAneModel <NSObject>
- (NSString*)hexStringIdentifier;
- (BOOL)compileWithQoS:(unsigned int)qos
               options:(NSDictionary*)options
                 error:(NSError* _Nullable* _Nullable)error;
- (BOOL)loadWithQoS:(unsigned int)qos
            options:(NSDictionary*)options
              error:(NSError* _Nullable* _Nullable)error;
- (BOOL)evaluateWithQoS:(unsigned int)qos
                options:(NSDictionary*)options
                request:(id)request
                  error:(NSError* _Nullable* _Nullable)error;
- (BOOL)unloadWithQoS:(unsigned int)qos error:(NSError* _Nullable* _Nullable)error;
@end

// Class methods, as methods of the class object.
@protocol AnemoneAneClass
- (nullable id)modelWithMILText:(NSData*)text
                        weights:(NSDictionary*)weights
                   optionsPlist:(nullable NSData*)options;
- (nullable id<AnemoneAneModel>)inMemoryModelWithDescriptor:(id)descriptor;
- (nullable id)objectWithIOSurface:(IOSurface*)surface;
- (nullable id)requestWithInputs:(NSArray*)inputs
                    inputIndices:(NSArray<NSNumber*>*)inputIndices
                         outputs:(NSArray*)outputs
                   outputIndices:(NSArray<NSNumber*>*)outputIndices
                   weightsBuffer:(nullable id)weights
                       perfStats:(nullable id)stats
                  procedureIndex:(NSNumber*)procedure;
@end

namespace anemone::exec::ane_direct {

inline constexpr const char* kDescriptorClass = "_ANEInMemoryModelDescriptor";
inline constexpr const char* kModelClass = "_ANEInMemoryModel";
inline constexpr const char* kSurfaceClass = "_ANEIOSurfaceObject";
inline constexpr const char* kRequestClass = "_ANERequest";

// All methods that are called. A system that lacks one has no runtime.
struct PrivateMethod {
  const char* owner;
  const char* name;
  bool is_of_class;  // else of its objects
};
inline constexpr PrivateMethod kPrivateMethods[] = {
    {kDescriptorClass, "modelWithMILText:weights:optionsPlist:", true},
    {kModelClass, "inMemoryModelWithDescriptor:", true},
    {kSurfaceClass, "objectWithIOSurface:", true},
    {kRequestClass,
     "requestWithInputs:inputIndices:outputs:outputIndices:weightsBuffer:perfStats:procedureIndex:",
     true},
    {kModelClass, "hexStringIdentifier", false},
    {kModelClass, "compileWithQoS:options:error:", false},
    {kModelClass, "loadWithQoS:options:error:", false},
    {kModelClass, "evaluateWithQoS:options:request:error:", false},
    {kModelClass, "unloadWithQoS:error:", false},
};

}  // namespace anemone::exec::ane_direct

NS_ASSUME_NONNULL_END
