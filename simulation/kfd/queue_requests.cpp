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

// The first rule that a queue breaks, if any.
struct Wrong {
  std::string_view rule;
  std::string text;
  explicit operator bool() const { return !rule.empty(); }
};

// Checks the buffers of a queue and collects them.
class BufferCheck {
 public:
  BufferCheck(const Device& device, const abi::CreateQueue& args) : device_(device), args_(args) {}

  Wrong check(bool is_compute) {
    add("queue-buffers", "the write pointer", args_.write_pointer_address, abi::kPage);
    add("queue-buffers", "the read pointer", args_.read_pointer_address, abi::kPage);
    add("queue-buffers", "the ring", args_.ring_base_address, args_.ring_size);
    if (is_compute) {
      check_end_of_pipe();
      check_save_area();
    }
    return wrong_;
  }
  std::vector<Buffer*> take() { return std::move(found_); }

 private:
  void refuse(std::string_view rule, std::string text) {
    if (!wrong_) wrong_ = {rule, std::move(text)};
  }
  // A mapping that begins at the page of `address` and has exactly `bytes`.
  void add(std::string_view rule, const char* what, std::uint64_t address, std::uint64_t bytes) {
    Buffer* const buffer = device_.space.find(address);
    if (buffer == nullptr) return refuse(rule, join(what, " at ", hex(address), " is not mapped"));
    if (buffer->address != address / abi::kPage * abi::kPage || buffer->size != bytes) {
      return refuse(rule,
                    join(what, " at ", hex(address), " needs a buffer of its own of ", bytes,
                         " bytes, and is in one of ", buffer->size, " at ", hex(buffer->address)));
    }
    found_.push_back(buffer);
  }
  void check_end_of_pipe() {
    const Node& node = device_.node;
    constexpr std::string_view kRule = "queue-end-of-pipe";
    if (args_.eop_buffer_address == 0) {
      // libhsakmt allocates none for AQL on gfx942.
      if (node.is_gfx9() && args_.queue_type == abi::kAql) return;
      return refuse(kRule, "it has no end-of-pipe buffer");
    }
    if (args_.eop_buffer_size != node.end_of_pipe_bytes()) {
      refuse(kRule, join("an end-of-pipe buffer of ", args_.eop_buffer_size, " bytes instead of ",
                         node.end_of_pipe_bytes()));
    }
    add(kRule, "the end-of-pipe buffer", args_.eop_buffer_address, args_.eop_buffer_size);
  }
  void check_save_area() {
    const Node& node = device_.node;
    constexpr std::string_view kRule = "queue-save-area";
    if (args_.ctl_stack_size != node.control_stack_bytes()) {
      refuse("queue-control-stack", join("a control stack of ", args_.ctl_stack_size,
                                         " bytes instead of ", node.control_stack_bytes()));
    }
    if (args_.ctx_save_restore_size < node.save_bytes()) {
      refuse(kRule, join("a save area of ", args_.ctx_save_restore_size, " bytes, less than ",
                         node.save_bytes()));
    }
    const std::uint64_t whole =
        (std::uint64_t{args_.ctx_save_restore_size} + node.debug_bytes()) * node.num_xcc;
    add(kRule, "the save area", args_.ctx_save_restore_address,
        (whole + abi::kPage - 1) / abi::kPage * abi::kPage);
  }

  const Device& device_;
  const abi::CreateQueue& args_;
  std::vector<Buffer*> found_;
  Wrong wrong_;
};

// The pointers of a queue, whose buffers are right.
Wrong check_pointers(const Device& device, const abi::CreateQueue& args) {
  const std::uint64_t write = args.write_pointer_address, read = args.read_pointer_address;
  if (write % 8 != 0 || read % 8 != 0) {
    return {"unaligned", "a pointer is not at a multiple of 8 bytes"};
  }
  // amd_queue_t has its write index at 56 and its read index at 128.
  if (args.queue_type == abi::kAql && (read - write != 128 - 56 || (write - 56) % 64 != 0)) {
    return {"queue-amd-queue", "its pointers are not those of an amd_queue_t"};
  }
  if (load64(device.space.bytes(write, 8)) != 0 || load64(device.space.bytes(read, 8)) != 0) {
    return {"queue-pointers", "its pointers are not 0 at the start"};
  }
  return {};
}

std::uint32_t sdma_engines(const Node& node, std::uint32_t type) {
  if (type == abi::kSdma) return node.num_sdma_engines;
  if (type == abi::kSdmaXgmi) return node.num_sdma_xgmi_engines;
  return node.num_sdma_engines + node.num_sdma_xgmi_engines;
}

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
  const auto refuse_queue = [&](const Wrong& wrong) {
    return refuse(-EINVAL, wrong.rule, join("CREATE_QUEUE: ", wrong.text));
  };
  if (args.queue_type > abi::kSdmaByEngine) {
    return refuse_queue({"queue-type", join("type ", args.queue_type, " is not known")});
  }
  std::string text = check_properties(args.ring_base_address, args.ring_size, args.queue_percentage,
                                      args.queue_priority);
  if (!text.empty()) return refuse_queue({"queue-properties", std::move(text)});
  if (device->health != Health::kWorking) return -EIO;
  BufferCheck check(*device, args);
  if (const Wrong wrong = check.check(!is_sdma(args.queue_type))) return refuse_queue(wrong);
  if (const Wrong wrong = check_pointers(*device, args)) return refuse_queue(wrong);
  if (is_sdma(args.queue_type)) {
    const std::uint32_t engines = sdma_engines(device->node, args.queue_type);
    if (args.queue_type == abi::kSdmaByEngine && args.sdma_engine_id >= engines) {
      return refuse_queue({"queue-engine", join("there is no SDMA engine ", args.sdma_engine_id)});
    }
    const auto same = std::ranges::count_if(device->queues, [&](const auto& queue) {
      return queue->settings().type == args.queue_type;
    });
    if (static_cast<std::uint32_t>(same) >= engines * kQueuesPerSdmaEngine) return -ENOMEM;
  }
  const auto doorbell = free_doorbell(*device, args.queue_type);
  if (!doorbell) return -ENOMEM;
  std::byte* const bell = device->doorbells.bytes() + 8 * *doorbell;
  store64(bell, ~std::uint64_t{0});  // differs from every value that is rung
  args.queue_id = next_queue++;
  args.doorbell_offset =
      abi::kMmapDoorbell | std::uint64_t{args.gpu_id} << abi::kMmapGpuIdShift | 8 * *doorbell;
  QueueSettings settings{.id = args.queue_id,
                         .type = args.queue_type,
                         .ring = args.ring_base_address,
                         .ring_bytes = args.ring_size,
                         .ring_words = device->space.bytes(args.ring_base_address, args.ring_size),
                         .write_pointer_address = args.write_pointer_address,
                         .write_pointer = device->space.bytes(args.write_pointer_address, 8),
                         .read_pointer = device->space.bytes(args.read_pointer_address, 8),
                         .doorbell = bell,
                         .buffers = check.take()};
  for (Buffer* const buffer : settings.buffers) ++buffer->mappings[device->index].queues;
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
