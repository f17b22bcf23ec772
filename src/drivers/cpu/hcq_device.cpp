// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/hcq_device.h"

#include <new>
#include <utility>

#include "base/format.h"
#include "drivers/cpu/executable.h"
#include "halyard/hcq/cpu.h"
#include "hcq/command_list.h"
#include "hcq/signal_object.h"
#include "kernel/cpu_image.h"
#include "kernel/hyx.h"

namespace halyard::inline v0 {
namespace cpu {

Result<std::unique_ptr<HcqDevice>> HcqDevice::create(unsigned workers,
                                                     const hcq::HostQueueLimits& limits) {
  auto* timeline = new (std::nothrow) hcq::SignalObject(0);
  if (timeline == nullptr) return error(StatusCode::kResourceExhausted, "cpu: no memory");
  hcq::Signal signal(Ref<hcq::SignalObject>::adopt(timeline));
  std::unique_ptr<HcqDevice> device(new (std::nothrow) HcqDevice(std::move(signal), workers));
  if (device == nullptr) return error(StatusCode::kResourceExhausted, "cpu: no memory");
  HALYARD_ASSIGN_OR_RETURN(device->compute_, hcq::HostQueue::create(device->group_, limits));
  HALYARD_ASSIGN_OR_RETURN(device->copy_, hcq::HostQueue::create(device->group_, limits));
  HALYARD_RETURN_IF_ERROR(device->workers_.start(workers));
  return device;
}

HcqDevice::~HcqDevice() {
  workers_.stop();
  if (compute_ != nullptr) compute_->close();
  if (copy_ != nullptr) copy_->close();
}

Status HcqDevice::submit(hcq::QueueType type, const hcq::detail::CommandList& commands) {
  return queue(type).submit(commands);
}

Status HcqDevice::submit(hcq::QueueType type, hcq::detail::BoundList& commands) {
  return queue(type).submit(static_cast<hcq::HostImage&>(commands));
}

Result<Ref<hcq::detail::BoundList>> HcqDevice::bind(const hcq::detail::CommandList& commands) {
  HALYARD_ASSIGN_OR_RETURN(Ref<hcq::HostImage> image, hcq::HostImage::create(commands));
  return Ref<hcq::detail::BoundList>(std::move(image));
}

}  // namespace cpu

namespace hcq {
namespace {

Result<Program> make_program(Kernel kernel, ProgramInfo info, Ref<RefCounted> image) {
  auto* object = new (std::nothrow) ProgramObject(kernel, std::move(info), std::move(image));
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
  if (workers == 0) workers = core_count();
  HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, cpu::HcqDevice::create(workers));
  return device;
}

Result<Program> cpu_program(Kernel kernel, ProgramInfo info) {
  const auto invalid = [&](std::string_view what) {
    return error(StatusCode::kInvalidArgument, "program '{}': {}", info.name, what);
  };
  if (kernel == nullptr) return invalid("no function");
  if (info.buffer_count > kMaxBuffers) return invalid("more than 64 buffers");
  if (info.constants_size > kMaxConstantsSize) return invalid("more than 4096 bytes of constants");
  for (const ProgramInfo::Constant& constant : info.constants) {
    const std::size_t size = Value::size_of(constant.type);
    if (constant.offset % size != 0 || constant.offset + size > info.constants_size) {
      return invalid(fmt::format("constant '{}' at offset {} of {} bytes", constant.name,
                                 constant.offset, info.constants_size));
    }
  }
  return make_program(kernel, std::move(info), {});
}

Result<Program> load_cpu_program(std::span<const std::byte> hyx, std::string_view name,
                                 std::string_view kernel) {
  HALYARD_ASSIGN_OR_RETURN(const kernel::Hyx file, kernel::Hyx::parse(hyx, name));
  HALYARD_ASSIGN_OR_RETURN(const kernel::KernelInfo* found, file.find(kernel));
  HALYARD_ASSIGN_OR_RETURN(Ref<kernel::CpuImage> image, cpu::load_image(file));
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
  return make_program(cpu::to_hcq(entry), std::move(info), std::move(image));
}

}  // namespace hcq
}  // namespace halyard::inline v0
