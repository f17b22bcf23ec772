// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cuda/images.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/content_hash.h"
#include "base/disk_cache.h"
#include "base/format.h"
#include "drivers/cuda/error.h"
#include "drivers/stream/executable.h"
#include "kernel/device_abi.h"

namespace halyard::inline v0::cuda {
namespace {

constexpr std::size_t kLogBytes = 4096;

// What the compiler writes of an error, and the options that ask for it.
class Log {
 public:
  static constexpr unsigned kOptions = 2;
  CUjit_option options[kOptions] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[kOptions] = {text_, reinterpret_cast<void*>(std::uintptr_t{kLogBytes})};

  // In one line of a message.
  std::string text() {
    text_[kLogBytes - 1] = '\0';
    std::string text = text_;
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    std::ranges::replace(text, '\n', ' ');
    return text.empty() ? "the driver gives no reason" : text;
  }

 private:
  char text_[kLogBytes] = {};
};

bool is_ptx(const kernel::ImageInfo& image) noexcept { return image.target.starts_with("ptx-"); }

Status refused(const kernel::Hyx& file, std::string_view target, CUresult result, Log& log) {
  return Status(status_code(result),
                base::format("cuda: {}: the image {} cannot be loaded: {}", file.name(), target,
                             log.text()),
                native_name(result));
}
// The image is of another GPU.
bool is_foreign(const Status& status) {
  return status.native_error() == native_name(CUDA_ERROR_NO_BINARY_FOR_GPU);
}
// Says nothing of the image.
bool is_of_the_device(const Status& status) noexcept {
  return status.code() == StatusCode::kResourceExhausted ||
         status.code() == StatusCode::kDeviceLost;
}

// A copy, aligned for headers, with the zero at which the driver's compiler stops.
std::unique_ptr<char[]> terminated(std::span<const std::byte> bytes) noexcept {
  std::unique_ptr<char[]> text(new (std::nothrow) char[bytes.size() + 1]);
  if (text == nullptr) return text;
  if (!bytes.empty()) std::memcpy(text.get(), bytes.data(), bytes.size());
  text[bytes.size()] = '\0';
  return text;
}
Status no_memory(const kernel::Hyx& file, std::string_view target) {
  return error(StatusCode::kResourceExhausted, "cuda: {}: no memory for the image {}", file.name(),
               target);
}

Status load_module(const Functions& cuda, const kernel::Hyx& file, std::string_view target,
                   std::span<const std::byte> bytes, CUmodule& module) {
  const std::unique_ptr<char[]> text = terminated(bytes);
  if (text == nullptr) return no_memory(file, target);
  Log log;
  const CUresult result = cuda.cuModuleLoadDataEx(&module, static_cast<const void*>(text.get()),
                                                  Log::kOptions, &log.options[0], &log.values[0]);
  return result == CUDA_SUCCESS ? Status() : refused(file, target, result, log);
}

// Calls use(image) with the images of `file` that the device may run, best first, until one is not
// of another GPU.
template <class F>
Status with_best_image(const PhysicalDevice& device, const kernel::Hyx& file, F&& use) {
  Status status;
  for (const std::string_view target : device.targets) {
    const auto is_it = [&](const kernel::ImageInfo& image) {
      return image.target == target && image.convention == kernel::kKernargConvention;
    };
    const auto image = std::ranges::find_if(file.images(), is_it);
    if (image == file.images().end()) continue;
    status = use(*image);
    if (!is_foreign(status)) return status;
  }
  if (!status.ok()) return status;
  return file.image_for(device.targets, kernel::kKernargConvention).status();
}

class Link {
 public:
  explicit Link(const Functions& cuda) noexcept : cuda_(cuda) {}
  ~Link() {
    if (state_ != nullptr) (void)cuda_.cuLinkDestroy(state_);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // `cubin` is valid as long as this.
  CUresult compile(char* text, std::size_t size, const char* name,
                   std::span<const std::byte>& cubin) {
    CUresult result =
        cuda_.cuLinkCreate(Log::kOptions, &log.options[0], &log.values[0], &state_);
    if (result != CUDA_SUCCESS) return state_ = nullptr, result;
    result = cuda_.cuLinkAddData(state_, CU_JIT_INPUT_PTX, static_cast<void*>(text), size, name, 0u,
                                 static_cast<CUjit_option*>(nullptr), static_cast<void**>(nullptr));
    if (result != CUDA_SUCCESS) return result;
    void* data = nullptr;
    std::size_t length = 0;
    result = cuda_.cuLinkComplete(state_, &data, &length);
    if (result == CUDA_SUCCESS) cubin = {static_cast<const std::byte*>(data), length};
    return result;
  }

  Log log;  // outlives state_

 private:
  const Functions& cuda_;
  CUlinkState state_ = nullptr;
};

// Machine code for the current context; the PTX itself where the driver has no linker.
Result<std::vector<std::byte>> compile(const Functions& cuda, const kernel::Hyx& file,
                                       const kernel::ImageInfo& image) {
  const std::unique_ptr<char[]> text = terminated(image.bytes);
  if (text == nullptr) return no_memory(file, image.target);
  const std::string name(image.target);
  Link link(cuda);
  std::span<const std::byte> cubin;
  const CUresult result = link.compile(text.get(), image.bytes.size() + 1, name.c_str(), cubin);
  if (result == CUDA_ERROR_NOT_SUPPORTED || result == CUDA_ERROR_JIT_COMPILER_NOT_FOUND) {
    cubin = image.bytes;
  } else if (result != CUDA_SUCCESS) {
    return refused(file, image.target, result, link.log);
  }
  return std::vector<std::byte>(cubin.begin(), cubin.end());
}

}  // namespace

Status CudaApi::load(const kernel::Hyx& file, Module& module) const noexcept {
  return with_best_image(*device, file, [&](const kernel::ImageInfo& image) {
    return load_module(*cuda, file, image.target, image.bytes, module);
  });
}

Images::Images(const CudaApi& api, Ref<timeline::EntryGuard> guard)
    : api_(api),
      guard_(std::move(guard)),
      name_(base::format("cuda sm_{} driver {}", api.device->capability, api.device->driver)) {}

Status Images::load_kept(const kernel::Hyx& file, const kernel::ImageInfo& image,
                         CUmodule& module) const {
  const std::string folder = base::default_cache_folder();
  Result<base::DiskCache> disk = Status(StatusCode::kNotFound, "cuda: no folder for caches");
  if (!folder.empty()) disk = base::DiskCache::open(folder, base::DiskCache::kDefaultMaxBytes);
  // Without a folder the driver compiles as it loads, and has a cache of its own.
  if (!disk.ok()) return load_module(*api_.cuda, file, image.target, image.bytes, module);
  const base::ContentHash key =
      base::content_hash({"cuda image", name_, base::text_of(image.bytes)});
  if (const base::DiskCache::Entry entry = disk->find(key)) {
    const Status status = load_module(*api_.cuda, file, image.target, entry.bytes(), module);
    if (status.ok() || is_of_the_device(status)) return status;
  }
  HALYARD_ASSIGN_OR_RETURN(const std::vector<std::byte> cubin, compile(*api_.cuda, file, image));
  HALYARD_RETURN_IF_ERROR(load_module(*api_.cuda, file, image.target, cubin, module));
  (void)disk->put(key, cubin);  // the next process compiles again
  return {};
}

Result<Ref<hal::ExecutableImpl>> Images::open(kernel::Hyx file, bool keep) {
  CUmodule module = nullptr;
  const auto load = [&](const kernel::ImageInfo& image) {
    if (keep && is_ptx(image)) return load_kept(file, image, module);
    return load_module(*api_.cuda, file, image.target, image.bytes, module);
  };
  HALYARD_RETURN_IF_ERROR(with_best_image(*api_.device, file, load));
  return stream::Executable<CudaApi>::adopt(api_, guard_, std::move(file), module);
}

// Machine code that a file has is an image, too, once the driver has taken it.
Result<std::vector<std::byte>> Images::build(const kernel::Hyx& file) {
  std::vector<std::byte> built;
  const auto make = [&](const kernel::ImageInfo& image) -> Status {
    if (is_ptx(image)) {
      HALYARD_ASSIGN_OR_RETURN(built, compile(*api_.cuda, file, image));
      return {};
    }
    CUmodule module = nullptr;
    HALYARD_RETURN_IF_ERROR(load_module(*api_.cuda, file, image.target, image.bytes, module));
    api_.unload(module);
    built.assign(image.bytes.begin(), image.bytes.end());
    return {};
  };
  HALYARD_RETURN_IF_ERROR(with_best_image(*api_.device, file, make));
  return built;
}

Result<Ref<hal::ExecutableImpl>> Images::load(kernel::Hyx&& file,
                                              std::span<const std::byte> image) {
  CUmodule module = nullptr;
  const Status status = load_module(*api_.cuda, file, "that was compiled", image, module);
  if (status.ok()) {
    return stream::Executable<CudaApi>::adopt(api_, guard_, std::move(file), module);
  }
  if (is_of_the_device(status)) return status;
  return Status(StatusCode::kDataLoss, status.message(), status.native_error());
}

}  // namespace halyard::inline v0::cuda
