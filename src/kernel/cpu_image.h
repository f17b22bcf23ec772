// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CpuImage: machine code of a .hyx file, loaded into this process.
//
// The image is an ELF shared object that lives in a memfd. It is unloaded with the last reference,
// so whoever may still call an entry holds one. Loading runs no code of the image's own making
// beyond what the dynamic linker does; the code is trusted all the same. Any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/array.h"
#include "base/file.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "kernel/cpu_abi.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::kernel {

// Targets this CPU can run, best first: from "x86-64-v4" down to "x86-64"; or "aarch64".
HALYARD_EXPORT std::span<const std::string_view> cpu_targets() noexcept;

class HALYARD_EXPORT CpuImage final : public RefCounted {
 public:
  // The best image of `hyx` for this CPU. kUnavailable: there is none; other errors as below.
  static Result<Ref<CpuImage>> load(const Hyx& hyx);
  // kDataLoss: not an ELF shared object for this machine, or the dynamic linker refuses it, with
  // its text. kResourceExhausted: there is no memory to map it. That, or kUnavailable: the system
  // gives no memory file. `name` is for messages.
  static Result<Ref<CpuImage>> load(std::span<const std::byte> image, std::string_view name);

  // Whether it is a shared object for the processors of `target`, also others than this one:
  // kInvalidArgument. Not what is in it.
  static Status check(std::span<const std::byte> image, std::string_view target,
                      std::string_view name);

  // The entry of a kernel; kNotFound if the image lacks it. Valid while this image is referenced.
  Result<CpuEntry> entry(std::string_view kernel) const;
  // Those of all kernels of `hyx`, in its order. kDataLoss: it promises one that the image lacks;
  // kResourceExhausted.
  Result<base::Array<CpuEntry>> entries(const Hyx& hyx) const;

 private:
  CpuImage(base::Descriptor file, std::string name)
      : file_(std::move(file)), name_(std::move(name)) {}
  ~CpuImage() override;

  // Open until the end: the dynamic linker knows a library by its path, and a new image under a
  // reused descriptor number would be taken for this one.
  base::Descriptor file_;
  void* library_ = nullptr;
  std::string name_;
};

}  // namespace halyard::inline v0::kernel
