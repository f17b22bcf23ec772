// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Misuse of Metal, and counts of objects by class, as process.h gives them to tests. Any thread;
// the lock of this file is the innermost one.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace halyard::inline v0::sim::metal {

// Records that the program does what Apple's documents forbid or leave undefined. `rule` is a
// short name, the key of the report; `text` is one sentence that names the object, the operation
// and the value.
void report(const char* rule, const std::string& text);
// The same for a rule that programs break because Apple silicon lets them: in lenient mode a note.
void report_tolerated(const char* rule, const std::string& text);
// Reports what Metal's own assertion would stop, then calls abort() unless options().aborts is
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

// True if the options say that this creation gives nil. Counts the attempt.
bool is_nil(Class object_class);
void count_created(Class object_class);
void count_destroyed(Class object_class);
// For a new process.
void reset_counts();

}  // namespace halyard::inline v0::sim::metal
