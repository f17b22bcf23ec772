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
#include "hal/driver.h"
#include "halyard/base/result.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::stream {

template <CommandApi Api>
class Executable final : public hal::ExecutableImpl {
 public:
  // Within `guard`. kUnavailable: there is no image for the device; kResourceExhausted.
  static Result<Ref<hal::ExecutableImpl>> load(const Api& api, Ref<timeline::EntryGuard> guard,
                                               kernel::Hyx file) {
    auto executable = Ref<Executable>::adopt(
        new (std::nothrow) Executable(api, std::move(guard), std::move(file)));
    if (!executable) return no_memory();
    HALYARD_RETURN_IF_ERROR(executable->open());
    return Ref<hal::ExecutableImpl>(std::move(executable));
  }

  typename Api::Function function(std::uint32_t index) const noexcept { return functions_[index]; }

 private:
  Executable(const Api& api, Ref<timeline::EntryGuard> guard, kernel::Hyx file) noexcept
      : ExecutableImpl(std::move(file)), api_(api), guard_(std::move(guard)) {}
  ~Executable() override {
    if (!loaded_) return;
    const Inside inside(*guard_);
    api_.unload(module_);
  }

  Status open() {
    HALYARD_RETURN_IF_ERROR(api_.load(file(), module_));
    loaded_ = true;
    if (!functions_.make_room(file().kernels().size())) return no_memory();
    for (const kernel::KernelInfo& kernel : file().kernels()) {
      typename Api::Function function{};
      HALYARD_RETURN_IF_ERROR(api_.find_function(module_, kernel, function));
      (void)functions_.push_back(function);  // there is room
    }
    return {};
  }
  static Status no_memory() {
    return error(StatusCode::kResourceExhausted, "{}: no memory for an executable", Api::kDriver);
  }

  const Api api_;
  const Ref<timeline::EntryGuard> guard_;
  typename Api::Module module_{};
  bool loaded_ = false;
  base::Array<typename Api::Function> functions_;  // in the order of file().kernels()
};

}  // namespace halyard::inline v0::stream
