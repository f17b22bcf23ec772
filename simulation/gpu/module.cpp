// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/module.h"

#include <cstring>

#include "simulation/gpu/memory.h"
#include "simulation/gpu/pool.h"
#include "simulation/gpu/rules.h"

namespace halyard::inline v0::sim::gpu {

ModuleState::~ModuleState() {
  // The end of a context frees the variables of its modules.
  if (context == nullptr || context->is_destroyed.load()) return;
  for (const std::uint64_t address : addresses) memory().remove(address);
}

Result make_module(ContextState& context, std::shared_ptr<const Code> code, Module& handle) {
  auto module = std::make_shared<ModuleState>();
  module->context = &context;
  module->code = std::move(code);
  for (const Segment& segment : module->code->segments()) {
    Allocation allocation;
    allocation.size = segment.size != 0 ? segment.size : 1;
    // The host accesses __managed__ variables in place.
    allocation.kind = segment.is_managed ? MemoryKind::kManaged : MemoryKind::kVariable;
    allocation.device = context.device;
    allocation.context = &context;
    DevicePointer address = 0;
    const Result result =
        allocate_memory(allocation, std::max<std::size_t>(segment.alignment, 256), address);
    if (result != kSuccess) return result;
    module->addresses.push_back(address);
  }
  for (std::size_t i = 0; i < module->addresses.size(); ++i) {
    const std::vector<std::byte> bytes = module->code->initial_bytes(i, module->addresses);
    const std::optional<Allocation> found = memory().find(module->addresses[i]);
    if (!bytes.empty()) std::memcpy(found->host, bytes.data(), std::min(bytes.size(), found->size));
  }
  module->functions.resize(module->code->kernels().size());
  ModuleState& made = *module;
  handle = made.handle = make_handle(std::move(module));
  return kSuccess;
}

void end_module(Module handle) {
  const std::shared_ptr<ModuleState> module = end_handle(handle);
  module->is_unloaded = true;
  for (const Function function : module->functions) {
    if (function != nullptr) end_handle(function);
  }
  std::fill(module->functions.begin(), module->functions.end(), nullptr);
}

Function function_of(ModuleState& module, std::size_t entry) {
  if (module.functions[entry] == nullptr) {
    auto function = std::make_shared<FunctionState>();
    function->module = module.shared_from_this();
    function->entry = entry;
    module.functions[entry] = make_handle(std::move(function));
  }
  return module.functions[entry];
}

Result function_of_kernel(ContextState& context, Kernel handle, Function& function) {
  const KernelState* const kernel = resolve(handle);
  HALYARD_GPU_REQUIRE(kernel != nullptr, kInvalidHandle);
  Module& module = kernel->library->modules[&context];
  if (module == nullptr) {
    const Result result = make_module(context, kernel->library->code, module);
    if (result != kSuccess) return result;
    module->object->library = kernel->library;
  }
  function = function_of(*module->object, kernel->entry);
  function->object->kernel = handle;
  for (const auto& [attribute, value] : kernel->attributes) {
    function->object->attributes.try_emplace(attribute, value);
  }
  return kSuccess;
}

Result find_function(ContextState* context, Function handle, FunctionState*& function) {
  // cuda.h, cuLaunchKernel: "f" may be a CUkernel cast to CUfunction.
  if (is_handle(reinterpret_cast<Kernel>(handle))) {
    HALYARD_GPU_REQUIRE(context != nullptr, kInvalidContext);
    const Result result = function_of_kernel(*context, reinterpret_cast<Kernel>(handle), handle);
    if (result != kSuccess) return result;
  }
  function = resolve(handle);
  return function != nullptr ? kSuccess : kInvalidHandle;
}

Result function_attribute(const FunctionState& function, int attribute, int& value) {
  const KernelInfo& info = function.info();
  if (const auto at = function.attributes.find(attribute); at != function.attributes.end()) {
    value = at->second;
    return kSuccess;
  }
  switch (attribute) {
    case 0:  // MAX_THREADS_PER_BLOCK
      value =
          info.max_threads != 0 ? static_cast<int>(info.max_threads) : rules().limits->max_threads;
      return kSuccess;
    case 1:  // SHARED_SIZE_BYTES
      value = static_cast<int>(info.static_shared_bytes);
      return kSuccess;
    case 2: {  // CONST_SIZE_BYTES
      std::uint64_t bytes = 0;
      for (const Variable& variable : function.module->code->variables()) {
        if (variable.is_constant) bytes += variable.size;
      }
      value = static_cast<int>(bytes);
      return kSuccess;
    }
    case 3:  // LOCAL_SIZE_BYTES
      value = static_cast<int>(info.local_bytes);
      return kSuccess;
    case 4:  // NUM_REGS
      value = static_cast<int>(info.registers);
      return kSuccess;
    case 5:  // PTX_VERSION
      value = function.module->code->language_version();
      return kSuccess;
    case 6:  // BINARY_VERSION
      value = function.module->code->machine_version();
      return kSuccess;
    case 8:  // MAX_DYNAMIC_SHARED_SIZE_BYTES
      value = rules().limits->shared_per_block - static_cast<int>(info.static_shared_bytes);
      return kSuccess;
    case 9:  // PREFERRED_SHARED_MEMORY_CARVEOUT
      value = -1;
      return kSuccess;
    default:
      value = 0;
      return attribute > 0 && attribute <= 15 ? kSuccess : kInvalidValue;
  }
}

}  // namespace halyard::inline v0::sim::gpu
