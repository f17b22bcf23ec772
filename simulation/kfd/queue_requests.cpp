// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests for queues: set_queue_properties_from_user() of amdkfd/kfd_chardev.c, and the buffers of
// a queue as kfd_queue_acquire_buffers() of amdkfd/kfd_queue.c demands them since Linux 6.12.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <optional>
#include <utility>

#include "simulation/kfd/compute_queue.h"
#include "simulation/kfd/sdma_queue.h"
#include "simulation/kfd/text.h"

namespace halyard::inline v0::sim::kfd {
namespace {

constexpr std::uint32_t kMostPriority = 15, kLeastRing = 1024;  // KFD_MIN_QUEUE_RING_SIZE
constexpr std::uint32_t kFirstSdmaDoorbell = 0x100, kDoorbells = abi::kDoorbellBytes / 8;
constexpr std::uint32_t kQueuesPerSdmaEngine = 8;

bool is_sdma(std::uint32_t type) {
  return type == abi::kSdma || type == abi::kSdmaXgmi || type == abi::kSdmaByEngine;
}

std::string check_properties(std::uint64_t ring, std::uint32_t bytes, std::uint32_t percentage,
                             std::uint32_t priority) {
  if ((percentage & 0xff) > 100) return join("a percentage of ", percentage & 0xff);
  if (priority > kMostPriority) return join("priority ", priority);
  if (ring % 256 != 0) return join("a ring at ", hex(ring), ", which is no multiple of 256");
  if (!std::has_single_bit(bytes)) {
    return join("a ring of ", bytes, " bytes, which is no power of two");
  }
  if (bytes < kLeastRing) return join("a ring of ", bytes, " bytes, less than ", kLeastRing);
  return {};
}

// Collects the buffers of a queue, and what is wrong with one.
class Buffers {
 public:
  explicit Buffers(const Device& device) : device_(device) {}
  // A mapping that begins at the page of `address` and has exactly `bytes`.
  void add(const char* what, std::uint64_t address, std::uint64_t bytes) {
    Buffer* const buffer = device_.space.find(address);
    if (buffer == nullptr) return refuse(join(what, " at ", hex(address), " is not mapped"));
    if (buffer->address != address / abi::kPage * abi::kPage || buffer->size != bytes) {
      return refuse(join(what, " at ", hex(address), " needs a buffer of its own of ", bytes,
                         " bytes, and is in one of ", buffer->size, " at ", hex(buffer->address)));
    }
    found.push_back(buffer);
  }
  void refuse(std::string text) {
    if (error.empty()) error = std::move(text);
  }

  std::vector<Buffer*> found;
  std::string error;

 private:
  const Device& device_;
};

// A doorbell that no queue of the device has.
std::optional<std::uint32_t> free_doorbell(const Device& device, std::uint32_t type) {
  for (std::uint32_t i = is_sdma(type) ? kFirstSdmaDoorbell : 0; i != kDoorbells; ++i) {
    const std::byte* const at = device.doorbells.bytes() + 8 * i;
    const auto has = [&](const auto& queue) { return queue->settings().doorbell == at; };
    if (std::ranges::none_of(device.queues, has)) return i;
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Queue> Queue::create(System& system, Device& device, QueueSettings settings) {
  if (settings.type == abi::kPm4) {
    return std::make_unique<Pm4Queue>(system, device, std::move(settings));
  }
  if (settings.type == abi::kAql) {
    return std::make_unique<AqlQueue>(system, device, std::move(settings));
  }
  return std::make_unique<SdmaQueue>(system, device, std::move(settings));
}

int System::create_queue(abi::CreateQueue& args) {
  int error = 0;
  Device* const device = bound_device(args.gpu_id, "CREATE_QUEUE", error);
  if (device == nullptr) return error;
  const Node& node = device->node;
  const auto refuse_queue = [&](std::string_view rule, const std::string& why) {
    return refuse(-EINVAL, rule, join("CREATE_QUEUE: ", why));
  };
  if (args.queue_type > abi::kSdmaByEngine) {
    return refuse_queue("queue-type", join("type ", args.queue_type, " is not known"));
  }
  const std::string wrong = check_properties(args.ring_base_address, args.ring_size,
                                             args.queue_percentage, args.queue_priority);
  if (!wrong.empty()) return refuse_queue("queue-properties", wrong);
  if (device->health != Health::kWorking) return -EIO;

  Buffers buffers_of_queue(*device);
  buffers_of_queue.add("the write pointer", args.write_pointer_address, abi::kPage);
  buffers_of_queue.add("the read pointer", args.read_pointer_address, abi::kPage);
  buffers_of_queue.add("the ring", args.ring_base_address, args.ring_size);
  if (!buffers_of_queue.error.empty()) return refuse_queue("queue-buffers", buffers_of_queue.error);
  if (args.write_pointer_address % 8 != 0 || args.read_pointer_address % 8 != 0) {
    return refuse_queue("unaligned", "a pointer is not at a multiple of 8 bytes");
  }
  if (is_sdma(args.queue_type)) {
    const auto engines = args.queue_type == abi::kSdmaXgmi ? node.num_sdma_xgmi_engines
                         : args.queue_type == abi::kSdma
                             ? node.num_sdma_engines
                             : node.num_sdma_engines + node.num_sdma_xgmi_engines;
    const auto same = std::ranges::count_if(device->queues, [&](const auto& queue) {
      return queue->settings().type == args.queue_type;
    });
    if (args.queue_type == abi::kSdmaByEngine && args.sdma_engine_id >= engines) {
      return refuse_queue("queue-engine",
                          join("the device has no SDMA engine ", args.sdma_engine_id));
    }
    if (static_cast<std::uint32_t>(same) >= engines * kQueuesPerSdmaEngine) return -ENOMEM;
  } else {
    const bool needs_end_of_pipe = !(node.is_gfx9() && args.queue_type == abi::kAql);
    if (args.eop_buffer_address == 0 && needs_end_of_pipe) {
      return refuse_queue("queue-end-of-pipe", "it has no end-of-pipe buffer");
    }
    if (args.eop_buffer_address != 0) {
      if (args.eop_buffer_size != node.end_of_pipe_bytes()) {
        return refuse_queue("queue-end-of-pipe",
                            join("an end-of-pipe buffer of ", args.eop_buffer_size,
                                 " bytes instead of ", node.end_of_pipe_bytes()));
      }
      buffers_of_queue.add("the end-of-pipe buffer", args.eop_buffer_address, args.eop_buffer_size);
      if (!buffers_of_queue.error.empty()) {
        return refuse_queue("queue-end-of-pipe", buffers_of_queue.error);
      }
    }
    if (args.ctl_stack_size != node.control_stack_bytes()) {
      return refuse_queue("queue-control-stack",
                          join("a control stack of ", args.ctl_stack_size, " bytes instead of ",
                               node.control_stack_bytes()));
    }
    if (args.ctx_save_restore_size < node.save_bytes()) {
      return refuse_queue("queue-save-area", join("a save area of ", args.ctx_save_restore_size,
                                                  " bytes, less than ", node.save_bytes()));
    }
    const std::uint64_t whole =
        (std::uint64_t{args.ctx_save_restore_size} + node.debug_bytes()) * node.num_xcc;
    buffers_of_queue.add("the save area", args.ctx_save_restore_address,
                         (whole + abi::kPage - 1) / abi::kPage * abi::kPage);
    if (!buffers_of_queue.error.empty()) {
      return refuse_queue("queue-save-area", buffers_of_queue.error);
    }
  }
  // amd_queue_t has its write index at 56 and its read index at 128.
  if (args.queue_type == abi::kAql &&
      (args.read_pointer_address - args.write_pointer_address != 128 - 56 ||
       (args.write_pointer_address - 56) % 64 != 0)) {
    return refuse_queue("queue-amd-queue", "its pointers are not those of an amd_queue_t");
  }
  std::byte* const write_pointer = device->space.bytes(args.write_pointer_address, 8);
  std::byte* const read_pointer = device->space.bytes(args.read_pointer_address, 8);
  if (load64(write_pointer) != 0 || load64(read_pointer) != 0) {
    return refuse_queue("queue-pointers", "its pointers are not 0 at the start");
  }
  const auto doorbell = free_doorbell(*device, args.queue_type);
  if (!doorbell) return -ENOMEM;
  std::byte* const bell = device->doorbells.bytes() + 8 * *doorbell;
  store64(bell, ~std::uint64_t{0});  // differs from every value that is rung
  for (Buffer* const buffer : buffers_of_queue.found) ++buffer->mappings[device->index].queues;
  args.queue_id = next_queue++;
  args.doorbell_offset =
      abi::kMmapDoorbell | std::uint64_t{args.gpu_id} << abi::kMmapGpuIdShift | 8 * *doorbell;
  QueueSettings settings{.id = args.queue_id,
                         .type = args.queue_type,
                         .ring = args.ring_base_address,
                         .ring_bytes = args.ring_size,
                         .ring_words = device->space.bytes(args.ring_base_address, args.ring_size),
                         .write_pointer_address = args.write_pointer_address,
                         .write_pointer = write_pointer,
                         .read_pointer = read_pointer,
                         .doorbell = bell,
                         .buffers = std::move(buffers_of_queue.found)};
  device->queues.push_back(Queue::create(*this, *device, std::move(settings)));
  device->queues.back()->set_active((args.queue_percentage & 0xff) != 0);
  return 0;
}

namespace {

struct Found {
  Device* device = nullptr;
  std::vector<std::unique_ptr<Queue>>::iterator queue;
};

Found find_queue(System& system, std::uint32_t id) {
  for (const auto& device : system.devices) {
    const auto found = std::ranges::find_if(
        device->queues, [&](const auto& queue) { return queue->settings().id == id; });
    if (found != device->queues.end()) return {device.get(), found};
  }
  return {};
}

}  // namespace

int System::update_queue(abi::UpdateQueue& args) {
  const Found found = find_queue(*this, args.queue_id);
  if (found.device == nullptr) {
    return refuse(-EINVAL, "unknown-queue", join("UPDATE_QUEUE of ", args.queue_id));
  }
  const std::string wrong = check_properties(args.ring_base_address, args.ring_size,
                                             args.queue_percentage, args.queue_priority);
  if (!wrong.empty()) return refuse(-EINVAL, "queue-properties", join("UPDATE_QUEUE: ", wrong));
  const QueueSettings& settings = (*found.queue)->settings();
  if (args.ring_base_address != settings.ring || args.ring_size != settings.ring_bytes) {
    return refuse(-EINVAL, "queue-properties",
                  "UPDATE_QUEUE with another ring, which is not built");
  }
  (*found.queue)->set_active((args.queue_percentage & 0xff) != 0);
  return 0;
}

int System::destroy_queue(abi::DestroyQueue& args) {
  const Found found = find_queue(*this, args.queue_id);
  if (found.device == nullptr) {
    return refuse(-EINVAL, "unknown-queue", join("DESTROY_QUEUE of ", args.queue_id));
  }
  const std::string left = (*found.queue)->waits_for();
  if (!left.empty() && found.device->health == Health::kWorking) {
    report.add("destroyed-with-work", join("DESTROY_QUEUE, although ", left));
  }
  for (Buffer* const buffer : (*found.queue)->settings().buffers) {
    --buffer->mappings[found.device->index].queues;
  }
  found.device->queues.erase(found.queue);
  return 0;
}

}  // namespace halyard::inline v0::sim::kfd
