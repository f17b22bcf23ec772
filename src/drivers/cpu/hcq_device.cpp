// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/hcq_device.h"

#include <new>
#include <utility>

#include "base/format.h"
#include "drivers/cpu/encoder.h"
#include "drivers/cpu/executable.h"
#include "halyard/hcq/cpu.h"
#include "hcq/command_list.h"
#include "hcq/signal_object.h"
#include "kernel/cpu_image.h"
#include "kernel/hyx.h"

namespace halyard::inline v0 {
namespace cpu {

namespace {

constexpr std::uint64_t kPage = 4096;

// The alignment of a block, which follows from its size, for allocation and release.
std::align_val_t alignment_of(std::uint64_t size) noexcept {
  return std::align_val_t{size < kPage ? 64 : kPage};
}

}  // namespace

Result<std::unique_ptr<HcqDevice>> HcqDevice::create(unsigned workers,
                                                     const HcqDeviceOptions& options) {
  // With 32-bit values, the upper half remains usable if there is no memory for another signal at
  // the limit.
  const std::uint64_t limit =
      options.signal_bits == 32 ? std::uint64_t{1} << 31 : hcq::detail::Timeline::kNoLimit;
  HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<hcq::detail::Timeline> timeline,
                           hcq::detail::Timeline::create(options.timeline_limit.value_or(limit),
                                                         options.timeline_start));
  std::unique_ptr<HcqDevice> device(new (std::nothrow)
                                        HcqDevice(std::move(timeline), workers, options));
  if (device == nullptr) return error(StatusCode::kResourceExhausted, "cpu: no memory");
  HALYARD_ASSIGN_OR_RETURN(device->compute_, HostQueue::create(device->group_, options.limits));
  if (options.has_copy_queue) {
    HALYARD_ASSIGN_OR_RETURN(device->copy_, HostQueue::create(device->group_, options.limits));
  }
  HALYARD_RETURN_IF_ERROR(device->workers_.start(workers));
  return device;
}

HcqDevice::~HcqDevice() {
  workers_.stop();
  if (compute_ != nullptr) compute_->close();
  if (copy_ != nullptr) copy_->close();
  free_abandoned();
}

Status HcqDevice::submit(hcq::QueueType type, const hcq::detail::CommandList& list) {
  return queue(type).submit(list);
}

Status HcqDevice::submit(hcq::QueueType type, hcq::detail::BoundList& list) {
  return queue(type).submit(static_cast<HostImage&>(list));
}

Result<Ref<hcq::detail::BoundList>> HcqDevice::bind(const hcq::detail::CommandList& list) {
  HALYARD_ASSIGN_OR_RETURN(Ref<HostImage> image, HostImage::create(list));
  return Ref<hcq::detail::BoundList>(std::move(image));
}

hcq::Buffer HcqDevice::allocate_memory(hcq::MemoryType, std::uint64_t size) noexcept {
  if (memory_used_.fetch_add(size, std::memory_order_relaxed) + size <= options_.memory_size) {
    if (void* memory = operator new(size, alignment_of(size), std::nothrow)) {
      return {memory, size};
    }
  }
  memory_used_.fetch_sub(size, std::memory_order_relaxed);
  return {};
}

void HcqDevice::free_memory(hcq::MemoryType, const hcq::Buffer& memory) noexcept {
  operator delete(memory.pointer(), alignment_of(memory.size));
  memory_used_.fetch_sub(memory.size, std::memory_order_relaxed);
}

}  // namespace cpu

namespace hcq {
namespace {

Result<Program> make_program(Kernel function, ProgramInfo info, Ref<RefCounted> code) {
  auto image =
      Ref<cpu::HostKernel>::adopt(new (std::nothrow) cpu::HostKernel(function, std::move(code)));
  auto* object =
      !image ? nullptr : new (std::nothrow) ProgramObject(std::move(image), std::move(info));
  if (object == nullptr) return error(StatusCode::kResourceExhausted, "program: no memory");
  return Program(Ref<ProgramObject>::adopt(object));
}

Result<Value::Type> value_type(const kernel::ConstantInfo& constant, std::string_view kernel) {
  switch (constant.type) {
    case kernel::ElementType::kInt32:
      return Value::Type::kInt32;
    case kernel::ElementType::kUint32:
      return Value::Type::kUint32;
    case kernel::ElementType::kInt64:
      return Value::Type::kInt64;
    case kernel::ElementType::kUint64:
      return Value::Type::kUint64;
    case kernel::ElementType::kFloat32:
      return Value::Type::kFloat32;
    case kernel::ElementType::kFloat64:
      return Value::Type::kFloat64;
    default:
      return error(StatusCode::kUnimplemented, "program '{}': constant '{}' is {}", kernel,
                   constant.name, to_string(constant.type));
  }
}

}  // namespace

Result<std::unique_ptr<Device>> open_cpu(unsigned workers) {
  if (workers > cpu::kMaxWorkers) {
    return error(StatusCode::kInvalidArgument, "cpu: {} workers, at most {} are possible", workers,
                 cpu::kMaxWorkers);
  }
  if (workers == 0) workers = cpu::core_count();
  HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, cpu::HcqDevice::create(workers));
  return device;
}

Result<Program> cpu_program(Kernel kernel, ProgramInfo info) {
  const auto invalid = [&](std::string_view what) {
    return error(StatusCode::kInvalidArgument, "program '{}': {}", info.name, what);
  };
  if (kernel == nullptr) return invalid("no function");
  if (info.max_local_size != 0) return invalid("a kernel for the CPU has one local size");
  if (info.buffer_count > kMaxBuffers) {
    return invalid(base::format("{} buffers; the most is {}", info.buffer_count, kMaxBuffers));
  }
  if (info.constants_size > kMaxConstantsSize) {
    return invalid(base::format("{} bytes of constants; the most is {}", info.constants_size,
                                kMaxConstantsSize));
  }
  for (const ProgramInfo::Constant& constant : info.constants) {
    const std::size_t size = Value::size_of(constant.type);
    if (constant.offset % size != 0 || constant.offset + size > info.constants_size) {
      return invalid(base::format("constant '{}' at offset {} of {} bytes", constant.name,
                                  constant.offset, info.constants_size));
    }
  }
  return make_program(kernel, std::move(info), {});
}

Result<Program> load_cpu_program(std::span<const std::byte> hyx, std::string_view name,
                                 std::string_view kernel) {
  HALYARD_ASSIGN_OR_RETURN(const kernel::Hyx file, kernel::Hyx::parse(hyx, name));
  HALYARD_ASSIGN_OR_RETURN(const kernel::KernelInfo* found, file.find(kernel));
  HALYARD_ASSIGN_OR_RETURN(Ref<kernel::CpuImage> image, kernel::CpuImage::load(file));
  HALYARD_ASSIGN_OR_RETURN(const kernel::CpuEntry entry, image->entry(kernel));
  ProgramInfo info;
  info.name = kernel;
  const auto& size = found->workgroup_size;
  info.local_size = {size[0], size[1], size[2]};
  info.buffer_count = static_cast<std::uint32_t>(found->bindings.size());
  info.constants_size = found->constants_bytes;
  for (const kernel::ConstantInfo& constant : found->constants) {
    HALYARD_ASSIGN_OR_RETURN(const Value::Type type, value_type(constant, kernel));
    info.constants.push_back({std::string(constant.name), type, constant.offset});
  }
  for (std::size_t i = 0; i < found->bindings.size(); ++i) {
    if (found->bindings[i].access == kernel::Access::kRead)
      info.reads_only |= std::uint64_t{1} << i;
  }
  return make_program(entry, std::move(info), std::move(image));
}

}  // namespace hcq
}  // namespace halyard::inline v0
