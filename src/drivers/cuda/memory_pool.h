// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MemoryPool: a memory pool of CUDA (cuMemPool) on one device, and a stream that only allocates
// from it and frees to it. So an allocation waits for no work of the device, and a free waits for
// nothing: cuMemFree may wait for all of the context.
//
// Safe from any thread, within the guard of the device. Kept by its memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drivers/cuda/functions.h"
#include "drivers/cuda/physical_device.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "timeline/entry_guard.h"

namespace halyard::inline v0::cuda {

class MemoryPool final : public RefCounted {
 public:
  // On `device`. The pool keeps up to `release_threshold` bytes that are free. `peers`: devices of
  // `all` that can use the memory of `device` are given access to the pool. Errors: kUnavailable if
  // the device has no pools; as CUDA refuses one.
  static Result<Ref<MemoryPool>> create(const Functions& cuda, Ref<timeline::EntryGuard> guard,
                                        const PhysicalDevice& device,
                                        const std::vector<PhysicalDevice>& all, bool peers,
                                        std::uint64_t release_threshold);

  // Memory that every stream may use at once.
  CUresult allocate(CUdeviceptr& address, std::size_t size) const noexcept;
  // All work that uses it has ended.
  void free(CUdeviceptr address) const noexcept;

 private:
  MemoryPool(const Functions& cuda, Ref<timeline::EntryGuard> guard) noexcept;
  ~MemoryPool() override;
  Status let_peers_in(const PhysicalDevice& device, const std::vector<PhysicalDevice>& all) const;

  const Functions& cuda_;
  const Ref<timeline::EntryGuard> guard_;
  CUmemoryPool pool_ = nullptr;
  CUstream stream_ = nullptr;
};

}  // namespace halyard::inline v0::cuda
