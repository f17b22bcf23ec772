// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compiled kernels and the executor share. The executor includes this as C++23, kernels as
// C++ for OpenCL, where a function pointer has no address space and `void*` is generic; in both an
// address is 8 bytes.
struct __hy_state;
struct __hy_host;

// Of each thread of a kernel. It is at the lowest address of the thread's stack, whose size is its
// alignment, so that a kernel finds it by its stack pointer alone.
struct __hy_state {
  long quantum;  // basic blocks until host->step()
  const __hy_host* host;
  unsigned long range_begin;  // memory that the thread may read and write without a question
  unsigned long range_end;
  unsigned lane;  // in its simdgroup
  unsigned width;  // of a simdgroup
};

#define __HY_STACK_SIZE 262144ul

// A `threadgroup` variable: one for each declaration and instance of the function around it.
struct __hy_variable {
  unsigned id;
  unsigned size;
  unsigned alignment;
};

// Inputs of a thread, in the order of __hy_input in kernel_source.cpp.
struct __hy_call {
  const unsigned long* arguments;  // an address for each parameter, 0 for inputs
  unsigned inputs[20][3];
};

// `site` is the return address in the kernel: threads are at the same place if it is equal.
struct __hy_host {
  void (*step)(__hy_state* state);
  void (*access)(__hy_state* state, unsigned long address, unsigned long size, int write,
                 unsigned long site);
  void (*atomic)(__hy_state* state, unsigned long address, unsigned size, int write,
                 unsigned long site);
  int (*exchange_fails)(__hy_state* state);
  // scope 0: the threadgroup; 1: the simdgroup.
  void (*barrier)(__hy_state* state, unsigned flags, int scope, unsigned long site);
  void (*fence)(__hy_state* state, unsigned flags, int scope);
  unsigned long (*variable)(__hy_state* state, unsigned long key, unsigned size, unsigned alignment);
  // Waits for the other active lanes of the simdgroup (width 0) or quadgroup (width 4). Returns the
  // address of their values, 256 bytes apart, by lane of the simdgroup, and who takes part.
  unsigned long (*exchange)(__hy_state* state, unsigned long value, unsigned size, unsigned width,
                            unsigned long site, unsigned long mask);
  void (*inactive)(__hy_state* state, unsigned lane, unsigned long site);
  void (*trap)(__hy_state* state, int reason);
};
