// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim_kfd/kfd_fixture.h"

namespace halyard::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using RequestTest = KfdTest;

TEST_F(RequestTest, Numbers_AreThoseOfTheHeader) {
  abi::GetVersion version;
  EXPECT_EQ(kfd_->ioctl(descriptor_, 0x80084b01, &version), 0);
  EXPECT_EQ(version.major, 1u);
  EXPECT_EQ(version.minor, 17u);
  abi::GetClockCounters clocks{.gpu_id = node().gpu_id};
  EXPECT_EQ(kfd_->ioctl(descriptor_, 0xc0284b05, &clocks), 0);
  EXPECT_EQ(clocks.gpu_clock_counter, clocks.system_clock_counter / 10);
  EXPECT_EQ(clocks.system_clock_freq, 1'000'000'000u);
  abi::RuntimeEnable enable;
  EXPECT_EQ(kfd_->ioctl(descriptor_, 0xc0104b25, &enable), 0);
}

TEST_F(RequestTest, OtherSizes_AreReported) {
  abi::CreateQueue args{};
  for (const abi::Request request : {abi::Request::kGetVersion, abi::Request::kWaitEvents,
                                     abi::Request::kAllocMemory, abi::Request::kCreateQueue}) {
    for (const unsigned direction : {0u, 1u, 2u, 3u}) {
      EXPECT_EQ(kfd_->ioctl(descriptor_, kfd_number(request, direction, 20), &args), -EINVAL);
      EXPECT_THAT(rules(), ElementsAre("request-size"));
    }
  }
  EXPECT_EQ(kfd_->ioctl(descriptor_, kfd_number(abi::Request::kAllocMemory, 1, 40), &args),
            -EINVAL);
  EXPECT_THAT(rules(), ElementsAre("request-size"));
}

TEST_F(RequestTest, CreateQueueOfAnOldHeader_IsAccepted) {
  KfdQueue queue;
  abi::CreateQueue args = prepare(queue, abi::kPm4);
  args.pad = 77;
  EXPECT_EQ(kfd_->ioctl(descriptor_, 0xc0584b02, &args), 0);
  EXPECT_EQ(args.pad, 77u);  // beyond the 88 bytes
}

TEST_F(RequestTest, UnknownRequests_AreReported) {
  abi::GetVersion args;
  EXPECT_EQ(kfd_->ioctl(descriptor_, 0xc0184b7f, &args), -ENOTTY);
  EXPECT_EQ(kfd_->ioctl(descriptor_, 0x80084c01, &args), -ENOTTY);
  EXPECT_THAT(rules(), ElementsAre("unknown-request", "unknown-request"));
  EXPECT_EQ(kfd_->ioctl(render_, 0x80084b01, &args), -ENOTTY);
  EXPECT_EQ(kfd_->ioctl(3, 0x80084b01, &args), -EBADF);
  EXPECT_THAT(rules(), ElementsAre("unknown-descriptor", "unknown-descriptor"));
}

TEST_F(RequestTest, Apertures_AreListed) {
  abi::GetProcessAperturesNew args;
  EXPECT_EQ(request(abi::Request::kGetProcessAperturesNew, 3, args), 0);
  ASSERT_EQ(args.num_of_nodes, 2u);
  std::vector<abi::Apertures> apertures(2);
  args.apertures_ptr = reinterpret_cast<std::uint64_t>(apertures.data());
  EXPECT_EQ(request(abi::Request::kGetProcessAperturesNew, 3, args), 0);
  EXPECT_EQ(apertures[0].gpu_id, kfd::nodes()[0].gpu_id);
  EXPECT_GT(apertures[1].gpuvm_limit, std::uint64_t{1} << 40);
}

TEST_F(RequestTest, AcquireVm_NeedsTheDevicesOwnFile) {
  abi::AcquireVm args{static_cast<std::uint32_t>(render_), kfd::nodes()[1].gpu_id};
  EXPECT_EQ(request(abi::Request::kAcquireVm, 1, args), -EINVAL);
  args = {static_cast<std::uint32_t>(descriptor_), node().gpu_id};
  EXPECT_EQ(request(abi::Request::kAcquireVm, 1, args), -EINVAL);
  args = {static_cast<std::uint32_t>(render_), node().gpu_id};
  EXPECT_EQ(request(abi::Request::kAcquireVm, 1, args), -EBUSY);
  EXPECT_THAT(rules(), ElementsAre("acquire-vm", "acquire-vm", "acquire-vm"));
}

TEST_F(RequestTest, WrongArguments_AreReported) {
  EXPECT_EQ(kfd_->ioctl(descriptor_, 0xc0284b05, nullptr), -EFAULT);
  EXPECT_THAT(rules(), ElementsAre("request-null"));
  abi::GetClockCounters clocks{.gpu_id = 7};
  EXPECT_EQ(request(abi::Request::kGetClockCounters, 3, clocks), -EINVAL);
  abi::AllocMemory alloc{.va_addr = 0x10000, .size = 4096, .gpu_id = 7, .flags = abi::kGtt};
  EXPECT_EQ(request(abi::Request::kAllocMemory, 3, alloc), -EINVAL);
  EXPECT_THAT(rules(), ElementsAre("unknown-gpu", "unknown-gpu"));
  const KfdBuffer buffer = allocate(4096);
  abi::MapMemory map_args{.handle = buffer.handle};
  EXPECT_EQ(request(abi::Request::kMapMemory, 3, map_args), -EINVAL);
  EXPECT_EQ(request(abi::Request::kUnmapMemory, 3, map_args), -EINVAL);
  EXPECT_THAT(rules(), ElementsAre("map-devices", "map-devices"));
  abi::CreateEvent event{.event_type = 9};
  EXPECT_EQ(request(abi::Request::kCreateEvent, 3, event), -EINVAL);
  abi::WaitEvents wait;
  EXPECT_EQ(request(abi::Request::kWaitEvents, 3, wait), -EINVAL);
  EXPECT_THAT(rules(), ElementsAre("event-type", "wait-events"));
}

TEST_F(RequestTest, MemoryOfOneDevice_IsMappedForAnother) {
  KfdBuffer buffer = allocate(4096);
  use(1);
  KfdQueue queue = create(abi::kSdma);
  ASSERT_EQ(map(buffer), 0);
  push(queue, {5, low(buffer.address), high(buffer.address), 6});
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(buffer.word(0), 6u);
  ASSERT_EQ(unmap(buffer), 0);
  push(queue, {5, low(buffer.address), high(buffer.address), 7});
  run();
  EXPECT_THAT(rules(), ElementsAre("access"));
  EXPECT_EQ(buffer.word(0), 6u);
}

TEST_F(RequestTest, AllocWithoutVm_IsReported) {
  abi::AllocMemory args{
      .va_addr = 0x10000, .size = 4096, .gpu_id = kfd::nodes()[1].gpu_id, .flags = abi::kGtt};
  EXPECT_EQ(request(abi::Request::kAllocMemory, 3, args), -ENODEV);
  EXPECT_THAT(rules(), ElementsAre("no-vm"));
}

TEST_F(RequestTest, AllocFlags_AreChecked) {
  for (const std::uint32_t flags :
       {0u, abi::kVram | abi::kGtt, abi::kGtt | 1u << 10, abi::kGtt | abi::kAqlQueueMemory,
        std::uint32_t{abi::kDoorbell}}) {
    abi::AllocMemory args{
        .va_addr = 0x10000, .size = 4096, .gpu_id = node().gpu_id, .flags = flags};
    EXPECT_EQ(request(abi::Request::kAllocMemory, 3, args), -EINVAL);
    EXPECT_THAT(rules(), ElementsAre("alloc-flags"));
  }
}

TEST_F(RequestTest, AllocRanges_AreChecked) {
  for (const auto& [address, size] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0x10000, 0}, {0x10000, 100}, {0x10010, 4096}, {0, 4096}, {1ull << 47, 4096}}) {
    abi::AllocMemory args{
        .va_addr = address, .size = size, .gpu_id = node().gpu_id, .flags = abi::kGtt};
    EXPECT_EQ(request(abi::Request::kAllocMemory, 3, args), -EINVAL);
    EXPECT_THAT(rules(), ElementsAre("alloc-range"));
  }
  abi::AllocMemory args{
      .va_addr = 0x10000, .size = 25ull << 30, .gpu_id = node().gpu_id, .flags = abi::kVram};
  EXPECT_EQ(request(abi::Request::kAllocMemory, 3, args), -ENOMEM);
}

TEST_F(RequestTest, FreeOfMappedMemory_IsReported) {
  const KfdBuffer buffer = allocate(4096);
  EXPECT_EQ(free(buffer), -EBUSY);
  EXPECT_THAT(rules(), ElementsAre("free-mapped"));
  EXPECT_EQ(unmap(buffer), 0);
  EXPECT_EQ(free(buffer), 0);
  EXPECT_EQ(free(buffer), -EINVAL);
  EXPECT_THAT(rules(), ElementsAre("unknown-buffer"));
}

TEST_F(RequestTest, MapsThatOverlap_AreReported) {
  const KfdBuffer buffer = allocate(8192);
  abi::AllocMemory args{
      .va_addr = buffer.address + 4096, .size = 8192, .gpu_id = node().gpu_id, .flags = abi::kGtt};
  ASSERT_EQ(request(abi::Request::kAllocMemory, 3, args), 0);
  EXPECT_EQ(map({.handle = args.handle}), -EINVAL);
  EXPECT_THAT(rules(), ElementsAre("map-overlap"));
}

TEST_F(RequestTest, VramWithoutPublic_IsHiddenFromTheCpu) {
  abi::AllocMemory args{
      .va_addr = 0x10000, .size = 4096, .gpu_id = node().gpu_id, .flags = abi::kVram};
  ASSERT_EQ(request(abi::Request::kAllocMemory, 3, args), 0);
  const auto offset = static_cast<std::int64_t>(args.mmap_offset);
  EXPECT_EQ(kfd_->map(nullptr, 4096, PROT_READ, MAP_SHARED, render_, offset).status().code(),
            StatusCode::kPermissionDenied);
  EXPECT_THAT(rules(), ElementsAre("map"));
  EXPECT_EQ(kfd_->map(nullptr, 4096, PROT_READ, MAP_SHARED, render_, 12345).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_THAT(rules(), ElementsAre("map"));
}

TEST_F(RequestTest, DoorbellsMapAsAWhole) {
  const auto offset = static_cast<std::int64_t>(3ull << 62 | std::uint64_t{node().gpu_id} << 46);
  EXPECT_EQ(kfd_->map(nullptr, 4096, PROT_WRITE, MAP_SHARED, descriptor_, offset).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_THAT(rules(), ElementsAre("map"));
  EXPECT_TRUE(kfd_->map(nullptr, 8192, PROT_WRITE, MAP_SHARED, descriptor_, offset).ok());
}

TEST_F(RequestTest, ProgramsOwnMemory_IsAccessed) {
  alignas(4096) static std::byte own[4096];
  abi::AllocMemory args{.va_addr = reinterpret_cast<std::uint64_t>(own),
                        .size = 4096,
                        .mmap_offset = reinterpret_cast<std::uint64_t>(own),
                        .gpu_id = node().gpu_id,
                        .flags = abi::kUserptr | abi::kWritable};
  ASSERT_EQ(request(abi::Request::kAllocMemory, 3, args), 0);
  ASSERT_EQ(map({.handle = args.handle}), 0);
  KfdQueue queue = create(abi::kSdma);
  const std::uint64_t address = args.va_addr;
  push(queue, {0x30005, low(address), high(address), 6});
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(own[0], std::byte{6});
  EXPECT_EQ(kfd_->unmap(own, sizeof(own)), -EBUSY);
  EXPECT_THAT(rules(), ElementsAre("unmap-userptr"));
  args.mmap_offset = 0;
  EXPECT_EQ(request(abi::Request::kAllocMemory, 3, args), -EINVAL);
  EXPECT_THAT(rules(), ElementsAre("alloc-userptr"));
}

TEST_F(RequestTest, AvailableMemory_CountsVram) {
  abi::AvailableMemory args{.gpu_id = node().gpu_id};
  ASSERT_EQ(request(abi::Request::kAvailableMemory, 3, args), 0);
  EXPECT_EQ(args.available, 24ull << 30);
  allocate(1 << 20, abi::kVram | abi::kPublic);
  ASSERT_EQ(request(abi::Request::kAvailableMemory, 3, args), 0);
  EXPECT_EQ(args.available, (24ull << 30) - (1 << 20));
}

TEST_F(RequestTest, LeaksAtTheEnd_AreReported) {
  create(abi::kPm4);
  kfd_->close(descriptor_);
  EXPECT_THAT(rules(), ElementsAre("left-behind", "left-behind"));
}

TEST_F(RequestTest, Topology_IsInSysfs) {
  const std::string nodes = "/sys/devices/virtual/kfd/kfd/topology/nodes";
  EXPECT_THAT(kfd_->list(nodes.c_str()).value(), ElementsAre("0", "1", "2"));
  EXPECT_EQ(kfd_->read_file((nodes + "/0/gpu_id").c_str()).value(), "0\n");
  EXPECT_EQ(kfd_->read_file((nodes + "/1/gpu_id").c_str()).value(),
            std::to_string(node().gpu_id) + "\n");
  const std::string text = kfd_->read_file((nodes + "/1/properties").c_str()).value();
  EXPECT_THAT(text, HasSubstr("simd_count 192\n"));
  EXPECT_THAT(text, HasSubstr("gfx_target_version 110000\n"));
  EXPECT_THAT(text, HasSubstr("drm_render_minor 128\n"));
  for (const char* folder : {"mem_banks", "caches", "io_links"}) {
    EXPECT_TRUE(kfd_->read_file((nodes + "/2/" + folder + "/0/properties").c_str()).ok());
  }
  const std::string die = "/sys/class/drm/renderD128/device/ip_discovery/die/0";
  EXPECT_THAT(kfd_->list(die.c_str()).value(), Contains("11"));
  EXPECT_EQ(kfd_->read_file((die + "/11/0/major").c_str()).value(), "11\n");
  EXPECT_EQ(kfd_->read_file("/sys/none").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(kfd_->list("/sys/none").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(kfd_->open("/dev/dri/renderD130", O_RDWR).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace halyard::testing
