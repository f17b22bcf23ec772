// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Misuse of Metal, and counts of objects by class, which process.h returns to tests. Any thread may
// call these functions; the lock of this file is the innermost lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace halyard::inline v0::sim::metal {

// Records that the program violates Apple's documents or relies on undefined behaviour. `rule` is a
// short name, the key of the report; `text` is one sentence that names the object, the operation
// and the value.
void report(const char* rule, const std::string& text);
// The same for a rule that programs violate because Apple silicon permits it. In lenient mode this
// is a note.
void report_tolerated(const char* rule, const std::string& text);
// Reports a violation that Metal itself asserts, then calls abort() unless options().aborts is
// false.
void fail_assertion(const char* rule, const std::string& text);

// Classes whose objects are counted.
enum class Class : std::uint8_t {
  kCommandQueue,
  kCommandBuffer,
  kComputeEncoder,
  kBlitEncoder,
  kBuffer,
  kHeap,
  kEvent,
  kSharedEvent,
  kSharedEventListener,
  kFence,
  kLibrary,
  kFunction,
  kPipeline,
  kArgumentEncoder,
  kIndirectCommandBuffer,
  kResidencySet,
  kBinaryArchive,
  kCounterSampleBuffer,
  kCaptureScope,
  kDescriptor,
  kCount,
};
const char* name(Class object_class);

// Counts the creation, and returns true if the options make it fail with nil.
bool is_nil(Class object_class);
void count_created(Class object_class);
void count_destroyed(Class object_class);
// Called for a new process.
void reset_counts();

}  // namespace halyard::inline v0::sim::metal
