// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cuda/functions.h"

#include "drivers/cuda/loader.h"

namespace halyard::inline v0::cuda {
namespace {

HALYARD_CALL_SITE(kGetAddress, "cuda.cuGetProcAddress", CUDA_ERROR_INVALID_VALUE,
                  base::Failing::kCode);

#define HALYARD_CUDA_LIST(function, suffix, version, error, parameters) \
  HALYARD_LIST_CALL_SITE(function##_listed, call_site::function);
HALYARD_CUDA_FUNCTIONS(HALYARD_CUDA_LIST)
HALYARD_CUDA_OPTIONAL(HALYARD_CUDA_LIST)
HALYARD_CUDA_ENDING(HALYARD_CUDA_LIST)
#undef HALYARD_CUDA_LIST

// From CUDA 11.3 and 12.0.
using GetAddress = CUresult (*)(const char*, void**, int, std::uint64_t);
using GetAddressV2 = CUresult (*)(const char*, void**, int, std::uint64_t, int*);

class Finder {
 public:
  explicit Finder(void* library) noexcept
      : library_(library),
        get_v2_(reinterpret_cast<GetAddressV2>(symbol("cuGetProcAddress_v2"))),
        get_(reinterpret_cast<GetAddress>(get_v2_ == nullptr ? symbol("cuGetProcAddress")
                                                             : nullptr)) {}

  void* find(const char* name, const char* symbol_name, int version) const noexcept {
    void* pointer = nullptr;
    if (get_v2_ == nullptr && get_ == nullptr) return symbol(symbol_name);
    // If the driver lacks a function, it returns a null pointer or refuses the version.
    const CUresult result = base::native_call(kGetAddress, [&] {
      constexpr auto kFlags = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
      int found = 0;
      return get_v2_ != nullptr ? get_v2_(name, &pointer, version, kFlags, &found)
                                : get_(name, &pointer, version, kFlags);
    });
    return result == CUDA_SUCCESS ? pointer : nullptr;
  }

 private:
  void* symbol(const char* name) const noexcept { return find_symbol(library_, name); }

  void* const library_;
  const GetAddressV2 get_v2_;
  const GetAddress get_;
};

}  // namespace

const char* Functions::load(void* library) noexcept {
  const Finder finder(library);
#define HALYARD_CUDA_FIND(function, suffix, version, error, parameters) \
  function.pointer =                                                    \
      reinterpret_cast<CUresult(*) parameters>(finder.find(#function, #function suffix, version));
#define HALYARD_CUDA_NEED(function, suffix, version, error, parameters) \
  HALYARD_CUDA_FIND(function, suffix, version, error, parameters)       \
  if (function.pointer == nullptr) return #function suffix;
  HALYARD_CUDA_OPTIONAL(HALYARD_CUDA_FIND)
  HALYARD_CUDA_FUNCTIONS(HALYARD_CUDA_NEED)
  HALYARD_CUDA_ENDING(HALYARD_CUDA_NEED)
#undef HALYARD_CUDA_NEED
#undef HALYARD_CUDA_FIND
  return nullptr;
}

}  // namespace halyard::inline v0::cuda
