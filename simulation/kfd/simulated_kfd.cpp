// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/kfd/simulated_kfd.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "simulation/kfd/queue.h"
#include "simulation/kfd/text.h"

namespace halyard::inline v0::sim::kfd {

struct SimulatedKfd::Impl {
  explicit Impl(Options options) : system(std::move(options)) {}
  System system;

  // The range of the file that a mapping is of.
  struct Range {
    std::uint64_t offset = 0, size = 0;
    bool may_access = true;
  };
  std::optional<Range> find_range(const System::Descriptor& of, std::uint64_t offset) const;
};

SimulatedKfd::SimulatedKfd(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}

SimulatedKfd::~SimulatedKfd() {
  if (!impl_->system.descriptors.empty()) {
    impl_->system.report.add(
        "left-behind", join(impl_->system.descriptors.size(), " descriptors were not closed"));
  }
}

Result<int> SimulatedKfd::open(const char* path, int) {
  System& system = impl_->system;
  const std::lock_guard lock(system.mutex);
  const std::string_view name = path;
  std::optional<System::Descriptor> opened;
  if (name == "/dev/kfd") opened = System::Descriptor{};
  for (const auto& device : system.devices) {
    if (name == join("/dev/dri/renderD", device->node.drm_render_minor)) {
      opened = {System::DescriptorKind::kRender, device->index};
    }
  }
  if (!opened) return Status(StatusCode::kNotFound, join("there is no ", name));
  system.descriptors.emplace(system.next_descriptor, *opened);
  return system.next_descriptor++;
}

void SimulatedKfd::close(int descriptor) {
  System& system = impl_->system;
  const std::lock_guard lock(system.mutex);
  const auto found = system.descriptors.find(descriptor);
  if (found == system.descriptors.end()) {
    system.report.add("unknown-descriptor", join("close of ", descriptor));
    return;
  }
  const bool is_kfd = found->second.kind == System::DescriptorKind::kKfd;
  system.descriptors.erase(found);
  const auto others = std::ranges::count_if(system.descriptors, [](const auto& each) {
    return each.second.kind == System::DescriptorKind::kKfd;
  });
  if (is_kfd && others == 0) system.report_leaks();
}

int SimulatedKfd::ioctl(int descriptor, unsigned long request, void* argument) {
  System& system = impl_->system;
  std::unique_lock lock(system.mutex);
  const auto found = system.descriptors.find(descriptor);
  if (found == system.descriptors.end() || found->second.kind != System::DescriptorKind::kKfd) {
    return system.refuse(
        found == system.descriptors.end() ? -EBADF : -ENOTTY, "unknown-descriptor",
        join("request ", hex(request), " to a descriptor that is not of /dev/kfd"));
  }
  return system.request(request, argument, lock);
}

std::optional<SimulatedKfd::Impl::Range> SimulatedKfd::Impl::find_range(
    const System::Descriptor& of, std::uint64_t offset) const {
  if (of.kind == System::DescriptorKind::kRender) {
    for (const auto& [handle, buffer] : system.buffers) {
      if (buffer->backing.bytes() == nullptr || buffer->backing.offset() != offset ||
          buffer->device != of.device) {
        continue;
      }
      // The CPU reaches VRAM only if it was allocated for that.
      const bool is_hidden =
          (buffer->flags & abi::kVram) != 0 && (buffer->flags & abi::kPublic) == 0;
      return Range{offset, buffer->size, !is_hidden};
    }
    return std::nullopt;
  }
  const std::uint64_t type = offset >> abi::kMmapTypeShift << abi::kMmapTypeShift;
  if (type == abi::kMmapEvents) {
    if (system.event_page.bytes() == nullptr) return std::nullopt;
    return Range{system.event_page.offset(), system.event_page.size()};
  }
  for (const auto& device : system.devices) {
    const std::uint64_t id = std::uint64_t{device->node.gpu_id} << abi::kMmapGpuIdShift;
    if (offset == (abi::kMmapDoorbell | id)) {
      return Range{device->doorbells.offset(), device->doorbells.size()};
    }
    if (offset == id) return Range{device->registers.offset(), device->registers.size()};
  }
  return std::nullopt;
}

Result<void*> SimulatedKfd::map(void* at, std::size_t bytes, int protection, int flags,
                                int descriptor, std::int64_t offset) {
  System& system = impl_->system;
  const std::lock_guard lock(system.mutex);
  int file = -1;
  if (descriptor != -1) {
    const auto found = system.descriptors.find(descriptor);
    const auto range = found == system.descriptors.end()
                           ? std::nullopt
                           : impl_->find_range(found->second, static_cast<std::uint64_t>(offset));
    const bool is_kfd = range && found->second.kind == System::DescriptorKind::kKfd;
    const bool fits = range && (is_kfd ? bytes == range->size : bytes <= range->size);
    if (!fits || (flags & MAP_SHARED) == 0) {
      std::string text =
          join("a mapping of ", bytes, " bytes at offset ", hex(static_cast<std::uint64_t>(offset)),
               " of a device file is not one of a buffer, of doorbells, or shared");
      system.report.add("map", text);
      return Status(StatusCode::kInvalidArgument, text);
    }
    if (!range->may_access && protection != PROT_NONE) {
      system.report.add("map", "a mapping of VRAM that was allocated without PUBLIC");
      return Status(StatusCode::kPermissionDenied, "the memory was allocated without PUBLIC");
    }
    file = system.file.descriptor();
    offset = static_cast<std::int64_t>(range->offset);
  }
  void* const mapped = ::mmap(at, bytes, protection, flags, file, offset);
  if (mapped == MAP_FAILED) {
    const auto code =
        errno == ENOMEM ? StatusCode::kResourceExhausted : StatusCode::kInvalidArgument;
    return Status(code, "mmap failed");
  }
  return mapped;
}

int SimulatedKfd::unmap(void* at, std::size_t bytes) {
  {
    const std::lock_guard lock(impl_->system.mutex);
    const auto* const begin = static_cast<const std::byte*>(at);
    for (const auto& [handle, buffer] : impl_->system.buffers) {
      if ((buffer->flags & abi::kUserptr) == 0) continue;
      if (buffer->bytes >= begin + bytes || begin >= buffer->bytes + buffer->size) continue;
      return impl_->system.refuse(
          -EBUSY, "unmap-userptr",
          join("an unmap of memory that the buffer at ", hex(buffer->address), " is of"));
    }
  }
  return ::munmap(at, bytes) == 0 ? 0 : -errno;
}

Result<std::string> SimulatedKfd::read_file(const char* path) {
  const auto found = impl_->system.files.find(path);
  if (found == impl_->system.files.end()) {
    return Status(StatusCode::kNotFound, join("there is no ", path));
  }
  return found->second;
}

Result<std::vector<std::string>> SimulatedKfd::list(const char* directory) {
  std::string prefix = directory;
  if (!prefix.ends_with('/')) prefix += '/';
  std::set<std::string> names;
  for (const auto& [path, text] : impl_->system.files) {
    if (path.starts_with(prefix)) {
      names.insert(path.substr(prefix.size(), path.find('/', prefix.size()) - prefix.size()));
    }
  }
  if (names.empty()) return Status(StatusCode::kNotFound, join("there is no ", directory));
  return std::vector<std::string>(names.begin(), names.end());
}

bool SimulatedKfd::step() {
  const std::lock_guard lock(impl_->system.mutex);
  return impl_->system.step();
}

std::vector<std::string> SimulatedKfd::run_until_idle() {
  System& system = impl_->system;
  const std::lock_guard lock(system.mutex);
  while (system.step()) {
  }
  std::vector<std::string> left;
  for (const auto& device : system.devices) {
    for (const auto& queue : device->queues) {
      if (std::string text = queue->waits_for(); !text.empty()) left.push_back(std::move(text));
    }
  }
  return left;
}

std::vector<Violation> SimulatedKfd::take_violations() {
  const std::lock_guard lock(impl_->system.mutex);
  return impl_->system.report.take();
}

void SimulatedKfd::inject(unsigned device, Fault fault, std::uint64_t address) {
  System& system = impl_->system;
  const std::lock_guard lock(system.mutex);
  Device& faulty = *system.devices.at(device);
  switch (fault) {
    case Fault::kMemory:
      return system.page_fault(faulty, address, Access::kRead);
    case Fault::kHang:
      faulty.health = Health::kHung;
      return;
    case Fault::kException:
      return system.reset_device(faulty);
  }
}

void SimulatedKfd::set_host_kernel(std::uint64_t entry, HostKernel kernel) {
  const std::lock_guard lock(impl_->system.mutex);
  impl_->system.host_kernels[entry] = std::move(kernel);
}

struct ProcessorThread::Impl {
  explicit Impl(System& of) : system(of) {
    const std::lock_guard lock(system.mutex);
    ++system.processor_threads;
    thread = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~Impl() {
    thread.request_stop();
    system.stop = true;  // ends a kernel that would not
    thread.join();
    const std::lock_guard lock(system.mutex);
    system.stop = false;
    --system.processor_threads;
    system.changed.notify_all();
  }

  // Doorbells are plain memory, so that they are polled: without a pause for some rounds, then with
  // short ones.
  void run(const std::stop_token& stop) {
    constexpr unsigned kRounds = 100;
    constexpr std::chrono::microseconds kPause{20};
    for (unsigned idle = 0; !stop.stop_requested();) {
      bool has_done = false;
      {
        const std::lock_guard lock(system.mutex);
        has_done = system.step();
      }
      idle = has_done ? 0 : idle + 1;
      if (idle > kRounds) {
        std::this_thread::sleep_for(kPause);
      } else if (!has_done) {
        std::this_thread::yield();
      }
    }
  }

  System& system;
  std::jthread thread;
};

ProcessorThread::ProcessorThread(SimulatedKfd& kfd)
    : impl_(std::make_unique<Impl>(kfd.impl_->system)) {}
ProcessorThread::~ProcessorThread() = default;

}  // namespace halyard::inline v0::sim::kfd
