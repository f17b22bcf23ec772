// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DeviceApi: what a device on streams asks of a native library besides its lanes (api.h): memory,
// pools, access between devices, images, and the library itself. The allocator, the library, the
// device and the driver are templates over one.
//
// Its functions answer as those of api.h. All but the static ones need the context of the device to
// be current. Devices are named by PhysicalDevice::handle.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/stream/api.h"
#include "drivers/stream/completion.h"
#include "drivers/stream/physical_device.h"
#include "halyard/base/result.h"
#include "halyard/hal/dlpack.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::stream {

// Memory of the host that devices use: where the host sees it, and where they do.
struct HostMemory {
  void* pointer = nullptr;
  std::uint64_t address = 0;
};

// Memory, in whole bytes. What is allocated is aligned to 256 bytes at least.
//
//   allocate(a, n)            of the device
//   allocate_managed(a, n)    moves to where it is used; at one address for host and devices
//   free(a)                   either of them. All work that uses it has ended
//   allocate_host(m, n)       of the host, pinned, for all devices; what they write is seen by a
//                             host that has seen the work's end
//   free_host(m)
//   register_host(p, n)       pins [p, p + n), exactly, for all devices. kFailedPrecondition: the
//                             library has these bytes, or some of them, already. kInvalidArgument:
//                             it refuses them, perhaps as memory of its own
//   unregister_host(p)
//   device_address(p, a)      where devices see the byte of the host at `p`. Any error: the library
//                             does not know it
//   same_library(other)       whether its memory is of the same library as that of another Api
//   find_owner(a, d)          the device whose memory has the address `a`; -1: none
template <class A>
concept MemoryApi =
    StreamApi<A> && requires(const A& api, std::uint64_t address, std::uint64_t& found,
                             std::uint64_t size, HostMemory& host, void* pointer, int& device) {
      { api.allocate(found, size) } noexcept -> std::same_as<Status>;
      { api.allocate_managed(found, size) } noexcept -> std::same_as<Status>;
      { api.free(address) } noexcept;
      { api.allocate_host(host, size) } noexcept -> std::same_as<Status>;
      { api.free_host(pointer) } noexcept;
      { api.register_host(pointer, size) } noexcept -> std::same_as<Status>;
      { api.unregister_host(pointer) } noexcept;
      { api.device_address(pointer, found) } noexcept -> std::same_as<Status>;
      { api.find_owner(address, device) } noexcept -> std::same_as<Status>;
      { api.same_library(api) } noexcept -> std::same_as<bool>;
    };

// Pools of the library's: memory that is allocated and freed in the order of a stream.
//
//   create_pool(d, p)              of memory of `d`. kUnimplemented: it has no pools
//   set_release_threshold(p, n)    how many free bytes it keeps
//   share_pool(p, d)               `d` may use its memory
//   destroy(p)                     frees that were issued complete all the same
//   allocate_from(p, s, a, n)      `a` is memory for what follows in `s`
//   free_async(a, s)               once what `s` has is done
//   finish(s)                      blocks until `s` is empty; a Status here
template <class A>
concept PoolApi = StreamApi<A> && std::copyable<typename A::Pool> &&
                  requires(const A& api, int device, typename A::Pool pool,
                           typename A::Pool& new_pool, typename A::Stream stream,
                           std::uint64_t address, std::uint64_t& found, std::uint64_t size) {
                    { api.create_pool(device, new_pool) } noexcept -> std::same_as<Status>;
                    { api.set_release_threshold(pool, size) } noexcept -> std::same_as<Status>;
                    { api.share_pool(pool, device) } noexcept -> std::same_as<Status>;
                    { api.destroy(pool) } noexcept;
                    {
                      api.allocate_from(pool, stream, found, size)
                    } noexcept -> std::same_as<Status>;
                    { api.free_async(address, stream) } noexcept;
                    { api.finish(stream) } noexcept -> std::same_as<Status>;
                  };

// Access between devices.
//
//   can_access_peer(user, owner, p)    whether `user` could use memory of `owner`
//   enable_peer_access(c)              the current device uses memory of the context `c` from now
//                                      on; ok if it does already
template <class A>
concept PeerApi = ContextApi<A> &&
                  requires(const A& api, int device, bool& possible, typename A::Context context) {
                    {
                      api.can_access_peer(device, device, possible)
                    } noexcept -> std::same_as<Status>;
                    { api.enable_peer_access(context) } noexcept -> std::same_as<Status>;
                  };

// Images of kernel files.
//
//   load_image(f, target, bytes, m)    an image of `f`. kUnavailable: the device does not run it.
//                                      kDataLoss: it is not valid. The message names `f`
//   is_foreign(status)                 whether an image was refused as one of another device, so
//                                      that the next one is tried
template <class A>
concept ImageApi =
    CommandApi<A> &&
    requires(const A& api, const kernel::Hyx& file, std::string_view target, const Status& status,
             std::span<const std::byte> bytes, typename A::Module& module) {
      { api.load_image(file, target, bytes, module) } -> std::same_as<Status>;
      { A::is_foreign(status) } -> std::same_as<bool>;
    };

// Images that the library has to compile, slowly: their results are worth keeping.
//
//   is_source(target)      whether such an image is compiled
//   compile(f, image)      what is loaded in its place
//   compiler()             the compiler and its target, with versions
template <class A>
concept CompilerApi =
    ImageApi<A> && requires(const A& api, const kernel::Hyx& file, std::string_view target,
                            const kernel::ImageInfo& image) {
      { A::is_source(target) } -> std::same_as<bool>;
      { api.compile(file, image) } -> std::same_as<Result<std::vector<std::byte>>>;
      { api.compiler() } -> std::same_as<std::string>;
    };

// The library.
//
//   Functions                  the table of its functions. load(handle): the symbol that is
//                              missing, or null
//   PhysicalDevice             derives from stream::PhysicalDevice
//   kLibraryVariable           the variable of the environment that names its file
//   kLibraryFiles              else the first of these that can be opened
//   kOldest                    the oldest library that has all functions, in words
//   open_library(file, why)    as dlopen(3), for ever; null with the reason
//   loaded_libraries()         loader.h
//   start(functions, d)        initializes the library, and lists its devices in its order.
//                              kNotFound: there are none. kUnavailable
//   is_identity(path)          whether the path of a URI is no ordinal but an identity
//   identity(device)           what identifies a device in a URI
//   kDeviceType                of DLPack
//   of(functions, device, sleeps)    the Api of a device. `sleeps`: threads sleep on its events
template <class A>
concept LibraryApi =
    std::derived_from<typename A::PhysicalDevice, PhysicalDevice> &&
    requires(const char* file, std::string& why, void* handle, typename A::Functions& functions,
             const typename A::PhysicalDevice& device, std::string_view path,
             std::vector<typename A::PhysicalDevice>& devices, bool sleeps) {
      { A::kLibraryVariable } -> std::convertible_to<const char*>;
      { A::kLibraryFiles[0] } -> std::convertible_to<const char*>;
      { A::kOldest } -> std::convertible_to<std::string_view>;
      { A::kDeviceType } -> std::convertible_to<hal::dlpack::DeviceType>;
      { functions.load(handle) } noexcept -> std::same_as<const char*>;
      { A::open_library(file, why) } -> std::same_as<void*>;
      { A::start(functions, devices) } -> std::same_as<Status>;
      { A::is_identity(path) } -> std::same_as<bool>;
      { A::identity(device) } -> std::convertible_to<std::string_view>;
      { A::of(functions, device, sleeps) } noexcept -> std::same_as<A>;
    };

// All of it.
//
//   priority_range(l, g)    of streams: the lowest and the highest, of which the latter is not the
//                           greater number; both 0 where there are no priorities
//   check_import(s)         kInvalidArgument: no stream of its own. kPermissionDenied: a stream
//                           that is not of the current context
//   prepare_graphs()        before the Api makes graphs of a recording
template <class A>
concept DeviceApi =
    GraphApi<A> && CompletionApi<A> && MemoryApi<A> && PoolApi<A> && PeerApi<A> && ImageApi<A> &&
    LibraryApi<A> &&
    requires(const A& api, A& own, int& least, int& greatest, typename A::Stream stream) {
      { api.priority_range(least, greatest) } noexcept -> std::same_as<Status>;
      { api.check_import(stream) } -> std::same_as<Status>;
      { own.prepare_graphs() } noexcept -> std::same_as<Status>;
    };

}  // namespace halyard::inline v0::stream
