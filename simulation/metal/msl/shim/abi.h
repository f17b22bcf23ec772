// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface between compiled kernels and the executor, in C and C++.
struct __hy_state;
struct __hy_host;

// The state of one thread of a kernel. It is at the lowest address of the thread's stack. The stack
// is aligned to its size, so a kernel computes this address from its stack pointer.
struct __hy_state {
  long quantum;  // basic blocks until host->step()
  const struct __hy_host* host;
  unsigned long range_begin;  // memory that the thread may access without a check
  unsigned long range_end;
  unsigned lane;  // in its simdgroup
  unsigned width;  // of a simdgroup
};

#define __HY_STACK_SIZE 262144ul

// `site` is the return address in the kernel: threads with equal sites are at the same place.
struct __hy_host {
  void (*step)(struct __hy_state* state);
  void (*access)(struct __hy_state* state, unsigned long address, unsigned long size, int write,
                 unsigned long site);
  void (*atomic)(struct __hy_state* state, unsigned long address, unsigned size, int write,
                 unsigned long site);
  int (*exchange_fails)(struct __hy_state* state);
  // scope 0: the threadgroup; 1: the simdgroup.
  void (*barrier)(struct __hy_state* state, unsigned flags, int scope, unsigned long site);
  void (*fence)(struct __hy_state* state, unsigned flags, int scope);
  unsigned long (*variable)(struct __hy_state* state, unsigned long key, unsigned size, unsigned alignment);
  // Waits for the other active lanes of the simdgroup (width 0) or quadgroup (width 4). Returns the
  // address of the values, 256 bytes apart, by lane of the simdgroup, and of the mask of the lanes
  // that take part.
  unsigned long (*exchange)(struct __hy_state* state, unsigned long value, unsigned size, unsigned width,
                            unsigned long site, unsigned long mask);
  void (*inactive)(struct __hy_state* state, unsigned lane, unsigned long site);
};
