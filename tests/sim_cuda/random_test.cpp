// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs of the API. In the first kind a model knows which operations CUDA orders, by
// streams, events, the NULL stream and the host's waits, so that every value is defined; the second
// kind passes handles that are invalid or of another kind.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "sim_cuda/driver.h"

namespace halyard::testing::driver {
namespace {

constexpr std::size_t kStreams = 6, kEvents = 5, kWords = 12, kExecs = 2;

// The number of operations of each stream that are known to have ended before an event.
struct Clock {
  std::array<unsigned, kStreams> of{};

  void join(const Clock& other) {
    for (std::size_t i = 0; i < kStreams; ++i) of[i] = std::max(of[i], other.of[i]);
  }
};

struct Access {
  std::size_t stream = 0;
  unsigned number = 0;
};

struct Word {
  std::uint32_t value = 0;
  std::vector<Access> accesses;  // the last write and all later accesses
  Access write;
};

class Program {
 public:
  Program(unsigned seed, Address words, Handle fill) : random_(seed), words_(words), fill_(fill) {
    for (std::size_t i = 1; i < kStreams; ++i) {
      EXPECT_EQ(cuStreamCreate(&streams_[i], i < kStreams / 2 ? 0 : kNonBlocking), kSuccess);
    }
    for (Handle& event : events_) EXPECT_EQ(cuEventCreate(&event, kDisableTiming), kSuccess);
    EXPECT_EQ(cuMemHostAlloc(&pinned_, 4, 0), kSuccess);
  }
  ~Program() {
    EXPECT_EQ(cuCtxSynchronize(), kSuccess);
    for (std::size_t i = 1; i < kStreams; ++i) EXPECT_EQ(cuStreamDestroy_v2(streams_[i]), kSuccess);
    for (const Handle event : events_) EXPECT_EQ(cuEventDestroy_v2(event), kSuccess);
    for (const Exec& exec : execs_) {
      if (exec.handle != nullptr) {
        EXPECT_EQ(cuGraphExecDestroy(exec.handle), kSuccess);
      }
    }
    EXPECT_EQ(cuMemFreeHost(pinned_), kSuccess);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void step() {
    const std::size_t stream = below(kStreams), word = below(kWords), other = below(kWords);
    switch (below(14)) {
      case 0:
      case 1:
        return set(stream, word);
      case 2:
      case 3:
        return launch(stream, word);
      case 4:
        return copy(stream, word, other);
      case 5:
        return copy_in(stream, word);
      case 6:
        return copy_out(stream, word);
      case 7:
      case 8:
        return record(stream, below(kEvents));
      case 9:
        return wait(stream, below(kEvents));
      case 10:
        return wait_on_host(stream, below(kEvents));
      case 11:
        return use_temporary(stream, word);
      case 12:
        return launch_graph(stream, word, below(kExecs));
      default:
        return replace(below(kEvents));
    }
  }

  void check() {
    ASSERT_EQ(cuCtxSynchronize(), kSuccess);
    for (std::size_t word = 0; word < kWords; ++word) {
      std::uint32_t found = 0;
      ASSERT_EQ(cuMemcpyDtoH_v2(&found, address(word), 4), kSuccess);
      EXPECT_EQ(found, memory_[word].value) << "word " << word;
    }
  }

 private:
  struct Exec {
    Handle handle = nullptr;
    std::size_t word = 0;
    std::uint32_t value = 0;
    Clock latest;
  };

  std::size_t below(std::size_t limit) { return random_() % limit; }
  Address address(std::size_t word) const { return words_ + 4 * word; }
  bool is_blocking(std::size_t stream) const { return stream != 0 && stream < kStreams / 2; }

  // Begins an operation. Joins the operations that CUDA orders before it, by its stream and the
  // default stream, and those that the host knows to have ended before the call.
  void begin(std::size_t stream) {
    Clock& clock = clocks_[stream];
    clock.join(host_);
    if (stream == 0) {
      for (std::size_t i = 1; i < kStreams; ++i) {
        if (is_blocking(i)) clock.join(clocks_[i]);
      }
    } else if (is_blocking(stream)) {
      clock.join(clocks_[0]);
    }
  }
  Access end(std::size_t stream) {
    Clock& clock = clocks_[stream];
    return {stream, ++clock.of[stream]};
  }

  bool is_after(std::size_t stream, const Access& access) const {
    return clocks_[stream].of[access.stream] >= access.number;
  }
  // Makes the next operation of `stream` come after `access`: by an event, or by a wait of the
  // host.
  void order(std::size_t stream, const Access& access) {
    begin(stream);
    if (is_after(stream, access)) return;
    if (below(3) == 0) {
      wait_for(access.stream);
    } else {
      const std::size_t event = below(kEvents);
      record(access.stream, event);
      wait(stream, event);
    }
    begin(stream);
    ASSERT_TRUE(is_after(stream, access));
  }
  void before_write(std::size_t stream, std::size_t word) {
    for (const Access& access : std::vector<Access>(memory_[word].accesses)) order(stream, access);
    begin(stream);
  }
  void before_read(std::size_t stream, std::size_t word) {
    order(stream, memory_[word].write);
    begin(stream);
  }
  void wrote(std::size_t word, const Access& access, std::uint32_t value) {
    memory_[word] = {value, {access}, access};
  }

  void set(std::size_t stream, std::size_t word) {
    before_write(stream, word);
    ASSERT_EQ(cuMemsetD32Async(address(word), ++value_, 1, streams_[stream]), kSuccess);
    wrote(word, end(stream), value_);
  }
  void launch(std::size_t stream, std::size_t word) {
    before_write(stream, word);
    Address a = address(word);
    std::uint32_t value = ++value_, count = 1;
    void* parameters[] = {&a, &value, &count};
    ASSERT_EQ(cuLaunchKernel(fill_, 1, 1, 1, 32, 1, 1, 0, streams_[stream], parameters, nullptr),
              kSuccess);
    wrote(word, end(stream), value);
  }
  void copy(std::size_t stream, std::size_t to, std::size_t from) {
    if (to == from) return;
    before_write(stream, to);
    before_read(stream, from);
    ASSERT_EQ(cuMemcpyDtoDAsync_v2(address(to), address(from), 4, streams_[stream]), kSuccess);
    const Access access = end(stream);
    memory_[from].accesses.push_back(access);
    wrote(to, access, memory_[from].value);
  }
  // Copies from pageable memory, which may change once the call has returned.
  void copy_in(std::size_t stream, std::size_t word) {
    before_write(stream, word);
    std::uint32_t bytes = ++value_;
    ASSERT_EQ(cuMemcpyHtoDAsync_v2(address(word), &bytes, 4, streams_[stream]), kSuccess);
    bytes = 0;
    wrote(word, end(stream), value_);
  }
  // Copies to pageable memory, where the bytes have arrived when the call returns, or to pinned
  // memory.
  void copy_out(std::size_t stream, std::size_t word) {
    before_read(stream, word);
    std::uint32_t found = 0;
    if (below(2) == 0) {
      ASSERT_EQ(cuMemcpyDtoHAsync_v2(&found, address(word), 4, streams_[stream]), kSuccess);
      memory_[word].accesses.push_back(end(stream));
      host_.join(clocks_[stream]);
    } else {
      ASSERT_EQ(cuMemcpyDtoHAsync_v2(pinned_, address(word), 4, streams_[stream]), kSuccess);
      memory_[word].accesses.push_back(end(stream));
      wait_for(stream);
      std::memcpy(&found, pinned_, 4);
    }
    EXPECT_EQ(found, memory_[word].value) << "word " << word;
  }
  void record(std::size_t stream, std::size_t event) {
    begin(stream);
    ASSERT_EQ(cuEventRecord(events_[event], streams_[stream]), kSuccess);
    end(stream);
    recorded_[event] = clocks_[stream];
  }
  // A wait for a completed event is not an operation, so it is not ordered after the default
  // stream's work.
  void wait(std::size_t stream, std::size_t event) {
    ASSERT_EQ(cuStreamWaitEvent(streams_[stream], events_[event], 0), kSuccess);
    clocks_[stream].join(recorded_[event]);
  }
  void wait_for(std::size_t stream) {
    ASSERT_EQ(cuStreamSynchronize(streams_[stream]), kSuccess);
    has_ended(stream);
  }
  // Notes that the host knows all work of a stream to have ended; for the NULL stream, that of the
  // blocking streams as well.
  void has_ended(std::size_t stream) {
    if (stream == 0) begin(stream);
    host_.join(clocks_[stream]);
  }
  void wait_on_host(std::size_t stream, std::size_t event) {
    int result = kSuccess;
    switch (below(4)) {
      case 0:
        return wait_for(stream);
      case 1:
        ASSERT_EQ(cuEventSynchronize(events_[event]), kSuccess);
        return host_.join(recorded_[event]);
      case 2:
        if (result = cuEventQuery(events_[event]); result == kSuccess) host_.join(recorded_[event]);
        break;
      default:
        if (result = cuStreamQuery(streams_[stream]); result == kSuccess) has_ended(stream);
        break;
    }
    ASSERT_TRUE(result == kSuccess || result == kNotReady) << result;
  }
  void use_temporary(std::size_t stream, std::size_t word) {
    before_write(stream, word);
    Address temporary = 0;
    const Handle in = streams_[stream];
    ASSERT_EQ(cuMemAllocAsync(&temporary, 4 + 4 * below(2000), in), kSuccess);
    ASSERT_EQ(cuMemsetD32Async(temporary, ++value_, 1, in), kSuccess);
    ASSERT_EQ(cuMemcpyDtoDAsync_v2(address(word), temporary, 4, in), kSuccess);
    ASSERT_EQ(cuMemFreeAsync(temporary, in), kSuccess);
    wrote(word, end(stream), value_);
  }
  // A graph of two memsets, one after the other, captured from a stream. Launches of the same
  // executable graph are ordered, whatever their streams.
  void launch_graph(std::size_t stream, std::size_t word, std::size_t index) {
    Exec& exec = execs_[index];
    if (exec.handle == nullptr) {
      const Handle from = streams_[kStreams - 1];
      Handle graph = nullptr;
      exec.word = word;
      exec.value = ++value_;
      ASSERT_EQ(cuStreamBeginCapture_v2(from, 2), kSuccess);
      ASSERT_EQ(cuMemsetD32Async(address(word), 0, 1, from), kSuccess);
      ASSERT_EQ(cuMemsetD32Async(address(word), exec.value, 1, from), kSuccess);
      ASSERT_EQ(cuStreamEndCapture(from, &graph), kSuccess);
      ASSERT_EQ(cuGraphInstantiateWithFlags(&exec.handle, graph, 0), kSuccess);
      ASSERT_EQ(cuGraphDestroy(graph), kSuccess);
    }
    before_write(stream, exec.word);
    clocks_[stream].join(exec.latest);
    ASSERT_EQ(cuGraphLaunch(exec.handle, streams_[stream]), kSuccess);
    wrote(exec.word, end(stream), exec.value);
    exec.latest = clocks_[stream];
  }
  // An event may be destroyed while a record or a wait of it is in flight.
  void replace(std::size_t event) {
    ASSERT_EQ(cuEventDestroy_v2(events_[event]), kSuccess);
    ASSERT_EQ(cuEventCreate(&events_[event], kDisableTiming), kSuccess);
    recorded_[event] = {};
  }

  std::mt19937 random_;
  Address words_;
  Handle fill_;
  std::array<Handle, kStreams> streams_{};  // the first is the NULL stream
  std::array<Handle, kEvents> events_{};
  std::array<Exec, kExecs> execs_{};
  void* pinned_ = nullptr;
  std::uint32_t value_ = 0;
  std::array<Word, kWords> memory_{};
  std::array<Clock, kStreams> clocks_{};
  std::array<Clock, kEvents> recorded_{};
  Clock host_;
};

using SimCudaRandom = DriverTest;

TEST_F(SimCudaRandom, OrderedPrograms_HaveTheModelsValues) {
  constexpr unsigned kPrograms = 150, kSteps = 120;
  const Handle function = fill_function();
  for (unsigned seed = 1; seed <= kPrograms && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Program program(seed, words(kWords), function);
    for (unsigned step = 0; step < kSteps && !HasFatalFailure(); ++step) program.step();
    program.check();
  }
}

TEST_F(SimCudaRandom, HandlesThatNameNothing_AreNeverASuccess) {
  Handle destroyed_stream = stream(), destroyed_event = event(), exec = nullptr, graph = nullptr;
  ASSERT_EQ(cuStreamDestroy_v2(destroyed_stream), kSuccess);
  ASSERT_EQ(cuEventDestroy_v2(destroyed_event), kSuccess);
  ASSERT_EQ(cuGraphCreate(&graph, 0), kSuccess);
  ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), kSuccess);
  const Handle function = fill_function();
  // The stream must be a blocking stream, because calls write the same word in it and in the NULL
  // stream.
  const struct {
    Handle handle;
    char kind;
  } handles[] = {{stream(0), 's'},
                 {event(), 'e'},
                 {graph, 'g'},
                 {exec, 'x'},
                 {function, 'f'},
                 {context_, 'c'},
                 {destroyed_stream, '-'},
                 {destroyed_event, '-'}};
  const Address a = words(1);
  std::uint32_t value = 1, count = 1;
  void* parameters[] = {const_cast<Address*>(&a), &value, &count};
  float milliseconds = 0;
  Handle made = nullptr;
  int number = 0;
  std::size_t size = 0;
  const struct {
    char kind;  // of the handle that it takes
    std::function<int(Handle)> call;
  } calls[] = {
      {'s', [](Handle h) { return cuStreamQuery(h); }},
      {'s', [](Handle h) { return cuStreamSynchronize(h); }},
      {'s', [&](Handle h) { return cuStreamWaitEvent(h, handles[1].handle, 0); }},
      {'s', [&](Handle h) { return cuMemsetD32Async(a, 1, 1, h); }},
      {'s', [&](Handle h) { return cuMemcpyDtoDAsync_v2(a, a, 4, h); }},
      {'s', [&](Handle h) { return cuGraphLaunch(exec, h); }},
      {'s', [&](Handle h) { return cuStreamIsCapturing(h, &number); }},
      {'s', [&](Handle h) { return cuStreamGetPriority(h, &number); }},
      {'s', [&](Handle h) { return cuEventRecord(handles[1].handle, h); }},
      {'s',
       [&](Handle h) {
         return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, h, parameters, nullptr);
       }},
      {'f',
       [&](Handle h) {
         return cuLaunchKernel(h, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
       }},
      {'f', [&](Handle h) { return cuFuncGetAttribute(&number, 0, h); }},
      {'e', [](Handle h) { return cuEventQuery(h); }},
      {'e', [](Handle h) { return cuEventSynchronize(h); }},
      {'e', [](Handle h) { return cuEventRecord(h, nullptr); }},
      {'e', [&](Handle h) { return cuStreamWaitEvent(handles[0].handle, h, 0); }},
      {'-', [&](Handle h) { return cuEventElapsedTime(&milliseconds, h, destroyed_event); }},
      {'g', [&](Handle h) { return cuGraphGetNodes(h, nullptr, &size); }},
      {'g', [&](Handle h) { return cuGraphAddEmptyNode(&made, h, nullptr, 0); }},
      {'x', [&](Handle h) { return cuGraphLaunch(h, nullptr); }},
      {'c', [](Handle h) { return cuCtxSetCurrent(h); }},
  };
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const auto& handle = handles[random() % std::size(handles)];
    const auto& call = calls[random() % std::size(calls)];
    const int result = call.call(handle.handle);
    const bool is_right = handle.kind == call.kind && call.kind != '-';
    EXPECT_EQ(result == kSuccess || (is_right && result == kNotReady), is_right)
        << handle.kind << " for " << call.kind << " answers " << result;
  }
  EXPECT_EQ(cuCtxSynchronize(), kSuccess);
}

}  // namespace
}  // namespace halyard::testing::driver
