// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/stream/fake_library.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/thread.h"
#include "kernel/cpu_image.h"
#include "simulation/stream/fake_stream.h"

namespace halyard::inline v0::stream::fake {

class Module {
 public:
  Module(Context& its_context, Ref<kernel::CpuImage> its_image) noexcept
      : context(its_context), image(std::move(its_image)) {}

  Context& context;
  const Ref<kernel::CpuImage> image;
};

namespace {

constexpr std::size_t kAlignment = 4096;  // of memory; CUDA's has 256 at least

// The state of a thread that differs from the initial one.
struct ThreadState {
  std::uint64_t thread = 0;
  Context* current = nullptr;
  CaptureMode capture_mode = CaptureMode::kGlobal;
  bool runs_host_functions = false;

  bool is_plain() const noexcept {
    return current == nullptr && capture_mode == CaptureMode::kGlobal && !runs_host_functions;
  }
};

// A process-wide object that is never destroyed: streams may run until the process ends.
struct Library {
  base::Mutex mutex;  // guards the members that are not atomic
  Context* contexts[kMaxDevices] = {};
  ThreadState threads[1024];
  std::size_t thread_count = 0;

  base::Atomic<std::uint32_t> captures{0};
  base::Atomic<std::uint64_t> violations{0};
  base::Atomic<const char*> latest_violation{""};
  base::Atomic<std::uint64_t> watched_thread{0};
  base::Atomic<std::uint64_t> watched_frees{0};
};
constinit Library library;

// The state of `thread`, or the end of the states. The lock is held.
ThreadState* find(std::uint64_t thread) noexcept {
  return std::find_if(library.threads, library.threads + library.thread_count,
                      [&](const ThreadState& it) { return it.thread == thread; });
}

ThreadState this_thread_state() noexcept {
  const std::uint64_t self = base::this_thread();
  base::LockGuard lock(library.mutex);
  const ThreadState* const known = find(self);
  return known != library.threads + library.thread_count ? *known : ThreadState{.thread = self};
}

// Returns false if there are too many threads.
bool store(const ThreadState& state) noexcept {
  base::LockGuard lock(library.mutex);
  ThreadState* const known = find(state.thread);
  const bool is_known = known != library.threads + library.thread_count;
  if (!is_known && state.is_plain()) return true;
  if (!is_known && library.thread_count++ == std::size(library.threads)) {
    --library.thread_count;
    return false;
  }
  *known = state.is_plain() ? library.threads[--library.thread_count] : state;
  return true;
}

enum class Capture : std::uint8_t { kSafe, kUnsafe };

// The first check of every call. `context` is null if the call needs no context.
Code enter(const ThreadState& state, const Context* context, Capture capture) noexcept {
  if (state.runs_host_functions) {
    note_violation("a call in a host function");
    return Code::kNotPermitted;
  }
  if (context == nullptr) return Code::kSuccess;
  if (state.current != context) {
    note_violation("a call on a thread with another current context");
    return Code::kInvalidContext;
  }
  if (capture == Capture::kUnsafe && state.capture_mode != CaptureMode::kRelaxed &&
      library.captures.load() != 0) {
    note_violation("an unsafe call during a capture");
    return Code::kCaptureUnsupported;
  }
  return context->faulted.load(std::memory_order_seq_cst) ? Code::kLaunchFailed : Code::kSuccess;
}

Code enter(const Context& context, Capture capture = Capture::kSafe) noexcept {
  return enter(this_thread_state(), &context, capture);
}

// First check of calls that create an object in the current context.
Code enter_current(Context*& context) noexcept {
  const ThreadState state = this_thread_state();
  context = state.current;
  if (context == nullptr && !state.runs_host_functions) {
    note_violation("a call on a thread without a current context");
    return Code::kInvalidContext;
  }
  return enter(state, context, Capture::kUnsafe);
}

}  // namespace

Code enter_unsafe() noexcept {
  Context* context = nullptr;
  return enter_current(context);
}

namespace {

// First check of calls that stop or free: notes violations, but the call continues, so that nothing
// leaks.
void enter_to_end(const Context& context) noexcept { (void)enter(context, Capture::kUnsafe); }
void enter_to_free(const Context& context) noexcept {
  if (base::this_thread() == library.watched_thread.load()) library.watched_frees.fetch_add(1);
  enter_to_end(context);
}

// Precedes memory, in a separate page.
struct Block {
  Context* context;
  std::size_t mapped;  // bytes; 0: of the heap, where sanitizers watch its bounds
};

Code launch(const Function& function, const std::uint32_t* groups, Address counts,
            const std::byte* arguments, std::size_t size, Stream* stream) noexcept {
  if (const Code code = enter(stream->context); code != Code::kSuccess) return code;
  std::unique_ptr<Packet> packet = stream->packet(Packet::Kind::kLaunch);
  if (packet == nullptr) return Code::kOutOfMemory;
  packet->arguments.shrink(0);
  if (!packet->arguments.grow(size)) return Code::kOutOfMemory;
  std::copy_n(arguments, size, packet->arguments.data());
  packet->function = function;
  packet->source = counts;
  if (groups != nullptr) std::copy_n(groups, 3, packet->groups);
  stream->push(std::move(packet));
  return Code::kSuccess;
}

}  // namespace

const char* name_of(Code code) noexcept {
  switch (code) {
    case Code::kSuccess:
      return "FAKE_SUCCESS";
    case Code::kInvalidValue:
      return "FAKE_ERROR_INVALID_VALUE";
    case Code::kOutOfMemory:
      return "FAKE_ERROR_OUT_OF_MEMORY";
    case Code::kInvalidContext:
      return "FAKE_ERROR_INVALID_CONTEXT";
    case Code::kNoBinary:
      return "FAKE_ERROR_NO_BINARY_FOR_DEVICE";
    case Code::kOperatingSystem:
      return "FAKE_ERROR_OPERATING_SYSTEM";
    case Code::kInvalidHandle:
      return "FAKE_ERROR_INVALID_HANDLE";
    case Code::kNotFound:
      return "FAKE_ERROR_NOT_FOUND";
    case Code::kNotReady:
      return "FAKE_ERROR_NOT_READY";
    case Code::kLaunchFailed:
      return "FAKE_ERROR_LAUNCH_FAILED";
    case Code::kNotPermitted:
      return "FAKE_ERROR_NOT_PERMITTED";
    case Code::kCaptureUnsupported:
      return "FAKE_ERROR_STREAM_CAPTURE_UNSUPPORTED";
    case Code::kUnknown:
      break;
  }
  return "FAKE_ERROR_UNKNOWN";
}

// --- contexts ------------------------------------------------------------------------------------

Code retain_primary_context(unsigned ordinal, Context*& context) noexcept {
  if (ordinal >= kMaxDevices) return Code::kInvalidValue;
  base::LockGuard lock(library.mutex);
  Context*& primary = library.contexts[ordinal];
  if (primary == nullptr) primary = new (std::nothrow) Context(ordinal);
  if (primary == nullptr) return Code::kOutOfMemory;
  ++primary->holders;
  context = primary;
  return Code::kSuccess;
}

Code release_primary_context(unsigned ordinal) noexcept {
  std::unique_ptr<Context> last;
  {
    base::LockGuard lock(library.mutex);
    Context*& primary = library.contexts[ordinal];
    if (primary == nullptr) return Code::kInvalidContext;
    if (--primary->holders == 0) last.reset(std::exchange(primary, nullptr));
    for (std::size_t i = 0; last != nullptr && i < library.thread_count; ++i) {
      ThreadState& state = library.threads[i];
      if (state.current == last.get()) state.current = nullptr;
    }
  }
  if (last != nullptr && last->objects.load() != 0) {
    note_violation("a context ends before what was made in it");
  }
  return Code::kSuccess;
}

Code get_current_context(Context*& context) noexcept {
  const ThreadState state = this_thread_state();
  context = state.current;
  return enter(state, nullptr, Capture::kSafe);
}

Code set_current_context(Context* context) noexcept {
  ThreadState state = this_thread_state();
  const Code code = enter(state, nullptr, Capture::kSafe);
  if (code != Code::kSuccess) return code;
  state.current = context;
  return store(state) ? Code::kSuccess : Code::kOutOfMemory;
}

Code exchange_capture_mode(CaptureMode& mode) noexcept {
  ThreadState state = this_thread_state();
  const Code code = enter(state, nullptr, Capture::kSafe);
  if (code != Code::kSuccess) return code;
  const CaptureMode before = std::exchange(state.capture_mode, mode);
  if (!store(state)) return Code::kOutOfMemory;
  mode = before;
  return Code::kSuccess;
}

void enter_host_functions() noexcept {
  (void)store({.thread = base::this_thread(), .runs_host_functions = true});
}
void leave_host_functions() noexcept { (void)store({.thread = base::this_thread()}); }

// --- streams and events --------------------------------------------------------------------------

Code create_stream(Stream*& stream, bool unstoppable) noexcept {
  Context* context = nullptr;
  Code code = enter_current(context);
  if (code != Code::kSuccess) return code;
  std::unique_ptr<Stream> made(new (std::nothrow) Stream(*context, unstoppable));
  if (made == nullptr) return Code::kOutOfMemory;
  code = made->start();
  if (code != Code::kSuccess) return code;
  context->objects.fetch_add(1);
  stream = made.release();
  return Code::kSuccess;
}

Code synchronize(Stream* stream) noexcept {
  enter_to_end(stream->context);
  while (!stream->drained()) base::spin_yield();
  return Code::kSuccess;
}

Code stop(Stream* stream) noexcept {
  enter_to_end(stream->context);
  if (stream->stop()) return Code::kSuccess;
  // As in CUDA, nothing reports that the work of a context with a fault has ended.
  const bool faulted = stream->context.faulted.load(std::memory_order_seq_cst);
  return faulted && stream->unstoppable() ? Code::kLaunchFailed : Code::kNotReady;
}

Code destroy(Stream* stream) noexcept {
  Context& context = stream->context;
  enter_to_free(context);
  delete stream;
  context.objects.fetch_sub(1);
  return Code::kSuccess;
}

Code query(Stream* stream) noexcept {
  const Code code = enter(stream->context, Capture::kUnsafe);
  return code != Code::kSuccess || stream->drained() ? code : Code::kNotReady;
}

Code create_event(Event*& event) noexcept {
  Context* context = nullptr;
  if (const Code code = enter_current(context); code != Code::kSuccess) return code;
  event = new (std::nothrow) Event(*context);
  if (event == nullptr) return Code::kOutOfMemory;
  context->objects.fetch_add(1);
  return Code::kSuccess;
}

Code destroy(Event* event) noexcept {
  enter_to_free(event->context);
  event->context.objects.fetch_sub(1);
  event->release();
  return Code::kSuccess;
}

Code record(Event* event, Stream* stream) noexcept {
  if (const Code code = enter(stream->context); code != Code::kSuccess) return code;
  if (&event->context != &stream->context) {
    note_violation("an event is recorded in a stream of another context");
    return Code::kInvalidHandle;
  }
  std::unique_ptr<Packet> packet = stream->packet(Packet::Kind::kRecord);
  if (packet == nullptr) return Code::kOutOfMemory;
  packet->event = Ref<Event>(event);
  packet->generation = event->begin_record();
  stream->push(std::move(packet));
  return Code::kSuccess;
}

Code query(Event* event) noexcept {
  const Code code = enter(event->context, Capture::kUnsafe);
  if (code != Code::kSuccess) return code;
  return event->passed(event->recorded()) ? Code::kSuccess : Code::kNotReady;
}

Code wait(Stream* stream, Event* event) noexcept {
  if (const Code code = enter(stream->context); code != Code::kSuccess) return code;
  const std::uint64_t generation = event->recorded();
  if (event->passed(generation)) return Code::kSuccess;
  std::unique_ptr<Packet> packet = stream->packet(Packet::Kind::kWait);
  if (packet == nullptr) return Code::kOutOfMemory;
  packet->event = Ref<Event>(event);
  packet->generation = generation;
  stream->push(std::move(packet));
  return Code::kSuccess;
}

Code launch_host_function(Stream* stream, HostFunction function, void* argument) noexcept {
  Code code = enter(stream->context);
  if (code == Code::kSuccess) code = stream->context.start_host_thread();
  if (code != Code::kSuccess) return code;
  std::unique_ptr<Packet> packet = stream->packet(Packet::Kind::kHostCall);
  if (packet == nullptr) return Code::kOutOfMemory;
  packet->host_function = function;
  packet->argument = argument;
  stream->push(std::move(packet));
  return Code::kSuccess;
}

// --- memory and kernels --------------------------------------------------------------------------

// Allocations of at least this size are mapped separately, so that untouched pages cost nothing.
// Sanitizers track every byte of the heap, so freeing gigabytes there takes seconds.
constexpr std::uint64_t kMapFrom = std::uint64_t{1} << 20;

Code allocate(Address& address, std::uint64_t size) noexcept {
  Context* context = nullptr;
  if (const Code code = enter_current(context); code != Code::kSuccess) return code;
  if (size > ~std::uint64_t{0} - 2 * kAlignment) return Code::kOutOfMemory;
  const std::size_t total = kAlignment + (size + kAlignment) / kAlignment * kAlignment;
  const std::size_t mapped = total >= kMapFrom ? total : 0;
  void* const memory = mapped == 0 ? std::aligned_alloc(kAlignment, total)
                                   : mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == nullptr || memory == MAP_FAILED) return Code::kOutOfMemory;
  ::new (memory) Block{context, mapped};
  context->objects.fetch_add(1);
  address = reinterpret_cast<std::uintptr_t>(memory) + kAlignment;
  return Code::kSuccess;
}

Code free(Address address) noexcept {
  auto* const memory = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
  auto* const block = reinterpret_cast<Block*>(memory - kAlignment);
  Context& context = *block->context;
  enter_to_free(context);
  if (block->mapped != 0) {
    munmap(block, block->mapped);
  } else {
    std::free(block);
  }
  context.objects.fetch_sub(1);
  return Code::kSuccess;
}

Code fill_async(Address target, std::uint32_t pattern, std::uint32_t pattern_size,
                std::uint64_t size, Stream* stream) noexcept {
  if (const Code code = enter(stream->context); code != Code::kSuccess) return code;
  if (target % pattern_size != 0 || size % pattern_size != 0) return Code::kInvalidValue;
  std::unique_ptr<Packet> packet = stream->packet(Packet::Kind::kFill);
  if (packet == nullptr) return Code::kOutOfMemory;
  packet->target = target;
  packet->pattern = pattern;
  packet->pattern_size = pattern_size;
  packet->size = size;
  stream->push(std::move(packet));
  return Code::kSuccess;
}

Code copy_async(Address target, Address source, std::uint64_t size, Stream* stream) noexcept {
  if (const Code code = enter(stream->context); code != Code::kSuccess) return code;
  std::unique_ptr<Packet> packet = stream->packet(Packet::Kind::kCopy);
  if (packet == nullptr) return Code::kOutOfMemory;
  packet->target = target;
  packet->source = source;
  packet->size = size;
  stream->push(std::move(packet));
  return Code::kSuccess;
}

Code load_module(Module*& module, const kernel::Hyx& file, Status& why) noexcept {
  Context* context = nullptr;
  if (const Code code = enter_current(context); code != Code::kSuccess) return code;
  Result<Ref<kernel::CpuImage>> image = kernel::CpuImage::load(file);
  if (!image.ok()) {
    why = image.status();
    return Code::kNoBinary;
  }
  module = new (std::nothrow) Module(*context, *std::move(image));
  if (module == nullptr) return Code::kOutOfMemory;
  context->objects.fetch_add(1);
  return Code::kSuccess;
}

Code unload(Module* module) noexcept {
  Context& context = module->context;
  enter_to_free(context);
  delete module;
  context.objects.fetch_sub(1);
  return Code::kSuccess;
}

Code get_function(Function& function, Module* module, const kernel::KernelInfo& kernel,
                  Status& why) noexcept {
  if (const Code code = enter(module->context); code != Code::kSuccess) return code;
  const Result<kernel::CpuEntry> entry = module->image->entry(kernel.name);
  if (!entry.ok()) {
    why = entry.status();
    return Code::kNotFound;
  }
  function = {.entry = *entry, .binding_count = static_cast<std::uint32_t>(kernel.bindings.size())};
  return Code::kSuccess;
}

Code launch_kernel(const Function& function, const std::uint32_t (&groups)[3],
                   const std::byte* arguments, std::size_t size, Stream* stream) noexcept {
  if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) return Code::kInvalidValue;
  return launch(function, groups, 0, arguments, size, stream);
}

Code launch_kernel_indirect(const Function& function, Address counts, const std::byte* arguments,
                            std::size_t size, Stream* stream) noexcept {
  return launch(function, nullptr, counts, arguments, size, stream);
}

// --- for tests -----------------------------------------------------------------------------------

void note_violation(const char* what) noexcept {
  library.latest_violation.store(what);
  library.violations.fetch_add(1);
}
std::uint64_t violations() noexcept { return library.violations.load(); }
const char* latest_violation() noexcept { return library.latest_violation.load(); }

void fault(unsigned ordinal) noexcept {
  base::LockGuard lock(library.mutex);
  if (Context* const context = library.contexts[ordinal]) {
    context->faulted.store(true, std::memory_order_seq_cst);
  }
}

void begin_capture() noexcept { library.captures.fetch_add(1); }
void end_capture() noexcept { library.captures.fetch_sub(1); }

void watch_frees(std::uint64_t thread) noexcept {
  library.watched_thread.store(thread);
  library.watched_frees.store(0);
}
std::uint64_t watched_frees() noexcept { return library.watched_frees.load(); }

}  // namespace halyard::inline v0::stream::fake
