// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cuda/allocator.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "base/format.h"
#include "base/mutex.h"
#include "drivers/cuda/error.h"
#include "drivers/stream/context.h"

namespace halyard::inline v0::cuda {
namespace {

// What cuMemAlloc and cuMemHostAlloc give without being asked: "suitably aligned for any kind of
// variable", of which the programming guide says 256 bytes at least.
constexpr std::uint64_t kNativeAlignment = 256;

Status no_memory(std::uint64_t size) {
  return error(StatusCode::kResourceExhausted, "cuda: no memory for {} bytes", size);
}

std::uintptr_t address_of(const void* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer);
}
void* pointer_to(std::uintptr_t address) noexcept { return reinterpret_cast<void*>(address); }

class CudaMemory final : public hal::Memory {
 public:
  CudaMemory(const Functions& cuda, Ref<timeline::EntryGuard> guard, std::uint64_t base,
             std::uint64_t address, std::uint64_t size, hal::MemoryType type, bool pinned,
             Ref<MemoryPool> pool, const void* domain) noexcept
      : Memory(size, type,
               type == hal::MemoryType::kDeviceLocal
                   ? nullptr
                   : static_cast<std::byte*>(pointer_to(static_cast<std::uintptr_t>(address))),
               address, domain),
        cuda_(cuda),
        guard_(std::move(guard)),
        base_(base),
        pinned_(pinned),
        pool_(std::move(pool)) {}

  static void free(const Functions& cuda, std::uint64_t base, bool pinned,
                   const MemoryPool* pool) noexcept {
    if (pool != nullptr) {
      pool->free(base);
    } else if (pinned) {
      (void)cuda.cuMemFreeHost(pointer_to(static_cast<std::uintptr_t>(base)));
    } else {
      (void)cuda.cuMemFree(base);
    }
  }

 private:
  ~CudaMemory() override {
    const stream::Inside inside(*guard_);
    free(cuda_, base_, pinned_, pool_.get());
  }

  const Functions& cuda_;
  const Ref<timeline::EntryGuard> guard_;
  const std::uint64_t base_;  // as it was allocated
  const bool pinned_;         // of the host
  const Ref<MemoryPool> pool_;
};

// Ranges of the host that this driver has pinned, for all libraries and devices of the process.
struct Registration {
  const Functions* cuda;
  std::uintptr_t begin, end;
  Ref<timeline::EntryGuard> guard;  // of the context in which they were registered
  unsigned users = 1;
  Registration* next = nullptr;
};
constinit base::Mutex registrations_mutex;
constinit Registration* registrations = nullptr;  // guarded by it

// Those that contain [begin, end), with a user more; null if they are not known.
Registration* share(const Functions& cuda, std::uintptr_t begin, std::uintptr_t end) noexcept {
  for (Registration* known = registrations; known != nullptr; known = known->next) {
    if (known->cuda == &cuda && known->begin <= begin && end <= known->end) {
      ++known->users;
      return known;
    }
  }
  return nullptr;
}

void unpin(Registration* registration) noexcept {
  base::LockGuard lock(registrations_mutex);
  if (--registration->users != 0) return;
  Registration** link = &registrations;
  while (*link != registration) link = &(*link)->next;
  *link = registration->next;
  {
    const stream::Inside inside(*registration->guard);
    (void)registration->cuda->cuMemHostUnregister(pointer_to(registration->begin));
  }
  delete registration;
}

class ImportedMemory final : public hal::Memory {
 public:
  // `registration`: null of memory that its owner pinned.
  ImportedMemory(Registration* registration, std::byte* data, std::uint64_t address,
                 std::uint64_t size, const void* domain) noexcept
      : Memory(size, hal::MemoryType::kHostLocal, data, address, domain),
        registration_(registration) {}

 private:
  ~ImportedMemory() override {
    if (registration_ != nullptr) unpin(registration_);
  }

  Registration* const registration_;
};

// Of another user of CUDA.
class OthersMemory final : public hal::Memory {
 public:
  OthersMemory(std::uint64_t address, std::uint64_t size, const void* domain) noexcept
      : Memory(size, hal::MemoryType::kDeviceLocal, nullptr, address, domain) {}

 private:
  ~OthersMemory() override = default;
};

// Pins [begin, end), exactly: cuMemHostRegister asks for no alignment, and two ranges may lie in
// one page. Null where CUDA has it already, or refuses it.
Result<Registration*> pin(const Functions& cuda, const Ref<timeline::EntryGuard>& guard,
                          std::uintptr_t begin, std::uintptr_t end, CUresult& result) {
  base::LockGuard lock(registrations_mutex);
  if (Registration* const known = share(cuda, begin, end)) return known;
  std::unique_ptr<Registration> fresh(new (std::nothrow) Registration{&cuda, begin, end, guard});
  if (fresh == nullptr) return no_memory(sizeof *fresh);
  result = cuda.cuMemHostRegister(pointer_to(begin), std::size_t{end - begin},
                                  CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  // An H200 with driver 580 answers the first for what cuMemHostRegister pinned, and the second for
  // what cuMemHostAlloc or cuMemAllocManaged allocated.
  if (result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED || result == CUDA_ERROR_INVALID_VALUE) {
    return static_cast<Registration*>(nullptr);
  }
  HALYARD_RETURN_IF_ERROR(to_status(result, "cuMemHostRegister"));
  fresh->next = registrations;
  return registrations = fresh.release();
}

// How kernels see memory of the host that CUDA has pinned or manages.
CUresult device_pointer(const Functions& cuda, std::uintptr_t host, CUdeviceptr& address) {
  const CUresult result = cuda.cuMemHostGetDevicePointer(&address, pointer_to(host), 0u);
  if (result == CUDA_SUCCESS) return result;
  return cuda.cuPointerGetAttribute(static_cast<void*>(&address),
                                    CU_POINTER_ATTRIBUTE_DEVICE_POINTER, host);
}

}  // namespace

Result<Ref<hal::Memory>> Allocator::allocate(std::uint64_t size, std::uint64_t alignment,
                                             hal::MemoryType type) const {
  // Never empty, and whole words, so that every fill of a multiple of 4 bytes is in range.
  const std::uint64_t slack = alignment > kNativeAlignment ? alignment - kNativeAlignment : 0;
  const std::uint64_t bytes = ((std::max<std::uint64_t>(size, 4) + 3) & ~std::uint64_t{3}) + slack;
  const bool is_managed = managed && type == hal::MemoryType::kHostVisible;
  const bool pinned = type != hal::MemoryType::kDeviceLocal && !is_managed;
  MemoryPool* const its_pool = type == hal::MemoryType::kDeviceLocal ? pool : nullptr;
  std::uint64_t base = 0;
  if (!pinned) {
    CUdeviceptr address = 0;
    const CUresult result =
        is_managed ? cuda.cuMemAllocManaged(&address, std::size_t{bytes}, CU_MEM_ATTACH_GLOBAL)
        : its_pool != nullptr ? its_pool->allocate(address, std::size_t{bytes})
                              : cuda.cuMemAlloc(&address, std::size_t{bytes});
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      return Status(StatusCode::kResourceExhausted, no_memory(size).message(), native_name(result));
    }
    HALYARD_RETURN_IF_ERROR(to_status(result, is_managed            ? "cuMemAllocManaged"
                                              : its_pool != nullptr ? "cuMemAllocFromPoolAsync"
                                                                    : "cuMemAlloc"));
    base = address;
  } else {
    void* pointer = nullptr;
    const CUresult result = cuda.cuMemHostAlloc(
        &pointer, std::size_t{bytes}, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      return Status(StatusCode::kResourceExhausted, no_memory(size).message(), native_name(result));
    }
    HALYARD_RETURN_IF_ERROR(to_status(result, "cuMemHostAlloc"));
    base = address_of(pointer);
  }
  const std::uint64_t round = std::max<std::uint64_t>(alignment, 1) - 1;
  const std::uint64_t address = slack != 0 ? (base + round) & ~round : base;
  auto* const memory =
      new (std::nothrow) CudaMemory(cuda, guard, base, address, size, type, pinned,
                                    Ref<MemoryPool>(its_pool), domain);
  if (memory != nullptr) return Ref<hal::Memory>(Ref<CudaMemory>::adopt(memory));
  CudaMemory::free(cuda, base, pinned, its_pool);
  return no_memory(size);
}

Result<Ref<hal::Memory>> Allocator::import_memory(std::byte* data, std::uint64_t size) const {
  const std::uintptr_t begin = address_of(data);
  const std::uint64_t bytes = std::max<std::uint64_t>(size, 1);
  CUresult result = CUDA_SUCCESS;
  HALYARD_ASSIGN_OR_RETURN(Registration* const registration,
                           pin(cuda, guard, begin, begin + bytes, result));
  CUdeviceptr first = 0, last = 0;
  ImportedMemory* memory = nullptr;
  Status status;
  if (device_pointer(cuda, begin, first) != CUDA_SUCCESS ||
      device_pointer(cuda, begin + bytes - 1, last) != CUDA_SUCCESS || last - first != bytes - 1) {
    status = result == CUDA_ERROR_INVALID_VALUE
                 ? to_status(result, "cuMemHostRegister")
                 : error(StatusCode::kResourceExhausted,
                         "cuda: {} bytes of the host cannot be pinned: a part of them is already",
                         size);
  } else {
    memory = new (std::nothrow) ImportedMemory(registration, data, first, size, domain);
    if (memory == nullptr) status = no_memory(size);
  }
  if (memory != nullptr) return Ref<hal::Memory>(Ref<ImportedMemory>::adopt(memory));
  if (registration != nullptr) unpin(registration);
  return status;
}

// Asked of both ends: an allocation of others may consist of several mappings.
Result<Ref<hal::Memory>> Allocator::import_address(std::uint64_t address, std::uint64_t size,
                                                   int ordinal) const {
  for (const std::uint64_t end : {address, address + std::max<std::uint64_t>(size, 1) - 1}) {
    unsigned type = 0;
    int device = -1;
    CUresult result = cuda.cuPointerGetAttribute(static_cast<void*>(&type),
                                                 CU_POINTER_ATTRIBUTE_MEMORY_TYPE, end);
    if (result == CUDA_SUCCESS) {
      result = cuda.cuPointerGetAttribute(static_cast<void*>(&device),
                                          CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, end);
    }
    // CUDA's answer for addresses that it does not know.
    if (result != CUDA_ERROR_INVALID_VALUE) {
      HALYARD_RETURN_IF_ERROR(to_status(result, "cuPointerGetAttribute"));
      if (type == CU_MEMORYTYPE_DEVICE && device == ordinal) continue;
    }
    return error(StatusCode::kInvalidArgument, "cuda: address {:#x} is no memory of device {}", end,
                 ordinal);
  }
  auto* const memory = new (std::nothrow) OthersMemory(address, size, domain);
  if (memory == nullptr) return no_memory(size);
  return Ref<hal::Memory>(Ref<OthersMemory>::adopt(memory));
}

}  // namespace halyard::inline v0::cuda
