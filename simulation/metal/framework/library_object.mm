// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLLibrary, MTLFunction and MTLComputePipelineState.
#include <algorithm>
#include <utility>

#include "simulation/metal/framework/library_objects.h"

namespace {

const msl::Argument* argument_at(const msl::Function& function, NSUInteger index) {
  for (const msl::Argument& argument : function.info().arguments) {
    if (argument.kind == msl::ArgumentKind::kBuffer && argument.index == index) return &argument;
  }
  return nullptr;
}

}  // namespace

@implementation SimulatedMetalLibrary
- (void)dealloc {
  metal::count_destroyed(metal::Class::kLibrary);
  [super dealloc];
}
- (MTLLibraryType)type {
  return MTLLibraryTypeExecutable;
}
- (NSString*)installName {
  return nil;
}
- (NSArray*)functionNames {
  NSMutableArray* const names = [NSMutableArray array];
  for (const msl::FunctionInfo& info : library_->functions()) {
    [names addObject:metal::string(info.name)];
  }
  return names;
}
- (SimulatedMetalFunction*)newFunction:(NSString*)name
                                values:(std::span<const msl::ConstantValue>)values
                                 error:(NSError**)error {
  if (metal::is_nil(metal::Class::kFunction)) {
    metal::set_error(error, metal::library_error(MTLLibraryErrorInternal, "out of memory"));
    return nil;
  }
  const std::string wanted = metal::text(name);
  msl::FunctionResult result = library_->function(wanted, values);
  if (result.function == nullptr) {
    const bool is_unknown = result.log.empty();
    metal::set_error(
        error,
        metal::library_error(
            is_unknown ? MTLLibraryErrorFunctionNotFound : MTLLibraryErrorCompileFailure,
            is_unknown ? "function \"" + wanted + "\" does not exist in library" : result.log));
    return nil;
  }
  SimulatedMetalFunction* const made = [[SimulatedMetalFunction alloc] init];
  made->device_ = [device_ retain];
  made->library_ = library_;
  made->source_key_ = source_key_;
  made->function_ = std::move(result.function);
  made->name_ = [metal::string(wanted) retain];
  metal::count_created(metal::Class::kFunction);
  return made;
}
- (id<MTLFunction>)newFunctionWithName:(NSString*)name {
  return [self newFunction:name values:{} error:nullptr];
}
- (id<MTLFunction>)newFunctionWithName:(NSString*)name
                        constantValues:(MTLFunctionConstantValues*)values
                                 error:(NSError**)error {
  const std::vector<msl::ConstantValue> list = metal::values_of(values);
  return [self newFunction:name values:list error:error];
}
- (void)newFunctionWithName:(NSString*)name
             constantValues:(MTLFunctionConstantValues*)values
          completionHandler:(void (^)(id<MTLFunction> function, NSError* error))handler {
  NSError* error = nil;
  id<MTLFunction> const made = [self newFunctionWithName:name constantValues:values error:&error];
  handler(made, error);
  [made release];
}
- (id<MTLFunction>)newFunctionWithDescriptor:(MTLFunctionDescriptor*)descriptor
                                       error:(NSError**)error {
  const std::vector<msl::ConstantValue> list = metal::values_of([descriptor constantValues]);
  return [self newFunction:[descriptor name] values:list error:error];
}
- (void)newFunctionWithDescriptor:(MTLFunctionDescriptor*)descriptor
                completionHandler:(void (^)(id<MTLFunction> function, NSError* error))handler {
  NSError* error = nil;
  id<MTLFunction> const made = [self newFunctionWithDescriptor:descriptor error:&error];
  handler(made, error);
  [made release];
}
@end

@implementation SimulatedMetalFunction
- (void)dealloc {
  metal::count_destroyed(metal::Class::kFunction);
  [name_ release];
  [super dealloc];
}
- (MTLFunctionType)functionType {
  return static_cast<MTLFunctionType>(function_->info().kind);
}
- (NSString*)name {
  return name_;
}
- (MTLFunctionOptions)options {
  return MTLFunctionOptionNone;
}
- (NSDictionary*)functionConstantsDictionary {
  NSMutableDictionary* const all = [NSMutableDictionary dictionary];
  for (const std::uint32_t index : function_->info().constants) {
    for (const msl::FunctionConstant& constant : library_->constants()) {
      if (constant.index != index) continue;
      MTLFunctionConstant* const object = metal::new_function_constant(constant);
      [all setObject:object forKey:metal::string(constant.name)];
      [object release];
    }
  }
  return all;
}
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)index {
  const msl::Argument* const argument = argument_at(*function_, index);
  if (argument == nullptr) {
    metal::report("argument-encoder", "newArgumentEncoderWithBufferIndex: function \"" +
                                          function_->info().name + "\" has no buffer " +
                                          std::to_string(index));
    return nil;
  }
  std::vector<EncodedMember> members;
  std::size_t length = argument->size;
  for (const msl::Member& member : argument->members) {
    for (std::uint32_t i = 0; i < member.array_length; ++i) {
      const std::uint32_t id = member.id >= 0 ? static_cast<std::uint32_t>(member.id) + i
                                              : static_cast<std::uint32_t>(members.size());
      members.push_back(
          {id, member.offset + i * member.array_stride, member.size,
           member.type == msl::DataType::kPointer || member.element_type != msl::DataType::kNone,
           member.name});
    }
    length = std::max<std::size_t>(length, member.offset + member.size);
  }
  if (argument->members.empty() && argument->type == msl::DataType::kPointer) {
    // An array of pointers as the argument itself.
    members.push_back({0, 0, 8, true, argument->name});
  }
  if (members.empty()) {
    metal::report("argument-encoder", "newArgumentEncoderWithBufferIndex: buffer " +
                                          std::to_string(index) + " of \"" +
                                          function_->info().name + "\" is no argument buffer");
    return nil;
  }
  return [SimulatedMetalArgumentEncoder newWithDevice:device_
                                              members:std::move(members)
                                               length:length
                                            alignment:argument->alignment];
}
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)index
                                                 reflection:(MTLArgument**)reflection {
  if (reflection != nullptr) *reflection = nil;
  return [self newArgumentEncoderWithBufferIndex:index];
}
@end

@implementation SimulatedMetalPipeline
- (void)dealloc {
  metal::count_destroyed(metal::Class::kPipeline);
  pipeline_->is_freed.store(true);
  [super dealloc];
}
- (NSUInteger)maxTotalThreadsPerThreadgroup {
  return pipeline_->max_threads;
}
- (NSUInteger)threadExecutionWidth {
  return pipeline_->execution_width;
}
- (NSUInteger)staticThreadgroupMemoryLength {
  return pipeline_->static_threadgroup_bytes;
}
- (MTLSize)requiredThreadsPerThreadgroup {
  const std::uint32_t* const required = pipeline_->function->info().required_threads;
  return MTLSize{required[0], required[1], required[2]};
}
- (MTLShaderValidation)shaderValidation {
  return MTLShaderValidationDefault;
}
- (MTLComputePipelineReflection*)reflection {
  return metal::reflect(pipeline_->function);
}
- (BOOL)supportIndirectCommandBuffers {
  return pipeline_->supports_indirect_command_buffers;
}
- (NSUInteger)allocatedSize {
  return 16384;
}
@end

namespace halyard::inline v0::sim::metal {

SimulatedMetalPipeline* new_pipeline(SimulatedMetalDevice* device, id<MTLFunction> function,
                                     NSUInteger max_threads, bool is_multiple, bool is_indirect,
                                     NSString* label, NSError** error) {
  if (state().is_child.load() || device->device_->is_removed.load() || is_nil(Class::kPipeline)) {
    set_error(error, library_error(MTLLibraryErrorInternal, "the device makes no pipeline"));
    return nil;
  }
  if (function == nil) {
    fail_assertion("nil-function", "newComputePipelineState: the function is nil");
    set_error(error, library_error(MTLLibraryErrorUnsupported, "the function is nil"));
    return nil;
  }
  SimulatedMetalFunction* const object = static_cast<SimulatedMetalFunction*>(function);
  const msl::FunctionInfo& info = object->function_->info();
  if (info.kind != msl::FunctionKind::kKernel) {
    set_error(error, library_error(MTLLibraryErrorUnsupported, info.name + " is no kernel"));
    return nil;
  }
  if (info.static_threadgroup_bytes > 32768) {
    set_error(error, library_error(MTLLibraryErrorUnsupported,
                                   "threadgroup memory of " + info.name + " exceeds 32768 bytes"));
    return nil;
  }
  auto pipeline = std::make_shared<Pipeline>();
  pipeline->function = object->function_;
  pipeline->label = text(label);
  pipeline->max_threads = options().max_threads;
  pipeline->execution_width = options().execution_width;
  if (options().adversities.small_pipelines) {
    // Limits of register-heavy kernels on Apple GPUs, as programs report them.
    const std::uint64_t key = std::hash<std::string>{}(info.name);
    pipeline->max_threads = choose(key, 1, 2) == 0 ? 448 : 832;
    pipeline->execution_width = choose(key, 2, 2) == 0 ? 32 : 64;
  }
  // A program that declares a maximum size gets it.
  if (info.max_total_threads != 0) pipeline->max_threads = info.max_total_threads;
  if (max_threads != 0) pipeline->max_threads = static_cast<std::uint32_t>(max_threads);
  pipeline->max_threads = std::min(pipeline->max_threads, options().max_threads);
  pipeline->static_threadgroup_bytes = info.static_threadgroup_bytes;
  pipeline->is_multiple_of_width = is_multiple;
  pipeline->supports_indirect_command_buffers = is_indirect;
  // Apple, "Metal Feature Set Tables": from Apple9, and Apple8 with Mac2.
  const auto has_family = [&](int family) { return device->device_->supports_family(family); };
  pipeline->has_64_bit_atomics = has_family(1009) || (has_family(1008) && has_family(2002));
  SimulatedMetalPipeline* const made = [[SimulatedMetalPipeline alloc] init];
  made->device_ = [device retain];
  made->pipeline_ = std::move(pipeline);
  made->label_ = [label copy];
  count_created(Class::kPipeline);
  return made;
}

}  // namespace halyard::inline v0::sim::metal
