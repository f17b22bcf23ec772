// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calling convention hy-cpu-checked-1: kernels for a CPU that check their accesses.
//
// A checked kernel also gets the bytes of its bindings. At an access outside of a binding, tile or
// array it calls the image's hy_fault_handler, which CpuImage has set to handle_fault(). That
// records the fault and leaves the workgroup, so the access is not made. The callee's side is
// include/halyard/kernel/checked.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/atomic.h"
#include "base/mutex.h"
#include "halyard/base/export.h"
#include "halyard/base/status.h"
#include "kernel/cpu_abi.h"
#include "kernel/hyx.h"
#include "kernel/reflection.h"

namespace halyard::inline v0::kernel {

inline constexpr std::string_view kCheckedCpuConvention = "hy-cpu-checked-1";
inline constexpr const char* kFaultHandler = "hy_fault_handler";

// struct hy_array
struct CheckedArray {
  const char* name;  // null after the last array
  std::size_t count;
  std::size_t is_private;
};

// struct hy_checked_wg
struct CheckedWorkgroup {
  Workgroup at;
  const std::size_t* bytes;
  const CheckedArray* arrays;
};

// struct hy_fault
struct CheckedFault {
  const char* file;
  std::size_t line;
  const char* array;
  std::size_t rank;
  std::size_t is_tile;
  std::size_t index[kMaxRank];
  std::size_t size[kMaxRank];
};

// The first fault of an executable's kernels. Any thread.
class FaultRecord {
 public:
  bool found() const noexcept { return found_.load(std::memory_order_acquire); }
  // kDeviceLost, with OutOfRange as its native error. Precondition: found().
  const Status& cause() const noexcept { return cause_; }
  // Ignored after the first fault.
  void report(std::string_view message) noexcept;

 private:
  base::Mutex mutex_;
  base::Atomic<bool> found_{false};
  Status cause_;  // constant once found_ is set
};

// A dispatch of a checked kernel.
struct CheckedCall {
  CpuEntry entry;
  const KernelInfo* kernel;
  FaultRecord* faults;
  void* buffers[kMaxBindings];
  std::size_t bytes[kMaxBindings];
};

// Runs one workgroup: a CpuEntry whose `buffers` is a CheckedCall. Does nothing once a fault has
// been found. Any thread.
HALYARD_EXPORT void run_checked(const Workgroup* workgroup, void* const* call,
                                const void* constants);

// For the images. Called within run_checked(); does not return.
[[noreturn]] void handle_fault(const CheckedFault* fault);

// "kernel 'saxpy', workgroup (3, 0, 0): y[4096] is beyond its 4096 elements (saxpy.hyk:7)"
std::string describe(const CheckedCall& call, const CheckedWorkgroup& workgroup,
                     const CheckedFault& fault);

}  // namespace halyard::inline v0::kernel
