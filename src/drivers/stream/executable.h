// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executable: the kernels of one .hyx as functions of a native library.
#pragma once

#include <cstdint>
#include <new>
#include <utility>

#include "base/array.h"
#include "base/format.h"
#include "drivers/stream/api.h"
#include "drivers/stream/context.h"
#include "hal/device/driver.h"
#include "halyard/base/result.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::stream {

template <CommandApi Api>
class Executable final : public hal::ExecutableImpl {
 public:
  // Loads the best image for the device with api.load(file, module). Called within `guard`. Returns
  // kUnavailable if there is no image for the device, and kResourceExhausted.
  static Result<Ref<hal::ExecutableImpl>> load(const Api& api, Ref<timeline::EntryGuard> guard,
                                               kernel::Hyx file) {
    typename Api::Module module{};
    HALYARD_RETURN_IF_ERROR(api.load(file, module));
    return adopt(api, std::move(guard), std::move(file), module);
  }
  // Takes ownership of `module`, an image of `file`, and on success of `file`.
  static Result<Ref<hal::ExecutableImpl>> adopt(const Api& api, Ref<timeline::EntryGuard> guard,
                                                kernel::Hyx&& file, typename Api::Module module) {
    Functions functions;
    Status status = find(api, file, module, functions);
    if (status.ok()) {
      auto* const executable = new (std::nothrow)
          Executable(api, std::move(guard), std::move(file), module, std::move(functions));
      if (executable != nullptr) {
        return Ref<hal::ExecutableImpl>(Ref<Executable>::adopt(executable));
      }
      status = no_memory();
    }
    api.unload(module);
    return status;
  }

  typename Api::Function function(std::uint32_t index) const noexcept { return functions_[index]; }

  Result<hal::FunctionResources> resources(std::uint32_t index) override {
    if constexpr (requires { api_.resources(functions_[index]); }) {
      return api_.resources(functions_[index]);
    } else {
      return ExecutableImpl::resources(index);
    }
  }

 private:
  using Functions = base::Array<typename Api::Function>;

  Executable(const Api& api, Ref<timeline::EntryGuard> guard, kernel::Hyx&& file,
             typename Api::Module module, Functions&& functions) noexcept
      : ExecutableImpl(std::move(file)),
        api_(api),
        guard_(std::move(guard)),
        module_(module),
        functions_(std::move(functions)) {}
  ~Executable() override {
    const timeline::Visit inside(*guard_);
    api_.unload(module_);
  }

  static Status find(const Api& api, const kernel::Hyx& file, typename Api::Module module,
                     Functions& functions) {
    if (!functions.make_room(file.kernels().size())) return no_memory();
    for (const kernel::KernelInfo& kernel : file.kernels()) {
      typename Api::Function function{};
      HALYARD_RETURN_IF_ERROR(api.find_function(module, kernel, function));
      (void)functions.push_back(function);  // there is room
    }
    return {};
  }
  static Status no_memory() {
    return error(StatusCode::kResourceExhausted, "{}: no memory for an executable", Api::kDriver);
  }

  const Api api_;
  const Ref<timeline::EntryGuard> guard_;
  const typename Api::Module module_;
  const Functions functions_;  // in the order of file().kernels()
};

}  // namespace halyard::inline v0::stream
