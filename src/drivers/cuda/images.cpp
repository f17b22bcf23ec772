// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "base/format.h"
#include "drivers/cuda/api.h"
#include "drivers/cuda/error.h"

namespace halyard::inline v0::cuda {
namespace {

constexpr std::size_t kLogBytes = 4096;

// The compiler's error log, and the options that request it.
class Log {
 public:
  static constexpr unsigned kOptions = 2;
  CUjit_option options[kOptions] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[kOptions] = {text_, reinterpret_cast<void*>(std::uintptr_t{kLogBytes})};

  // Returns the log as one line, for a message.
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

Status refused(const kernel::Hyx& file, std::string_view target, CUresult result, Log& log) {
  return Status(
      status_code(result),
      base::format("cuda: {}: the image {} cannot be loaded: {}", file.name(), target, log.text()),
      native_name(result));
}
// A copy, aligned for headers, with a terminating zero for the driver's compiler.
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

class Link {
 public:
  explicit Link(const Functions& cuda) noexcept : cuda_(cuda) {}
  ~Link() {
    if (state_ != nullptr) (void)cuda_.cuLinkDestroy(state_);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // `cubin` is valid as long as this object.
  CUresult compile(char* text, std::size_t size, const char* name,
                   std::span<const std::byte>& cubin) {
    CUresult result = cuda_.cuLinkCreate(Log::kOptions, &log.options[0], &log.values[0], &state_);
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

}  // namespace

Status CudaApi::load_image(const kernel::Hyx& file, std::string_view target,
                           std::span<const std::byte> bytes, Module& module) const {
  const std::unique_ptr<char[]> text = terminated(bytes);
  if (text == nullptr) return no_memory(file, target);
  Log log;
  const CUresult result =
      call(&Functions::cuModuleLoadDataEx, &module, static_cast<const void*>(text.get()),
           Log::kOptions, &log.options[0], &log.values[0]);
  return result == CUDA_SUCCESS ? Status() : refused(file, target, result, log);
}

void CudaApi::unload(Module module) const noexcept {
  (void)call(&Functions::cuModuleUnload, module);
}

bool CudaApi::is_foreign(const Status& status) {
  return status.native_error() == native_name(CUDA_ERROR_NO_BINARY_FOR_GPU);
}

Result<std::vector<std::byte>> CudaApi::compile(const kernel::Hyx& file,
                                                const kernel::ImageInfo& image) const {
  const std::unique_ptr<char[]> text = terminated(image.bytes);
  if (text == nullptr) return no_memory(file, image.target);
  const std::string name(image.target);
  Link link(*native);
  std::span<const std::byte> cubin;
  const CUresult result = link.compile(text.get(), image.bytes.size() + 1, name.c_str(), cubin);
  if (result == CUDA_ERROR_NOT_SUPPORTED || result == CUDA_ERROR_JIT_COMPILER_NOT_FOUND) {
    cubin = image.bytes;
  } else if (result != CUDA_SUCCESS) {
    return refused(file, image.target, result, link.log);
  }
  return std::vector<std::byte>(cubin.begin(), cubin.end());
}

std::string CudaApi::compiler() const {
  return base::format("cuda sm_{} driver {}", device->capability, device->driver);
}

}  // namespace halyard::inline v0::cuda
