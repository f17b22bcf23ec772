// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain: memory that is not atomic, and that a program orders by other means. The weak memory model
// (simulation/weak/weak_memory.h) checks that; elsewhere Plain is its bare value.
#pragma once

#ifdef HALYARD_RELACY
#include "simulation/weak/relacy_atomic.h"
#endif

namespace halyard::inline v0::sim {

class Plain {
 public:
  explicit Plain(int value = 0) noexcept : value_(value) {}
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;

#ifdef HALYARD_RELACY
  int read(base::Site site = base::Site::current()) const noexcept { return value_.read(site); }
  void write(int value, base::Site site = base::Site::current()) noexcept {
    value_.write(value, site);
  }

 private:
  base::ModelVariable value_;
#else
  int read() const noexcept { return value_; }
  void write(int value) noexcept { value_ = value; }

 private:
  int value_;
#endif
};

}  // namespace halyard::inline v0::sim
