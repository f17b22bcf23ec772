// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The classes of libraries, functions, pipelines, argument encoders and indirect command buffers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simulation/metal/framework/objects.h"
#include "simulation/metal/msl/library.h"

namespace msl = halyard::sim::msl;

@interface SimulatedMetalLibrary : SimulatedMetalLabelled <MTLLibrary> {
 @public
  std::shared_ptr<const msl::Library> library_;
  std::uint64_t source_key_;  // of the text, for archives
}
@end

@interface SimulatedMetalFunction : SimulatedMetalLabelled <MTLFunction> {
 @public
  std::shared_ptr<const msl::Library> library_;
  std::uint64_t source_key_;  // of the text, for archives
  std::shared_ptr<const msl::Function> function_;
  NSString* name_;
}
@end

@interface SimulatedMetalPipeline : SimulatedMetalObject <MTLComputePipelineState> {
 @public
  std::shared_ptr<const metal::Pipeline> pipeline_;
}
@end

// One member that an argument encoder can set.
struct EncodedMember {
  std::uint32_t id = 0;
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  bool is_pointer = false;
  std::string name;
};

@interface SimulatedMetalArgumentEncoder : SimulatedMetalLabelled <MTLArgumentEncoder> {
 @public
  std::vector<EncodedMember> members_;
  std::size_t length_, alignment_;
  std::shared_ptr<metal::Resource> target_;
  std::size_t target_offset_;
}
// Returns +1, or nil. `members` is not empty.
+ (SimulatedMetalArgumentEncoder*)newWithDevice:(SimulatedMetalDevice*)device
                                        members:(std::vector<EncodedMember>)members
                                         length:(std::size_t)length
                                      alignment:(std::size_t)alignment;
@end

namespace halyard::inline v0::sim::metal {

// The content of one command of an indirect command buffer.
struct IndirectCommand {
  Dispatch dispatch;
  bool has_dispatch = false;
  bool has_barrier = false;
};

}  // namespace halyard::inline v0::sim::metal

// One command. Every call of indirectComputeCommandAtIndex: makes a new object, as in Metal:
// tinygrad (runtime/graph/metal.py) releases each object without a pool and then requests the same
// index again.
@interface SimulatedMetalIndirectCommand : NSObject <MTLIndirectComputeCommand> {
 @public
  std::shared_ptr<metal::IndirectCommand> command_;
  NSUInteger slots_;
}
@end

@interface SimulatedMetalIndirectCommandBuffer : SimulatedMetalResource <MTLIndirectCommandBuffer> {
 @public
  std::shared_ptr<std::vector<metal::IndirectCommand>> commands_;
  NSUInteger slots_;
  bool inherits_buffers_, inherits_pipeline_;
}
@end

namespace halyard::inline v0::sim::metal {

// Bytes of a value of the type; 0 unless it is a scalar or a vector.
std::size_t size_of_type(MTLDataType type);
// The values that a program has set; empty for nil.
std::vector<msl::ConstantValue> values_of(MTLFunctionConstantValues* values);
// +1.
MTLFunctionConstant* new_function_constant(const msl::FunctionConstant& constant);
// +0.
MTLComputePipelineReflection* reflect(const std::shared_ptr<const msl::Function>& function);
// +1, or nil and an error. If `max_threads` is 0, the function's own limit applies.
SimulatedMetalPipeline* new_pipeline(SimulatedMetalDevice* device, id<MTLFunction> function,
                                     NSUInteger max_threads, bool is_multiple, bool is_indirect,
                                     NSString* label, NSError** error);
// +1, or nil and an error.
SimulatedMetalLibrary* new_library(SimulatedMetalDevice* device, const std::string& source,
                                   MTLCompileOptions* options, NSError** error);

}  // namespace halyard::inline v0::sim::metal
