// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/work.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "simulation/gpu/managed.h"
#include "simulation/gpu/memory.h"
#include "simulation/gpu/module.h"
#include "simulation/gpu/options.h"
#include "simulation/gpu/pool.h"
#include "simulation/gpu/report.h"
#include "simulation/gpu/rules.h"
#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::gpu {

void fail_context(ContextState& context, Result fault) {
  DeviceState& device = state().devices[static_cast<std::size_t>(context.device)];
  if (device.lost == kSuccess) device.lost = fault;
  for (const std::shared_ptr<ContextState>& each : state().contexts) {
    if (each->device == context.device && each->sticky.load() == kSuccess) {
      each->sticky.store(fault);
    }
  }
  open_managed_memory();
  switch (rules().fault_reach()) {
    case FaultReach::kDevice:
      break;
    case FaultReach::kProcess:
      state().lost.store(fault);
      break;
    case FaultReach::kAbort:
      std::fprintf(stderr, "simulated %s: a fault of device %d ends the process\n", rules().product,
                   context.device);
      write_report();
      std::abort();
  }
}

ContextState* context_of(const Work& work) {
  if (const auto* const kernel = std::get_if<KernelWork>(&work)) return kernel->context;
  if (const auto* const copy = std::get_if<CopyWork>(&work)) return copy->context;
  if (const auto* const fill = std::get_if<FillWork>(&work)) return fill->context;
  return nullptr;
}

GraphMemory::~GraphMemory() {
  if (is_live) return;  // the program frees it
  const std::optional<Allocation> found = sim::gpu::memory().find(address);
  if (found && found->id == id) sim::gpu::memory().remove(address);
}

std::shared_ptr<GraphMemory> make_graph_memory(DevicePointer address) {
  auto made = std::make_shared<GraphMemory>();
  made->address = address;
  made->id = memory().find(address)->id;
  std::erase_if(state().graph_memory, [](const auto& each) { return each.second.expired(); });
  state().graph_memory[address] = made;
  return made;
}

std::shared_ptr<GraphMemory> graph_memory_at(DevicePointer address) {
  const auto at = state().graph_memory.find(address);
  std::shared_ptr<GraphMemory> of = at != state().graph_memory.end() ? at->second.lock() : nullptr;
  if (of == nullptr) return nullptr;
  // The end of a context frees the memory, and other memory may have reused the address.
  const std::optional<Allocation> found = memory().find(address);
  return found && found->id == of->id ? of : nullptr;
}

namespace {

constexpr Nanoseconds kPollPause = 20'000;

void run_in_program(const std::function<void()>& function) {
  ThreadState& thread = this_thread();
  thread.is_in_host_function = true;
  function();
  thread.is_in_host_function = false;
}

// The thread that runs all host functions, for libraries that have such a thread.
void run_host_calls(void*) {
  Lock lock(state().mutex);
  State& all = state();
  for (;;) {
    all.host_call_arrived.wait(lock, [&] { return !all.host_calls.empty() || all.is_ending; });
    if (all.host_calls.empty()) break;
    HostCall& next = *all.host_calls.front();
    lock.unlock();
    run_in_program(next.function);
    lock.lock();
    all.host_calls.pop_front();
    next.is_done = true;
    all.progress.notify_all();
  }
  --all.stream_threads;
  all.progress.notify_all();
}

void call_on_host_thread(std::function<void()> function) {
  HostCall call{std::move(function)};
  Lock lock(state().mutex);
  State& all = state();
  if (!all.has_host_thread) {
    all.has_host_thread = true;
    ++all.stream_threads;
    if (all.host_thread.start("host functions", &run_host_calls, nullptr) != 0) {
      std::fprintf(stderr, "simulated %s: the system gives no thread for host functions\n",
                   rules().product);
      std::abort();
    }
    all.host_thread.detach();
  }
  all.host_calls.push_back(&call);
  all.host_call_arrived.notify_all();
  all.progress.wait(lock, [&] { return call.is_done; });
}

// Runs a function of the program, in which calls of the API are misuse. cuda.h, cuLaunchHostFunc:
// "Host functions without a mandated order (such as in independent streams) execute in undefined
// order and may be serialized." An H200 serializes them: a function that waits delays those of all
// other streams. HIP has a single thread for them (ROCr's handler of asynchronous events).
template <class Function>
void call_program(ContextState& context, Function function) {
  if (rules().has_host_thread) return call_on_host_thread(function);
  const Lock lock(context.host_functions);
  run_in_program(function);
}

// The program's function has cuda.h's type, of which this library has its own declaration.
#ifdef __clang__
[[clang::no_sanitize("function")]]
#endif
void call_back(const CallbackWork& work, Result status) {
  work.callback(work.stream, status, work.data);
}

// Sets a fault of work in `stream`, for the context of the work and for the stream, which stops.
void set_fault(ContextState& context, StreamState& stream, Result fault) {
  const std::lock_guard lock(state().mutex);
  fail_context(context, fault);
  if (stream.context != &context) fail_context(*stream.context, fault);
}

Result current_fault(const ContextState& context) {
  const std::lock_guard lock(state().mutex);
  return context.sticky.load();
}

// The rows of a strided copy.
struct Rows {
  std::byte* first = nullptr;
  std::size_t pitch = 0, slice = 0;
};

// The bytes from the first to the last that a side of a copy touches.
std::size_t extent(const Copy3D& copy, std::size_t pitch, std::size_t slice) {
  return (copy.depth - 1) * slice + (copy.height - 1) * pitch + copy.width;
}

bool find_rows(const ContextState& context, MemoryType type, const void* host, DevicePointer device,
               std::size_t offset, std::size_t size, Rows& rows) {
  if (type == kHost) {
    const auto address = reinterpret_cast<DevicePointer>(host) + offset;
    rows.first = reinterpret_cast<std::byte*>(address);
    // cuda.h, CU_MEMORYTYPE_HOST: a pointer of the host; memory of a device is not readable there.
    if (const std::optional<Allocation> found = memory().find(address)) {
      if (size > found->end() - address) return false;
      rows.first = found->host + (address - found->begin);
    }
    return true;
  }
  const DevicePointer address = (type == kUnified ? reinterpret_cast<DevicePointer>(host) : device);
  const DevicePointer begin = (type == kUnified && address == 0 ? device : address) + offset;
  const std::optional<Allocation> found = memory().find(begin);
  if (!found) {
    rows.first = reinterpret_cast<std::byte*>(begin);
    return type == kUnified;  // pageable memory of the host
  }
  if (size > found->end() - begin) return false;
  (void)context;
  rows.first = found->host + (begin - found->begin);
  return true;
}

template <class T>
bool compare(T now, T value, unsigned flags) {
  switch (flags & 3) {
    case 0:
      if (rules().masks_waits) return now >= value;
      return static_cast<std::make_signed_t<T>>(now - value) >= 0;  // cyclic
    case 1:
      return now == value;
    case 2:
      return (now & value) != 0;
    default:
      return static_cast<T>(~(now | value)) != 0;
  }
}

template <class T>
void run_mem_op(std::byte* bytes, const MemOp& op, bool is_wait, const ContextState& context) {
  std::atomic_ref<T> word(*reinterpret_cast<T*>(bytes));
  const T value = static_cast<T>(op.value);
  if (!is_wait) {
    word.store(value, std::memory_order_release);
    return;
  }
  const T mask = rules().masks_waits ? static_cast<T>(op.more) : static_cast<T>(~T{0});
  while (!compare(static_cast<T>(word.load(std::memory_order_acquire) & mask), value, op.flags)) {
    if (current_fault(context) != kSuccess) return;
    sleep_for(kPollPause);
  }
}

// cuda.h, cuStreamWaitValue32: "Synchronization ordering established through this API is not
// visible to CUDA": if the write that ends a wait is submitted later and in another stream, CUDA
// may start the wait first, and would have to run the write while the wait blocks.
void check_order(const MemOp& op, const MemOpWork& work, const StreamState& stream) {
  const Lock lock(state().mutex);
  const auto at = state().writes.find(op.address);
  if (at != state().writes.end() && at->second.stream != stream.id &&
      at->second.order > work.order && work.order != 0) {
    report_misuse("wait-for-a-later-write",
                  std::string(rules().names.wait_value) + " waited for a " +
                      rules().names.write_value +
                      " that was submitted after it to another stream, an order that " +
                      rules().product + " does not see");
  }
}

void run_mem_ops(const MemOpWork& work, StreamState& stream) {
  ContextState& context = *stream.context;
  for (const MemOp& op : work.operations) {
    const bool is_wait = op.operation == 1 || op.operation == 4;
    const bool is_wide = op.operation == 4 || op.operation == 5;
    if (!is_wait && op.operation != 2 && op.operation != 5) continue;  // barriers, flushes
    std::byte* bytes = nullptr;
    {
      const std::lock_guard lock(state().mutex);
      bytes = bytes_of(context, op.address, is_wide ? 8 : 4);
    }
    if (!is_wait) {
      const Lock lock(state().mutex);
      state().writes[op.address] = {stream.id, work.order};
    }
    if (bytes == nullptr) {
      set_fault(context, stream, kIllegalAddress);
    } else if (is_wide) {
      run_mem_op<std::uint64_t>(bytes, op, is_wait, context);
    } else {
      run_mem_op<std::uint32_t>(bytes, op, is_wait, context);
    }
    if (is_wait) check_order(op, work, stream);
  }
}

void run_plan(const Plan& plan, StreamState& stream) {
  const std::size_t count = plan.nodes.size();
  // In adversarial mode, nodes run in any order that respects the dependencies.
  std::vector<bool> done(count);
  for (std::size_t ran = 0; ran < count; ++ran) {
    std::size_t chosen = ran;
    if (options().adversarial) {
      std::vector<std::size_t> ready;
      for (std::size_t node = 0; node < count; ++node) {
        bool is_ready = !done[node];
        for (const std::size_t before : plan.nodes[node].dependencies) is_ready &= done[before];
        if (is_ready) ready.push_back(node);
      }
      chosen = ready[choose(stream.number * 1000 + stream.completed, ran, ready.size())];
    }
    done[chosen] = true;
    if (plan.nodes[chosen].is_enabled) execute(plan.nodes[chosen].work, stream);
  }
}

void finish_record(const RecordWork& work) {
  const std::lock_guard lock(state().mutex);
  std::shared_ptr<Recording> recording = work.recording;
  if (recording == nullptr) {
    recording = work.event->recording = std::make_shared<Recording>();  // of a node
  }
  recording->is_done = true;
  recording->time = now();
  state().progress.notify_all();
}

void finish_free(const FreeWork& work) {
  if (work.memory != nullptr) return;  // the next launch of its node needs it
  const std::lock_guard lock(state().mutex);
  if (const std::optional<Allocation> found = memory().find(work.address)) {
    release_allocation(*found);
  }
}

void wait_in_plan(const WaitWork& work) {
  Lock lock(state().mutex);
  const std::shared_ptr<Recording> recording = work.event->recording;
  if (recording != nullptr) state().progress.wait(lock, [&] { return recording->is_done; });
}

}  // namespace

bool run_copy(const CopyWork& work, ContextState& context) {
  const Copy3D& copy = work.copy;
  if (copy.width == 0 || copy.height == 0 || copy.depth == 0) return true;
  Rows from{nullptr, copy.src_pitch, copy.src_pitch * copy.src_height};
  Rows to{nullptr, copy.dst_pitch, copy.dst_pitch * copy.dst_height};
  if (!work.staged.empty()) {
    from = {const_cast<std::byte*>(work.staged.data()), copy.width, copy.width * copy.height};
  } else if (!find_rows(context, copy.src_type, copy.src_host, copy.src_device,
                        copy.src_z * from.slice + copy.src_y * from.pitch + copy.src_x,
                        extent(copy, from.pitch, from.slice), from)) {
    return false;
  }
  if (!find_rows(context, copy.dst_type, copy.dst_host, copy.dst_device,
                 copy.dst_z * to.slice + copy.dst_y * to.pitch + copy.dst_x,
                 extent(copy, to.pitch, to.slice), to)) {
    return false;
  }
  for (std::size_t z = 0; z < copy.depth; ++z) {
    for (std::size_t y = 0; y < copy.height; ++y) {
      std::memmove(to.first + z * to.slice + y * to.pitch,
                   from.first + z * from.slice + y * from.pitch, copy.width);
    }
  }
  return true;
}

bool exceeds_element(const Fill& fill) {
  return (std::uint64_t{fill.value} >> (8 * fill.element_size)) != 0;
}

bool run_fill(const FillWork& work, ContextState& context) {
  const Fill& fill = work.fill;
  if (fill.width == 0 || fill.height == 0) return true;
  const std::size_t row = fill.width * fill.element_size;
  std::byte* bytes = nullptr;
  {
    const std::lock_guard lock(state().mutex);
    bytes = bytes_of(context, fill.dst, (fill.height - 1) * fill.pitch + row);
  }
  if (bytes == nullptr) return false;
  // As on an H200: the value is or'ed into every element of a word, even where its bits overlap.
  std::uint32_t word = fill.value;
  for (unsigned at = fill.element_size; at < sizeof word; at += fill.element_size) {
    word |= fill.value << (8 * at);
  }
  for (std::size_t y = 0; y < fill.height; ++y, bytes += fill.pitch) {
    if (fill.element_size == 1 && !exceeds_element(fill)) {
      std::memset(bytes, static_cast<int>(fill.value), row);
      continue;
    }
    for (std::size_t at = 0; at < row; at += sizeof word) {
      std::memcpy(bytes + at, &word, std::min(sizeof word, row - at));
    }
  }
  return true;
}

// cuda.h, cuModuleUnload does not define the fate of the module's kernels in flight. Other work in
// flight in the context does not matter: it may belong to another user.
bool is_unloaded(const FunctionState& function, const char* what) {
  const std::lock_guard lock(state().mutex);
  if (function.module->is_unloaded) report_misuse("unload-in-flight", what);
  return function.module->is_unloaded;
}

Result run_kernel(const KernelWork& work, StreamState& stream) {
  // The entry for injected faults such as "kernel@3=ILLEGAL_ADDRESS".
  static constinit Entry kernels("kernel", true);
  const std::uint64_t number = kernels.count();
  if (const int fault = kernels.may_fail() ? kernels.fault(number) : 0; fault != 0) {
    return static_cast<Result>(fault);
  }
  const FunctionState& function = *work.function;
  const bool is_late = is_unloaded(function, "a kernel ran after its module had been unloaded");
  KernelRun run;
  run.kernel = function.entry;
  std::copy_n(work.grid, 3, run.grid.begin());
  std::copy_n(work.block, 3, run.block.begin());
  run.dynamic_shared_bytes = work.shared_bytes;
  run.parameters = work.parameters;
  run.addresses = function.module->addresses;
  RunOptions how;
  how.strict = options().strict;
  how.threads = options().threads;
  how.max_instructions = options().max_instructions;
  if (options().adversarial) how.seed = 1 + choose(stream.number, stream.completed, 1U << 30);
  ContextMemory view(work.context != nullptr ? *work.context : *stream.context);
  const Outcome outcome = function.module->code->run(run, view, how);
  if (!is_late) is_unloaded(function, "a module was unloaded while a kernel of it ran");
  for (const Finding& finding : outcome.findings) {
    report_misuse(("kernel-" + finding.rule).c_str(), finding.message);
  }
  if (!outcome.fault.empty()) report_misuse("kernel-fault", outcome.fault);
  return outcome.result;
}

void execute(const Work& work, StreamState& stream) {
  ContextState& context = *stream.context;
  const Result fault = current_fault(context);
  if (const auto* record = std::get_if<RecordWork>(&work)) return finish_record(*record);
  if (const auto* free = std::get_if<FreeWork>(&work)) return finish_free(*free);
  if (const auto* callback = std::get_if<CallbackWork>(&work)) {
    // cuda.h, cuStreamAddCallback: called even after an error, with the error as its status. An
    // H200 does not call it in that case.
    if (fault != kSuccess && !options().adversarial) return;
    return call_program(context, [&] { call_back(*callback, fault); });
  }
  if (fault != kSuccess) return;  // cuda.h, cuLaunchHostFunc: not called after an error
  // A node of a graph may be in a different context than the launch.
  ContextState& own = context_of(work) != nullptr ? *context_of(work) : context;
  if (const Result lost = &own != &context ? current_fault(own) : kSuccess; lost != kSuccess) {
    return set_fault(context, stream, lost);
  }
  if (const auto* kernel = std::get_if<KernelWork>(&work)) {
    if (options().null) return;
    if (const Result result = run_kernel(*kernel, stream); result != kSuccess) {
      set_fault(own, stream, result);
    }
  } else if (const auto* copy = std::get_if<CopyWork>(&work)) {
    if (options().null) return;
    if (!run_copy(*copy, own)) {
      report_misuse("copy-out-of-bounds", "a copy left the memory that it names");
      set_fault(own, stream, kIllegalAddress);
    }
  } else if (const auto* fill = std::get_if<FillWork>(&work)) {
    if (options().null) return;
    if (!run_fill(*fill, own)) {
      report_misuse("fill-out-of-bounds", "a memset left the memory that it names");
      set_fault(own, stream, kIllegalAddress);
    }
  } else if (const auto* host = std::get_if<HostWork>(&work)) {
    if (const std::uint64_t most = options().host_delay; most != 0) {
      sleep_for(static_cast<Nanoseconds>(choose(stream.number, stream.completed, most)));
      if (current_fault(context) != kSuccess) return;
    }
    call_program(context, [&] { host->host.function(host->host.data); });
  } else if (const auto* operations = std::get_if<MemOpWork>(&work)) {
    run_mem_ops(*operations, stream);
  } else if (const auto* wait = std::get_if<WaitWork>(&work)) {
    wait_in_plan(*wait);
  } else if (const auto* graph = std::get_if<GraphWork>(&work)) {
    run_plan(*graph->plan, stream);
  }
}

}  // namespace halyard::inline v0::sim::gpu
