// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A host thread that executes workgroups.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simulation/hip/gfx/workgroup.h"

namespace halyard::inline v0::sim::gfx {

class Execution {
 public:
  explicit Execution(Run& run);
  // Executes workgroups until none is left. A long-running workgroup is suspended, and another
  // begins, because the first may wait for it.
  void work();

 private:
  bool admit();
  void allocate(Workgroup& group);
  void begin(Workgroup& group, std::uint64_t number);
  // Runs the waves in turns. Returns true once the workgroup has ended.
  bool advance(Workgroup& group, std::uint64_t slice);
  bool check_limits(Wave& wave);
  void report_deadlock(Workgroup& group);

  Run& run_;
  Worker worker_;
  std::size_t most_resident_ = 0;
  std::vector<std::unique_ptr<Workgroup>> resident_, free_;
};

}  // namespace halyard::inline v0::sim::gfx
