// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CpuImage: machine code of a .hyx file, loaded into this process.
//
// The image is an ELF shared object in a file (kernel/image_file.h). The last reference unloads it,
// so every caller of an entry holds a reference. Loading only runs code of the dynamic linker, but
// the image's code is trusted. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
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
#include "kernel/image_file.h"

namespace halyard::inline v0::kernel {

// Targets this CPU can run, best first: from "x86-64-v4" down to "x86-64"; or "aarch64".
HALYARD_EXPORT std::span<const std::string_view> cpu_targets() noexcept;

class HALYARD_EXPORT CpuImage final : public RefCounted {
 public:
  enum class Runs : std::uint8_t { kUnchecked, kChecked };  // kChecked: both

  // Loads the best image of `hyx` for this CPU. Errors: kUnavailable if there is no image, or only
  // a checked image (cpu_checked.h) and `runs` excludes it; otherwise as below.
  static Result<Ref<CpuImage>> load(const Hyx& hyx, Runs runs = Runs::kUnchecked);
  // `name` is for messages. Errors:
  //   kDataLoss           not an ELF shared object for this machine, or the dynamic linker
  //                       refuses it; the message has the linker's text
  //   kResourceExhausted  no memory to map it
  //   kResourceExhausted or kUnavailable if the system refuses a file for it
  static Result<Ref<CpuImage>> load(std::span<const std::byte> image, std::string_view name);

  // Returns kInvalidArgument unless the image is a shared object for the processors of `target`,
  // which may differ from this one. Does not check its contents.
  static Status check(std::span<const std::byte> image, std::string_view target,
                      std::string_view name);

  // Whether its entries are those of a checked build, for run_checked().
  bool checked() const noexcept { return checked_; }
  // The entry of a kernel. Valid while this image is referenced. Errors: kNotFound.
  Result<CpuEntry> entry(std::string_view kernel) const;
  // The entries of all kernels of `hyx`, in its order. Errors: kDataLoss if the image lacks one;
  // kResourceExhausted.
  Result<base::Array<CpuEntry>> entries(const Hyx& hyx) const;

 private:
  CpuImage(ImageFile file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  ~CpuImage() override;
  Status set_fault_handler();

  // Open until the end. The dynamic linker identifies a library by its path, and would take a new
  // image under a reused descriptor number for this one.
  ImageFile file_;
  void* library_ = nullptr;
  bool checked_ = false;
  std::string name_;
};

}  // namespace halyard::inline v0::kernel
