// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MarkerLane: a stream of the simulated library for the timeline engine, whose progress and edges
// are visible only through markers: the lane of drivers for CUDA and HIP (drivers/stream/lane.h) on
// top of this library.
#pragma once

#include <memory>
#include <string_view>

#include "drivers/stream/lane.h"
#include "halyard/base/result.h"
#include "simulation/driver/driver.h"
#include "simulation/driver/native.h"

namespace halyard::inline v0::sim {

// The simulated library as an Api (drivers/stream/api.h).
struct StreamApi {
  using Stream = NativeStream*;
  using Event = std::shared_ptr<NativeEvent>;
  static constexpr std::string_view kDriver = "sim";

  Status create_stream(Stream& stream, int) const noexcept;
  void finish(Stream) const noexcept {}  // all streams can be stopped
  timeline::Abandoned stop(Stream stream) const noexcept {
    return stream->abandon() ? timeline::Abandoned::kStopped : timeline::Abandoned::kStopping;
  }
  void destroy(Stream stream) const noexcept { delete stream; }
  Status query(Stream stream) const noexcept { return stream->query(); }
  Status create_event(Event& event) const noexcept;
  void destroy(const Event&) const noexcept {}
  Status record(const Event& event, Stream stream) const noexcept { return stream->record(*event); }
  Result<bool> query(const Event& event) const noexcept { return device->query(*event); }
  Status wait(Stream stream, const Event& event) const noexcept { return stream->wait(*event); }
  Status call_host(Stream stream, stream::HostFunction function, void* argument) const noexcept {
    return stream->call_host(function, argument);
  }
  Status check_capture(Stream) const noexcept { return {}; }

  NativeDevice* device;
};

// An operation is a single launch. A recording has a preceding launch, so that it can fail
// half-way.
struct Launches {
  static bool is_empty(const timeline::Issue&) noexcept { return false; }
  Status put(const StreamApi& api, NativeStream* stream, const timeline::Issue& issue,
             bool& started) noexcept;
};

class MarkerLane final : public stream::Lane<StreamApi, Launches> {
 public:
  static Result<std::unique_ptr<MarkerLane>> create(NativeDevice& device,
                                                    const SimDriverOptions& options);

  // Occasionally takes only a part of the batch, even if there is room.
  timeline::IssueResult issue(std::span<const timeline::Issue> batch,
                              timeline::Doorbell doorbell) noexcept override;

 private:
  MarkerLane(NativeDevice& device, const SimDriverOptions& options)
      : Lane(StreamApi{&device}, {}, nullptr, options.max_in_flight), options_(options) {}

  const SimDriverOptions& options_;
};

}  // namespace halyard::inline v0::sim
