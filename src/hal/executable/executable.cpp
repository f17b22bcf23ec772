// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/executable/executable.h"

#include <cassert>
#include <new>

#include "hal/executable/executable_cache.h"
#include "hal/object.h"
#include "hal/validate.h"

namespace halyard::inline v0::hal {

ExecutableObject::ExecutableObject(DeviceObject& device, Ref<ExecutableImpl> impl,
                                   ExecutableCacheObject* cache) noexcept
    : device_(&device), impl_(std::move(impl)), cache_(cache) {}

ExecutableObject::~ExecutableObject() = default;

void ExecutableObject::on_last_handle() noexcept {
  if (cache_) cache_->forget(*this);
}

Result<Executable> ExecutableObject::create(DeviceObject& device, Ref<ExecutableImpl> impl,
                                            ExecutableCacheObject* cache) {
  if (trace::Tracer* const tracer = device.engine().tracer()) impl->add_names(*tracer);
  impl->reclaim_by(device.reclaimer());
  auto* object = new (std::nothrow) ExecutableObject(device, std::move(impl), cache);
  if (object == nullptr) {
    return error(StatusCode::kResourceExhausted, "device {}: no memory for an executable object",
                 device.name());
  }
  return first_handle<Executable>(object);
}

Result<Function> ExecutableObject::function(const kernel::KernelInfo& kernel) {
  const auto index = static_cast<std::uint32_t>(&kernel - kernels().data());
  Status status = check_limits(device().limits(), kernel);
  if (status.ok()) status = timeline::Entered(*impl_, device().entry_guard())->prepare(index);
  if (!status.ok()) return at(status, "executable {}: {}", impl_->file().name(), device().name());
  return Function(this, index);
}

std::size_t Executable::function_count() const noexcept {
  return object() ? object()->kernels().size() : 0;
}

Result<Function> Executable::function(std::size_t index) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "function"));
  const auto kernels = object()->kernels();
  if (index >= kernels.size()) {
    return error(StatusCode::kOutOfRange, "executable {}: function {} of {}",
                 object()->impl().file().name(), base::number(index), kernels.size());
  }
  return object()->function(kernels[index]);
}

Result<Function> Executable::function(std::string_view name) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "function"));
  HALYARD_ASSIGN_OR_RETURN(const kernel::KernelInfo* kernel, object()->impl().file().find(name));
  return object()->function(*kernel);
}

Function::Function(ExecutableObject* executable, std::uint32_t index) noexcept
    : executable_(handle_base(executable)), index_(index) {}

namespace {

const kernel::KernelInfo& info_of(const Function& function) {
  return function.executable()->kernels()[function.index()];
}

}  // namespace

std::string_view Function::name() const noexcept {
  return executable_ ? info_of(*this).name : std::string_view();
}

Grid::Extent Function::workgroup_size() const noexcept {
  if (!executable_) return {};
  const auto& size = info_of(*this).workgroup_size;
  return {size[0], size[1], size[2]};
}

std::size_t Function::binding_count() const noexcept {
  return executable_ ? info_of(*this).bindings.size() : 0;
}

std::size_t Function::constant_count() const noexcept {
  return executable_ ? info_of(*this).constants.size() : 0;
}

std::size_t Function::constants_size() const noexcept {
  return executable_ ? info_of(*this).constants_bytes : 0;
}

bool Function::may_overlap() const noexcept { return executable_ && info_of(*this).may_overlap; }

Result<FunctionResources> Function::resources() const {
  if (!executable_) return empty_handle("function", "resources");
  const DeviceObject& device = executable()->device();
  ExecutableImpl& impl = executable()->impl();
  Result<FunctionResources> found =
      timeline::Entered(impl, device.entry_guard())->resources(index_);
  if (!found.ok()) return at(found.status(), "{}: {}", device.name(), name());
  return found;
}

static_assert(kernel::kMaxRank == kMaxTensorRank);

BindingInfo Function::binding(std::size_t index) const noexcept {
  assert(index < binding_count());
  const kernel::BindingInfo& info = info_of(*this).bindings[index];
  return {info.name, info.access, info.type, info.rank, info.tile};
}

ConstantInfo Function::constant(std::size_t index) const noexcept {
  assert(index < constant_count());
  const kernel::ConstantInfo& info = info_of(*this).constants[index];
  return {info.name, info.type, info.offset};
}

}  // namespace halyard::inline v0::hal
