// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reflection of a function's arguments: MTLBinding and the older MTLArgument. Types of struct
// members are not reflected.
#include "simulation/metal/framework/device_objects.h"

@interface SimulatedMetalBinding : NSObject <MTLBufferBinding, MTLThreadgroupBinding> {
 @public
  std::shared_ptr<const msl::Function> function_;
  const msl::Argument* argument_;
  NSString* name_;
}
@end

@implementation SimulatedMetalBinding
- (void)dealloc {
  [name_ release];
  [super dealloc];
}
- (NSString*)name {
  return name_;
}
- (MTLBindingType)type {
  return static_cast<MTLBindingType>(argument_->kind);
}
- (MTLBindingAccess)access {
  return static_cast<MTLBindingAccess>(argument_->access);
}
- (NSUInteger)index {
  return argument_->index;
}
- (BOOL)isUsed {
  return argument_->active;
}
- (BOOL)isArgument {
  return YES;
}
- (NSUInteger)bufferAlignment {
  return argument_->alignment;
}
- (NSUInteger)bufferDataSize {
  return argument_->size;
}
- (MTLDataType)bufferDataType {
  return static_cast<MTLDataType>(argument_->type);
}
- (MTLStructType*)bufferStructType {
  return nil;
}
- (MTLPointerType*)bufferPointerType {
  return nil;
}
- (NSUInteger)threadgroupMemoryAlignment {
  return argument_->alignment;
}
- (NSUInteger)threadgroupMemoryDataSize {
  return argument_->size;
}
@end

@interface MTLArgument () {
 @public
  SimulatedMetalBinding* binding_;
}
@end

@implementation MTLArgument
- (void)dealloc {
  [binding_ release];
  [super dealloc];
}
- (NSString*)name {
  return [binding_ name];
}
- (MTLArgumentType)type {
  return static_cast<MTLArgumentType>([binding_ type]);
}
- (MTLBindingAccess)access {
  return [binding_ access];
}
- (NSUInteger)index {
  return [binding_ index];
}
- (BOOL)isActive {
  return [binding_ isUsed];
}
- (NSUInteger)bufferAlignment {
  return [binding_ bufferAlignment];
}
- (NSUInteger)bufferDataSize {
  return [binding_ bufferDataSize];
}
- (MTLDataType)bufferDataType {
  return [binding_ bufferDataType];
}
- (MTLStructType*)bufferStructType {
  return nil;
}
- (MTLPointerType*)bufferPointerType {
  return nil;
}
- (NSUInteger)threadgroupMemoryAlignment {
  return [binding_ threadgroupMemoryAlignment];
}
- (NSUInteger)threadgroupMemoryDataSize {
  return [binding_ threadgroupMemoryDataSize];
}
- (NSUInteger)arrayLength {
  return 1;
}
@end

@interface MTLComputePipelineReflection () {
 @public
  NSMutableArray* bindings_;
}
@end

@implementation MTLComputePipelineReflection
- (void)dealloc {
  [bindings_ release];
  [super dealloc];
}
- (NSArray*)bindings {
  return bindings_;
}
- (NSArray*)arguments {
  NSMutableArray* const all = [NSMutableArray array];
  for (NSUInteger i = 0; i < [bindings_ count]; ++i) {
    MTLArgument* const one = [[MTLArgument alloc] init];
    one->binding_ = [[bindings_ objectAtIndex:i] retain];
    [all addObject:one];
    [one release];
  }
  return all;
}
@end

namespace halyard::inline v0::sim::metal {

MTLComputePipelineReflection* reflect(const std::shared_ptr<const msl::Function>& function) {
  auto* const reflection = [[[MTLComputePipelineReflection alloc] init] autorelease];
  reflection->bindings_ = [[NSMutableArray alloc] init];
  for (const msl::Argument& argument : function->info().arguments) {
    SimulatedMetalBinding* const one = [[SimulatedMetalBinding alloc] init];
    one->function_ = function;
    one->argument_ = &argument;
    one->name_ = [string(argument.name) retain];
    [reflection->bindings_ addObject:one];
    [one release];
  }
  return reflection;
}

}  // namespace halyard::inline v0::sim::metal
