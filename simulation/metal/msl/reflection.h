// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reflection of a function in the Metal Shading Language: its arguments, its function constants
// and its limits. Enumerations that Metal also has use Metal's values (MTLArgument.h,
// MTLLibrary.h), so a framework can return them unchanged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace halyard::inline v0::sim::msl {

// As MTLDataType; those that arguments of compute functions have.
enum class DataType : std::uint32_t {
  kNone = 0,
  kStruct = 1,
  kArray = 2,
  kFloat = 3,  // vectors of 2, 3 and 4 follow each scalar
  kHalf = 16,
  kInt = 29,
  kUint = 33,
  kShort = 37,
  kUshort = 41,
  kChar = 45,
  kUchar = 49,
  kBool = 53,
  kTexture = 58,
  kSampler = 59,
  kPointer = 60,
  kLong = 81,
  kUlong = 85,
  kBfloat = 121,
};

// As MTLFunctionType. Only compute functions can run; the others are listed.
enum class FunctionKind : std::uint8_t { kVertex = 1, kFragment = 2, kKernel = 3, kVisible = 5 };

// As MTLArgumentType.
enum class ArgumentKind : std::uint8_t {
  kBuffer = 0,
  kThreadgroup = 1,
  kTexture = 2,
  kSampler = 3
};

// As MTLArgumentAccess. Of a buffer: kReadOnly if it is `constant` or `const device`.
enum class Access : std::uint8_t { kReadOnly = 0, kReadWrite = 1, kWriteOnly = 2 };

// A member of a struct that an argument points to. `offset` is the byte offset in the struct.
struct Member {
  std::string name;
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  std::uint32_t alignment = 0;
  DataType type = DataType::kNone;
  // The index of [[id(n)]], which MTLArgumentEncoder uses; -1 if the struct is not an argument
  // buffer. A member without the attribute has the index after the previous member.
  std::int32_t id = -1;
  // The number of elements if the member is an array, otherwise 1. Element i of an array has the id
  // `id + i`.
  std::uint32_t array_length = 1;
  std::uint32_t array_stride = 0;
  // The pointee of a kPointer. A pointer is an address of 8 bytes.
  Access access = Access::kReadOnly;
  DataType element_type = DataType::kNone;
  std::uint32_t element_size = 0;
  std::uint32_t element_alignment = 0;
};

struct Argument {
  std::string name;
  ArgumentKind kind = ArgumentKind::kBuffer;
  std::uint32_t index = 0;  // of [[buffer(n)]] or [[threadgroup(n)]], or the next free
  Access access = Access::kReadOnly;
  bool constant_space = false;      // `constant`: stricter alignment of offsets
  DataType type = DataType::kNone;  // of the element that the pointer or reference names
  std::uint32_t size = 0;           // bytes of an element; 0 for void
  std::uint32_t alignment = 0;
  bool active = true;           // false: [[function_constant(c)]] with c false or undefined
  std::vector<Member> members;  // of a struct; empty if the library could not follow it
  // Some member is a pointer: the buffer is an argument buffer.
  bool argument_buffer = false;
};

struct FunctionConstant {
  std::string name;
  std::uint32_t index = 0;
  DataType type = DataType::kNone;
  bool required = false;  // the text has no is_function_constant_defined() for it
};

struct FunctionInfo {
  std::string name;  // from [[host_name("...")]] if present
  FunctionKind kind = FunctionKind::kKernel;
  std::vector<Argument> arguments;       // in the order of declaration, without built-in inputs
  std::vector<std::uint32_t> constants;  // indices of the function constants that it may use
  // [[max_total_threads_per_threadgroup(n)]], or 0.
  std::uint32_t max_total_threads = 0;
  // [[required_threads_per_threadgroup(x, y, z)]], or 0.
  std::uint32_t required_threads[3] = {0, 0, 0};
  // Bytes of the `threadgroup` variables that the function and its callees declare.
  std::uint32_t static_threadgroup_bytes = 0;
};

}  // namespace halyard::inline v0::sim::msl
