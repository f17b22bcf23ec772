// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hcq::Program: a kernel ready to be queued. ArgsState: its arguments, packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/base/status.h"
#include "halyard/base/workgroup.h"
#include "halyard/hcq/symbol.h"

namespace halyard::inline v0::hcq {

using halyard::Workgroup;

// A view of memory for a queue. The memory's owner keeps it until the work that uses it is
// complete. A cpu device uses any memory of the process.
struct Buffer {
  Buffer() noexcept = default;
  Buffer(std::uint64_t va_addr_, std::uint64_t size_) noexcept : va_addr(va_addr_), size(size_) {}
  Buffer(void* memory, std::uint64_t size_) noexcept
      : va_addr(reinterpret_cast<std::uintptr_t>(memory)), size(size_) {}
  void* pointer() const noexcept { return reinterpret_cast<void*>(va_addr); }

  std::uint64_t va_addr = 0;
  std::uint64_t size = 0;  // bytes
};

// A buffer whose address may be a symbol.
struct BufferOperand {
  BufferOperand(const Buffer& buffer) noexcept : va_addr(buffer.va_addr), size(buffer.size) {}
  BufferOperand(Operand va_addr_, std::uint64_t size_) noexcept : va_addr(va_addr_), size(size_) {}

  Operand va_addr;
  std::uint64_t size;
};

// A typed constant. A type other than the kernel's declaration is an error; there is no conversion.
class Value {
 public:
  enum class Type : std::uint8_t { kInt32, kUint32, kInt64, kUint64, kFloat32, kFloat64 };

  Value(std::int32_t value) noexcept : Value(Type::kInt32, &value, sizeof value) {}
  Value(std::uint32_t value) noexcept : Value(Type::kUint32, &value, sizeof value) {}
  Value(std::int64_t value) noexcept : Value(Type::kInt64, &value, sizeof value) {}
  Value(std::uint64_t value) noexcept : Value(Type::kUint64, &value, sizeof value) {}
  Value(float value) noexcept : Value(Type::kFloat32, &value, sizeof value) {}
  Value(double value) noexcept : Value(Type::kFloat64, &value, sizeof value) {}
  Value(bool) = delete;
  // The value of a symbol: an integer, or the bits of a float.
  Value(Type type, Operand operand) noexcept : operand_(operand), type_(type) {}

  Type type() const noexcept { return type_; }
  const Operand& bits() const noexcept { return operand_; }

  static constexpr std::size_t size_of(Type type) noexcept {
    return type == Type::kInt32 || type == Type::kUint32 || type == Type::kFloat32 ? 4 : 8;
  }

 private:
  Value(Type type, const void* value, std::size_t size) noexcept : type_(type) {
    std::uint64_t bits = 0;
    __builtin_memcpy(&bits, value, size);
    operand_ = bits;
  }

  Operand operand_ = 0;
  Type type_;
};

struct Size3 {
  std::uint32_t x = 1, y = 1, z = 1;
  friend bool operator==(const Size3&, const Size3&) noexcept = default;
};

// A size whose parts may be symbols.
struct Size3Operand {
  Size3Operand(const Size3& size) noexcept : x(size.x), y(size.y), z(size.z) {}
  Size3Operand(Operand x_, Operand y_, Operand z_) noexcept : x(x_), y(y_), z(z_) {}

  Operand x, y, z;
};

// The declaration of a kernel.
struct ProgramInfo {
  struct Constant {
    std::string name;
    Value::Type type;
    std::uint32_t offset;  // in the block of constants, a multiple of the type's size
  };
  std::string name;
  Size3 local_size;
  std::uint32_t buffer_count = 0;
  std::vector<Constant> constants;
  std::uint32_t constants_size = 0;  // bytes of the block; at least the end of the last constant
  std::uint32_t max_local_size = 0;  // in work-items; 0: local_size is the only one
  std::uint64_t reads_only = 0;      // bit i: buffer i is only read (a Graph orders by it)
};

class ProgramObject;
class Device;

// Arguments of a launch, from Program::fill_kernargs(). Must live until the queue that uses it is
// submitted. If the arguments were wrong it carries the error, which CommandQueue::submit()
// returns.
class HALYARD_EXPORT ArgsState {
 public:
  const Status& status() const noexcept { return status_; }

 private:
  friend class Program;
  friend class CommandQueue;
  friend class ComputeQueue;
  Status status_;
  struct Patch {
    Operand operand;
    std::uint32_t word;
    std::uint8_t shift;
    std::uint8_t width;
  };
  Ref<RefCounted> program_;
  std::vector<std::uint64_t> words_;  // as the kernel reads them
  std::vector<Patch> patches_;
  const std::uint64_t* memory_ = nullptr;  // the caller's memory, used instead of words_
};

// A handle; safe from any thread. Queued commands keep the program they run.
class HALYARD_EXPORT Program {
 public:
  Program() noexcept = default;
  explicit Program(Ref<ProgramObject> object) noexcept;

  std::string_view name() const noexcept;  // empty for an empty handle
  Size3 local_size() const noexcept;

  // Packs arguments in the order of the kernel's declaration. The result's status() is
  // kInvalidArgument, naming the parameter, for a wrong number or type.
  ArgsState fill_kernargs(std::span<const BufferOperand> buffers,
                          std::span<const Value> values) const;
  ArgsState fill_kernargs(std::initializer_list<BufferOperand> buffers,
                          std::initializer_list<Value> values = {}) const {
    return fill_kernargs(std::span(buffers.begin(), buffers.size()),
                         std::span(values.begin(), values.size()));
  }
  // Packs arguments into `memory`, from which the kernel reads them; the caller keeps it until the
  // kernel has run. The result's status() may also be kOutOfRange if `memory` is smaller than
  // kernargs_size(), or kInvalidArgument if it is not aligned to 8 bytes or an argument is a
  // symbol.
  ArgsState fill_kernargs(std::span<const BufferOperand> buffers, std::span<const Value> values,
                          std::span<std::byte> memory) const;
  std::size_t kernargs_size() const noexcept;

  // Runs global_size workgroups after all work submitted to `device` so far, and signals its
  // timeline. Blocks only while another thread holds a TimelineTurn of the device; the caller must
  // not hold one. Errors: those of CommandQueue::submit(); kInvalidArgument for a symbol in `args`.
  Status launch(Device& device, const ArgsState& args, Size3 global_size) const;
  // Like launch(), and waits. Returns how long the kernel ran, without the time in the queue.
  // Errors: also kDeadlineExceeded; the kernel then still runs.
  Result<Nanoseconds> launch_and_wait(Device& device, const ArgsState& args, Size3 global_size,
                                      Deadline deadline = kForever) const;

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const Program& a, const Program& b) noexcept = default;
  ProgramObject* object() const noexcept;

 private:
  Ref<RefCounted> object_;
};

}  // namespace halyard::inline v0::hcq
