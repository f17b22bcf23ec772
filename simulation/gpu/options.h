// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the environment asks of the simulated library: docs/simulated-cuda.md describes each
// variable. Their names are said here without the library's HALYARD_SIM_CUDA_ or HALYARD_SIM_HIP_.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace halyard::inline v0::sim::gpu {

// The calls of one function that fail, from FAIL: "name@n=ERROR,...".
struct Fault {
  std::uint64_t call = 0;  // counted from 1; 0: every call
  int result = 0;
};

struct Options {
  int devices = 2;
  std::size_t memory_bytes = std::size_t{4} << 30;  // of each device
  int capability_major = 8;                         // of CUDA
  int capability_minor = 0;
  std::uint64_t seed = 1;
  bool strict = false;                 // misuse is printed when it happens, and kernels are checked
  bool adversarial = false;            // permitted behaviour is chosen by the seed
  bool null = false;                   // kernels, copies and fills do nothing
  unsigned threads = 1;                // that share the blocks of one kernel
  int driver_version = 13000;          // of CUDA
  std::uint64_t host_delay = 0;        // nanoseconds that host functions may be late, by the seed
  std::uint64_t max_instructions = 0;  // of one warp; 0: no limit
  std::string report;                  // path; empty: none
  std::multimap<std::string, Fault, std::less<>> faults;
};

// Reads the environment at the first call. A malformed variable is named on stderr and ignored.
Options read_options();
// For the variables that only one library has, by the end of their names: its text, or null; a
// number, with an optional suffix K, M or G, unless it is not in the range; that it is ignored.
const char* variable(std::string_view name);
void read_number(std::string_view name, std::uint64_t& number, std::uint64_t least,
                 std::uint64_t most);
void complain(std::string_view name, std::string_view value);
inline Options& options_of_process() {
  static Options* const read_once = new Options(read_options());  // outlives the threads
  return *read_once;
}
inline const Options& options() { return options_of_process(); }

// The result that a name of the library stands for, or a number; -1 if unknown.
int result_from_name(std::string_view name);

// A number that depends on the seed and its arguments only, below `limit`.
std::uint64_t choose(std::uint64_t a, std::uint64_t b, std::uint64_t limit);

}  // namespace halyard::inline v0::sim::gpu
