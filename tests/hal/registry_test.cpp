// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/device/device.h"
#include "hal/device/registry.h"

#include <future>

#include "base/failing_calls.h"
#include "hal/fake_driver.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;

class Registry : public ::testing::Test {
 protected:
  Registry() { check(registry.add(std::make_unique<testing::FakeDriver>(control))); }
  std::shared_ptr<testing::Control> control = std::make_shared<testing::Control>();
  DriverRegistry registry;
};

TEST_F(Registry, OpensWhatTheUriDescribes) {
  EXPECT_EQ(registry.open_all("fake://?devices=3").value().size(), 3u);
  const Device one = registry.open("fake://?devices=3").value();
  EXPECT_EQ(one.info().uri, "fake://0");
}

TEST_F(Registry, TwoOpensGiveTwoDevices) {
  EXPECT_NE(registry.open("fake://").value(), registry.open("fake://").value());
}

int drivers_opened = 0;

// The process's registry registers an exit handler there.
TEST_F(Registry, DriverOpened_IsCalledOnceForAllDevicesOfADriver) {
  drivers_opened = 0;
  registry.set_driver_opened([] { ++drivers_opened; });
  EXPECT_ERROR(registry.open("fake://?devices=0").status(), StatusCode::kNotFound, "no device");
  EXPECT_EQ(drivers_opened, 0);
  EXPECT_TRUE(registry.open("fake://").ok());
  EXPECT_EQ(drivers_opened, 1);
  EXPECT_TRUE(registry.open("fake://").ok());
  EXPECT_TRUE(registry.open_all("fake://?devices=3").ok());
  EXPECT_EQ(drivers_opened, 1);
}

TEST_F(Registry, RefusesBadUrisAndUnknownDrivers) {
  EXPECT_ERROR(registry.open("fake").status(), StatusCode::kInvalidArgument, "fake");
  EXPECT_ERROR(registry.open("quantum://0").status(), StatusCode::kNotFound,
               "no driver \"quantum\" in this build; it has: fake");
  EXPECT_ERROR(registry.open("fake://?devices=0").status(), StatusCode::kNotFound, "no device");
}

TEST_F(Registry, HasEachDriverOnce) {
  EXPECT_ERROR(registry.add(std::make_unique<testing::FakeDriver>(control)),
               StatusCode::kInvalidArgument, "a second driver \"fake\"");
}

TEST_F(Registry, EnumeratesWithoutOpening) {
  const auto infos = registry.enumerate().value();
  ASSERT_EQ(infos.size(), 1u);
  EXPECT_EQ(infos[0].uri, "fake://0");
  EXPECT_EQ(control->open_devices, 0);
}

TEST_F(Registry, OpensNothingAfterShutdown) {
  ASSERT_TRUE(registry.shutdown(kForever).ok());
  EXPECT_ERROR(registry.open("fake://").status(), StatusCode::kFailedPrecondition, "shut down");
}

TEST_F(Registry, ShutdownKeepsItsDeadline) {
  Device device = registry.open("fake://").value();
  EXPECT_ERROR(registry.shutdown(1ms), StatusCode::kDeadlineExceeded, "1 device is not closed");
  EXPECT_TRUE(device.queue().barrier_and_wait({}, 20s).ok()) << "and changes nothing";
  device = {};
  EXPECT_TRUE(registry.shutdown(20s).ok());
}

TEST_F(Registry, WaitsForWhatClosesAndForNoDeviceWithAHandle) {
  const Device open = registry.open("fake://").value();
  registry.wait_for_closing(kForever);
  std::promise<void> end;
  std::future<void> ended = end.get_future();
  {
    const Device closing = registry.open("fake://").value();
    check(closing.queue().host_call([&] { ended.wait(); }, {}));
  }
  registry.wait_for_closing(1ms);
  EXPECT_EQ(control->open_devices, 2) << "it has work in flight";
  end.set_value();
  registry.wait_for_closing(kForever);
  EXPECT_EQ(control->open_devices, 1);
}

// Waits, queries and dropped handles have effects that need the threads and cannot fail.
TEST_F(Registry, OpensNoDeviceWithoutTheThreadsThatRunWhatDevicesLeave) {
  DriverRegistry other;
  ASSERT_TRUE(other.add(std::make_unique<testing::FakeDriver>(control)).ok());
  halyard::testing::FailingCalls refused("thread.start");
  EXPECT_ERROR(other.open("fake://").status(), StatusCode::kResourceExhausted,
               "fake://: the runtime's threads: the system starts no further thread");
  EXPECT_EQ(control->open_devices, 0);
  refused.turn(false);
  Device device = other.open("fake://").value();
  refused.turn(true);
  device = {};
  EXPECT_TRUE(other.shutdown(20s).ok()) << "a device that is open needs no further thread";
}

TEST_F(Registry, AHostCallOrTransferThatFindsNoThreadIsRefused) {
  const Device device = registry.open("fake://").value();
  const Buffer x = device.allocate({.size = 4, .memory = MemoryType::kHostVisible}).value();
  const File file = File::open("/proc/self/exe").value();
  halyard::testing::FailingCalls refused("thread.start");
  int ran = 0;
  const Semaphore done = device.create_semaphore().value();
  const Point end(done, 1);
  const SubmitInfo info = {.signal = {&end, 1}};
  EXPECT_ERROR(device.queue().host_call([&] { ++ran; }, info), StatusCode::kResourceExhausted,
               "host_call: the system starts no further thread");
  EXPECT_ERROR(device.queue().read(file, 0, x, info), StatusCode::kResourceExhausted,
               "read: the system starts no further thread");
  refused.turn(false);
  ASSERT_TRUE(device.queue().host_call([&] { ++ran; }, info).ok()) << "nothing was queued";
  EXPECT_TRUE(done.wait(1, 20s).ok());
  EXPECT_EQ(ran, 1);
}

// Devices of the same domain wait for each other natively. Devices of different domains wait
// through the host.
TEST_F(Registry, DomainsDecideOnNativeEdges) {
  control->automatic = false;
  const Device a = registry.open("fake://").value();
  const Device b = registry.open("fake://").value();
  const Device alone = registry.open("fake://?domain=own").value();
  const Semaphore s = a.create_semaphore().value();
  ASSERT_TRUE(a.queue().barrier({.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(b.queue().barrier({.wait = {{s, 1}}, .signal = {{s, 2}}}).ok());
  ASSERT_TRUE(alone.queue().barrier({.wait = {{s, 1}}, .signal = {{s, 3}}}).ok());
  EXPECT_EQ(control->lanes[2]->pending(), 1u) << "issued with an edge";
  EXPECT_EQ(control->lanes[4]->pending(), 0u) << "parked";
  control->lanes[0]->run();
  ASSERT_TRUE(s.wait(1, 20s).ok());
  control->lanes[2]->run();
  while (control->lanes[4]->pending() == 0) std::this_thread::yield();
  control->lanes[4]->run();
  EXPECT_TRUE(s.wait(3, 20s).ok());
}

TEST_F(Registry, TooManyDomainsAreAnError) {
  std::vector<Device> devices;
  for (int i = 0; i < 15; ++i) devices.push_back(registry.open("fake://?domain=own").value());
  EXPECT_ERROR(registry.open("fake://?domain=own").status(), StatusCode::kResourceExhausted,
               "at most 15 groups of devices that wait on each other");
  EXPECT_EQ(control->open_devices, 15);
}

TEST_F(Registry, TooManyMemoryDomainsAreAnError) {
  std::vector<Device> devices;
  for (int i = 0; i < 64; ++i) devices.push_back(registry.open("fake://?memory=own").value());
  EXPECT_ERROR(registry.open("fake://?memory=own").status(), StatusCode::kResourceExhausted,
               "at most 64 groups of devices that share memory");
  EXPECT_EQ(control->open_devices, 64);
}

// For example, cpu queues can watch a word that a GPU writes, but not the other way round.
TEST_F(Registry, AWaitAcrossDomainsIsNativeInTheDirectionThatTheDriverAllows) {
  control->automatic = false;
  const Device gpu = registry.open("fake://?domain=own").value();
  control->can_wait_on = [&](const DeviceImpl& waiter, const DeviceImpl& producer) {
    return &waiter != &*gpu.object()->driver() && &producer == &*gpu.object()->driver();
  };
  const Device cpu = registry.open("fake://?domain=own").value();
  const Semaphore s = gpu.create_semaphore().value();
  const Semaphore back = gpu.create_semaphore().value();
  ASSERT_TRUE(gpu.queue().barrier({.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(cpu.queue().barrier({.wait = {{s, 1}}, .signal = {{back, 1}}}).ok());
  EXPECT_EQ(control->lanes[2]->pending(), 1u) << "issued with an edge";
  ASSERT_TRUE(gpu.queue().barrier({.wait = {{back, 1}}, .signal = {{s, 2}}}).ok());
  EXPECT_EQ(control->lanes[0]->pending(), 1u) << "the second one is parked";
  control->lanes[0]->run();
  control->lanes[2]->run();
  while (control->lanes[0]->pending() == 0) std::this_thread::yield();
  control->lanes[0]->run();
  EXPECT_TRUE(s.wait(2, 20s).ok());
}

TEST_F(Registry, SeveralUrisOpenTheirDevicesInOrder) {
  check(register_all_drivers(registry));
  const auto devices = registry.open_all("fake://?devices=2,cpu://?workers=1,fake://").value();
  std::vector<std::string> uris;
  for (const Device& device : devices) uris.push_back(device.info().uri);
  EXPECT_THAT(uris,
              ::testing::ElementsAre("fake://0", "fake://1", "cpu://0?workers=1", "fake://0"));
}

TEST_F(Registry, AListWithABadPartOpensNothingAndNamesThePart) {
  for (const auto& [text, message] : std::initializer_list<std::pair<const char*, const char*>>{
           {"fake://,fake:/", "\"fake:/\", 2 of 2: URI \"fake:/\": expected '://'"},
           {"fake://,", "\"\", 2 of 2: URI \"\": expected a driver's name, in lower case, at"},
           {",fake://", "\"\", 1 of 2: URI"},
           {"fake://, fake://", "\" fake://\", 2 of 2"},
           {"fake://,fake://?hang_timeout=1,fake://", "2 of 3: hang_timeout=1"}}) {
    EXPECT_ERROR(registry.open_all(text).status(), StatusCode::kInvalidArgument, message);
    EXPECT_ERROR(registry.open(text).status(), StatusCode::kInvalidArgument, message);
  }
  EXPECT_ERROR(registry.open_all("fake://,none://").status(), StatusCode::kNotFound,
               "\"none://\", 2 of 2: no driver \"none\"");
  EXPECT_ERROR(registry.open_all(std::string(64, ',')).status(), StatusCode::kInvalidArgument,
               "65 URIs");
  EXPECT_EQ(control->open_devices, 0);
}

TEST_F(Registry, OfAListOpenTakesTheFirstDeviceOnly) {
  const Device device = registry.open("fake://,fake://?devices=3").value();
  EXPECT_EQ(control->open_devices, 1);
}

TEST_F(Registry, APairOfDomainsIsAskedOnceInBothDirections) {
  int waits = 0, accesses = 0;
  control->can_wait_on = [&](const auto&, const auto&) { return ++waits, false; };
  control->can_access = [&](const auto&, const auto&) { return ++accesses, false; };
  const auto shared = registry.open_all("fake://?devices=3").value();
  EXPECT_EQ(waits + accesses, 0) << "devices of one domain are peers";
  const Device own = registry.open("fake://?domain=own").value();
  EXPECT_EQ(waits, 2);
  EXPECT_EQ(accesses, 2);
  const Device again = registry.open("fake://").value();
  EXPECT_EQ(waits + accesses, 4);
}

// A question that has no device to ask when the second domain opens is asked once both domains have
// a device.
TEST_F(Registry, AClosedDeviceIsNotAsked) {
  int accesses = 0;
  control->can_access = [&](const auto&, const auto&) { return ++accesses, true; };
  registry.open("fake://").value();
  while (control->open_devices != 0) std::this_thread::yield();
  const Device own = registry.open("fake://?domain=own").value();
  EXPECT_EQ(accesses, 0);
  const Device shared = registry.open("fake://").value();
  EXPECT_EQ(accesses, 2);
  EXPECT_TRUE(own.can_access(shared));
}

// Peer access is a property of an ordered pair: device 0 reaches 1, but 1 does not reach 0, and 0
// does not reach 2.
TEST_F(Registry, MemoryIsUsedInTheDirectionThatTheDriverAllows) {
  control->can_access = [](const DeviceImpl& user, const DeviceImpl& owner) {
    return user.info().uri == "fake://0" && owner.info().uri == "fake://1";
  };
  const auto devices = registry.open_all("fake://?devices=3&memory=own").value();
  const auto can_access = [&](int user, int owner) {
    return devices[static_cast<std::size_t>(user)].can_access(
        devices[static_cast<std::size_t>(owner)]);
  };
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(can_access(i, i));
  EXPECT_TRUE(can_access(0, 1));
  EXPECT_FALSE(can_access(1, 0));
  EXPECT_FALSE(can_access(0, 2));
  const Buffer of_0 = devices[0].allocate({.size = 64}).value();
  const Buffer of_1 = devices[1].allocate({.size = 64}).value();
  EXPECT_TRUE(devices[0].queue().fill(of_1, 0, 4, {}).ok());
  EXPECT_ERROR(devices[1].queue().fill(of_0, 0, 4, {}), StatusCode::kPermissionDenied,
               "memory of fake://0 cannot be used by fake://1");
  // These devices wait for each other as before. Only their memory is separate.
  EXPECT_TRUE(devices[0].queue().barrier({}).ok());
}

TEST_F(Registry, NoDeviceReachesMemoryOfAnotherRuntimeOrOfNothing) {
  const Device device = registry.open("fake://").value();
  DriverRegistry other;
  ASSERT_TRUE(other.add(std::make_unique<testing::FakeDriver>(control)).ok());
  EXPECT_FALSE(device.can_access(other.open("fake://").value()));
  EXPECT_FALSE(device.can_access(Device()));
  EXPECT_FALSE(Device().can_access(device));
}

TEST(SteppedRegistry, RunsNoThreadOfItsOwn) {
  auto control = std::make_shared<testing::Control>();
  testing::StepSource source;
  DriverRegistry registry(source);
  ASSERT_TRUE(registry.add(std::make_unique<testing::FakeDriver>(control)).ok());
  Device device = registry.open("fake://").value();
  int ran = 0;
  ASSERT_TRUE(device.queue().host_call([&] { ++ran; }, {}).ok());
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(source.wakes[static_cast<int>(base::Shell::kHost)], 1);
  EXPECT_TRUE(registry.step(base::Shell::kHost));
  EXPECT_FALSE(registry.step(base::Shell::kHost));
  EXPECT_EQ(ran, 1);

  EXPECT_EQ(registry.next_step(base::Shell::kReclaim), Deadline::kForeverTime);
  device = {};
  EXPECT_EQ(source.wakes[static_cast<int>(base::Shell::kReclaim)], 1);
  EXPECT_NE(registry.next_step(base::Shell::kReclaim), Deadline::kForeverTime);
  EXPECT_EQ(control->open_devices, 1);
  EXPECT_TRUE(registry.step(base::Shell::kReclaim));
  EXPECT_EQ(control->open_devices, 0);
  EXPECT_EQ(registry.next_step(base::Shell::kReclaim), Deadline::kForeverTime);
}

TEST(SteppedRegistry, ADeviceWithAHangTimeoutIsLostWhenItsLaneMakesNoProgress) {
  for (const bool given : {true, false}) {
    auto control = std::make_shared<testing::Control>();
    control->automatic = false;
    testing::StepSource source;
    DriverRegistry registry(source);
    ASSERT_TRUE(registry.add(std::make_unique<testing::FakeDriver>(control)).ok());
    Device device = registry.open(given ? "fake://?hang_timeout=3s" : "fake://").value();
    ASSERT_TRUE(device.queue().barrier({}).ok());
    const auto look_after = [&](Nanoseconds time) {
      source.clock().ahead += time;
      while (registry.step(base::Shell::kCompletion)) {
      }
      return device.status().code();
    };
    EXPECT_EQ(look_after(0), StatusCode::kOk);
    EXPECT_EQ(look_after(2'000'000'000), StatusCode::kOk);
    EXPECT_EQ(look_after(1'000'000'000), given ? StatusCode::kDeviceLost : StatusCode::kOk);
    for (testing::FakeLane* lane : control->lanes) {
      if (lane != nullptr) lane->run();
    }
    device = {};
    while (control->open_devices != 0) {
      (void)registry.step(base::Shell::kCompletion);
      (void)registry.step(base::Shell::kReclaim);
    }
  }
}

TEST_F(Registry, AHangTimeoutIsANumberOfSecondsOrMilliseconds) {
  for (const char* good : {"1s", "1000000ms"}) {
    EXPECT_TRUE(registry.open(std::string("fake://?hang_timeout=") + good).ok()) << good;
  }
  for (const char* bad : {"5", "s", "ms", "0s", "1000001ms", "5us", "-1s", "5sms"}) {
    EXPECT_ERROR(registry.open(std::string("fake://?hang_timeout=") + bad).status(),
                 StatusCode::kInvalidArgument, "expected 1 to 1000000 s or ms");
  }
}

}  // namespace
}  // namespace halyard::hal
