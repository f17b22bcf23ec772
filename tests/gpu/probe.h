// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Questions about a CUDA driver's behaviour that many programs get wrong. A probe makes calls and
// returns the answer as text. Next to it is the answer of the simulated libcuda, which follows
// cuda.h. Only the driver API is used; each function is found by name when it is called.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>

namespace halyard::testing::probe {

using Handle = struct Opaque*;  // of any kind
using Address = unsigned long long;

// Finds a function of libcuda; null if the driver has none of this name.
void* find_function(const char* name);

constexpr int kNoFunction = -1;

// Calls a function of libcuda. The arguments' types are those of its parameters.
template <class... Arguments>
int call(const char* name, Arguments... arguments) {
  void* const function = find_function(name);
  return function != nullptr ? reinterpret_cast<int (*)(Arguments...)>(function)(arguments...)
                             : kNoFunction;
}

// "success", or the error's name without CUDA_ERROR_.
std::string name_of(int result);
std::string attribute(int which);  // of device 0

// A context of its own on device 0, which is current. Ends with the process of the probe.
Handle make_context();
Handle make_stream(unsigned flags = 1);
Handle make_event(unsigned flags = 0);
Address make_words(std::size_t count);  // zeros
std::uint32_t read_word(Address address);
int fill(Address address, std::uint32_t value, std::size_t count, Handle stream);

// Kernels: store(address, value), and store_and_flag(address, value, flag), which stores the value
// and then 1 to the flag, for all of the system.
Handle load_kernel(const char* name, Handle* module = nullptr);
int launch_store(Handle kernel, Address address, std::uint32_t value, Handle stream);
int launch_store_and_flag(Handle kernel, Address address, std::uint32_t value, Address flag,
                          Handle stream);

// Holds a stream at a host function. Only one at a time, because a driver may call host functions
// one after another. Opens by itself after two seconds, so that a call that waits for the stream is
// found and ends.
class Gate {
 public:
  explicit Gate(Handle stream);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open();
  // Reports whether a call that has returned waited for the stream. Precondition: open() was not
  // called, so only the two seconds can have opened the gate.
  std::string what_the_call_did();

 private:
  static void wait(void* gate);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  std::thread timer_;
};

// The file to which a probe writes its answer if its process ends before the probe returns.
inline int answer_file = -1;

struct Probe {
  const char* point;  // its number in the list, with a letter if several probes share it
  const char* question;
  const char* simulated;  // the answer of the simulated libcuda
  std::string (*ask)();
};

std::span<const Probe> order_probes();   // streams, events, graphs
std::span<const Probe> memory_probes();  // and the rest
std::span<const Probe> context_probes();  // which calls need a current context

}  // namespace halyard::testing::probe
