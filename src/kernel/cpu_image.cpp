// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel/cpu_image.h"

#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <new>
#include <string>

#include "base/error_name.h"
#include "base/file.h"
#include "base/format.h"
#include "base/native_call.h"
#include "kernel/cpu_checked.h"

namespace halyard::inline v0::kernel {
namespace {

using base::native_call;

HALYARD_CALL_SITE(kWrite, "image.write", ENOSPC);
HALYARD_CALL_SITE(kLink, "image.link", ENOMEM);
HALYARD_CALL_SITE(kEntry, "image.entry", ENOENT);
HALYARD_CALL_SITE(kUnlink, "image.unlink", 0, base::Failing::kErrno,
                  "dlclose(3) fails only for an invalid library");

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "CpuImage needs the ELF machine number of this processor"
#endif

// The dynamic linker trusts its input, so this makes the checks that are cheap.
const char* elf_fault(std::span<const std::byte> image, Elf64_Half machine) {
  Elf64_Ehdr header;
  if (image.size() < sizeof(header)) return "too short for an ELF header";
  std::memcpy(&header, image.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "no ELF file";
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != machine) {
    return "for another machine";
  }
  if (header.e_type != ET_DYN) return "not a shared object";
  const std::size_t table = std::size_t{header.e_phnum} * sizeof(Elf64_Phdr);
  if (header.e_phnum == 0 || header.e_phentsize != sizeof(Elf64_Phdr) ||
      header.e_phoff > image.size() || table > image.size() - header.e_phoff) {
    return "its program headers leave the image";
  }
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, image.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    if (segment.p_offset > image.size() || segment.p_filesz > image.size() - segment.p_offset ||
        (segment.p_type == PT_LOAD && segment.p_memsz < segment.p_filesz)) {
      return "a segment leaves the image";
    }
  }
  return nullptr;
}

Status file_error(std::string_view name, const char* what) {
  const int code = errno;
  const bool exhausted =
      code == ENOMEM || code == ENOSPC || code == EMFILE || code == ENFILE || code == EFBIG;
  const char* native = base::error_name(code);
  return Status(exhausted ? StatusCode::kResourceExhausted : StatusCode::kUnavailable,
                base::format("{}: {} failed: {}", name, what, std::strerror(code)),
                native == nullptr ? "" : native);
}

// The error of the dynamic linker's last call on this thread; it may have none.
std::string_view link_error() noexcept {
  const char* const text = ::dlerror();
  return text != nullptr ? text : "the dynamic linker gave no reason";
}

}  // namespace

std::span<const std::string_view> cpu_targets() noexcept {
#if defined(__x86_64__)
  static constexpr std::array<std::string_view, 4> kLevels = {"x86-64-v4", "x86-64-v3", "x86-64-v2",
                                                              "x86-64"};
  const std::size_t first = __builtin_cpu_supports("x86-64-v4")   ? 0
                            : __builtin_cpu_supports("x86-64-v3") ? 1
                            : __builtin_cpu_supports("x86-64-v2") ? 2
                                                                  : 3;
  return std::span(kLevels).subspan(first);
#else
  static constexpr std::array<std::string_view, 1> kOnly = {"aarch64"};
  return kOnly;
#endif
}

Result<Ref<CpuImage>> CpuImage::load(const Hyx& hyx, Runs runs) {
  const Result<const ImageInfo*> image = hyx.image_for(cpu_targets(), kCpuConvention);
  const auto load_image = [&](const ImageInfo& info) {
    return load(info.bytes, base::format("{}, image {}", hyx.name(), info.target));
  };
  if (image.ok()) return load_image(**image);
  const Result<const ImageInfo*> checked = hyx.image_for(cpu_targets(), kCheckedCpuConvention);
  if (!checked.ok()) return image.status();
  if (runs == Runs::kUnchecked) {
    return error(StatusCode::kUnavailable,
                 "{}: a checked build ({}), which only cpu:// runs: compile it without --checked",
                 hyx.name(), kCheckedCpuConvention);
  }
  HALYARD_ASSIGN_OR_RETURN(Ref<CpuImage> loaded, load_image(**checked));
  HALYARD_RETURN_IF_ERROR(loaded->set_fault_handler());
  return loaded;
}

Status CpuImage::set_fault_handler() {
  void* const symbol = native_call(kEntry, [&] { return ::dlsym(library_, kFaultHandler); });
  if (symbol == nullptr) {
    return error(StatusCode::kDataLoss, "{}: a checked build without {}", name_, kFaultHandler);
  }
  *static_cast<void (**)(const CheckedFault*)>(symbol) = &handle_fault;
  checked_ = true;
  return {};
}

Result<Ref<CpuImage>> CpuImage::load(std::span<const std::byte> image, std::string_view name) {
  if (const char* fault = elf_fault(image, kMachine); fault != nullptr) {
    return error(StatusCode::kDataLoss, "{}: cannot be loaded: {}", name, fault);
  }
  ImageFile file = ImageFile::create();
  const int fd = file.descriptor.get();
  if (fd < 0) return file_error(name, ImageFile::kCreatedBy);
  CpuImage* object = new (std::nothrow) CpuImage(std::move(file), base::format("{}", name));
  if (object == nullptr) {
    file.remove_name();
    return error(StatusCode::kResourceExhausted, "{}: no memory to load it", name);
  }
  Ref<CpuImage> loaded = Ref<CpuImage>::adopt(object);
  const base::FileSizeSignalGuard guard;  // the limit applies to files in memory too
  for (std::size_t done = 0; done < image.size();) {
    const ssize_t count =
        native_call(kWrite, [&] { return ::write(fd, image.data() + done, image.size() - done); });
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const Status status = file_error(name, "write to the file of the image");
      loaded->file_.remove_name();
      return status;
    }
    done += static_cast<std::size_t>(count);
  }
  loaded->library_ =
      native_call(kLink, [&] { return ::dlopen(loaded->file_.path, RTLD_NOW | RTLD_LOCAL); });
  loaded->file_.remove_name();
  if (loaded->library_ == nullptr) {
    const std::string_view text = link_error();
    // The texts of glibc's dynamic linker (elf/dl-load.c, elf/dl-map-segments.h). The file is open
    // here, so a failure to open it without a cause also means exhausted memory.
    const bool exhausted = text.find("failed to map segment") != text.npos ||
                           text.find("cannot create shared object descriptor") != text.npos ||
                           text.find("annot allocate") != text.npos ||
                           text.ends_with("cannot open shared object file");
    return error(exhausted ? StatusCode::kResourceExhausted : StatusCode::kDataLoss,
                 "{}: cannot be loaded: {}", name, text);
  }
  return loaded;
}

Status CpuImage::check(std::span<const std::byte> image, std::string_view target,
                       std::string_view name) {
  const Elf64_Half machine = target == "aarch64" ? EM_AARCH64 : EM_X86_64;
  if (const char* fault = elf_fault(image, machine); fault != nullptr) {
    return error(StatusCode::kInvalidArgument, "{}: no image for {}: {}", name, target, fault);
  }
  return {};
}

Result<CpuEntry> CpuImage::entry(std::string_view kernel) const {
  char name[kMaxNameLength + 1] = {};
  if (kernel.size() < std::size(name)) kernel.copy(name, kernel.size());
  void* symbol = native_call(kEntry, [&] { return ::dlsym(library_, name); });
  if (symbol == nullptr) {
    return error(StatusCode::kNotFound, "{}: has no entry '{}'", name_, kernel);
  }
  return reinterpret_cast<CpuEntry>(symbol);
}

Result<base::Array<CpuEntry>> CpuImage::entries(const Hyx& hyx) const {
  base::Array<CpuEntry> all;
  for (const KernelInfo& kernel : hyx.kernels()) {
    const Result<CpuEntry> found = entry(kernel.name);
    if (!found.ok()) return Status(StatusCode::kDataLoss, found.status().message());
    if (!all.push_back(*found)) {
      return error(StatusCode::kResourceExhausted, "{}: no memory for its entries", name_);
    }
  }
  return all;
}

CpuImage::~CpuImage() {
  if (library_ != nullptr) native_call(kUnlink, [&] { return ::dlclose(library_); });
}

}  // namespace halyard::inline v0::kernel
