// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DeviceApi: the functions of a native library that a stream device needs besides its lanes
// (api.h): memory, pools, access between devices, images, and the library itself. The allocator,
// the library, the device and the driver are templates over a DeviceApi.
//
// Errors are those of api.h. The context of the device must be current, except for the static
// functions. Devices are named by PhysicalDevice::handle.
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

// Host memory that devices can use: its host pointer and its device address.
struct HostMemory {
  void* pointer = nullptr;
  std::uint64_t address = 0;
};

// Memory. Sizes are in bytes. Allocations are aligned to at least 256 bytes.
//
//   allocate(a, n)            device memory
//   allocate_managed(a, n)    memory that migrates to where it is used; one address for host and
//                             devices
//   free(a)                   device or managed memory. Precondition: all work that uses it has
//                             ended
//   allocate_host(m, n)       pinned host memory for all devices; a host that has seen the end of
//                             the work sees what it wrote
//   free_host(m)
//   register_host(p, n)       pins exactly [p, p + n) for all devices. kFailedPrecondition: the
//                             library has registered some of these bytes already.
//                             kInvalidArgument: it refuses them, perhaps as memory of its own
//   unregister_host(p)
//   device_address(p, a)      the device address of the host byte at `p`. Any error: the library
//                             does not know it
//   same_library(other)       whether both Apis have their memory from the same library
//   find_owner(a, d)          the device that owns the memory at address `a`; -1 if there is none
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

// Memory pools of the library: memory that is allocated and freed in stream order.
//
//   create_pool(d, p)              a pool of memory of `d`. kUnimplemented: the device has none
//   set_release_threshold(p, n)    how many free bytes the pool keeps
//   share_pool(p, d)               lets `d` use memory of the pool
//   destroy(p)                     frees that were issued before still complete
//   allocate_from(p, s, a, n)      allocates `a` for later work of `s`
//   free_async(a, s)               frees `a` after the earlier work of `s`
//   finish(s)                      blocks until `s` is empty; returns a Status here
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
//   enable_peer_access(c)              lets the current device use memory of the context `c`; ok if
//                                      it can already
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
//   load_image(f, target, bytes, m)    loads an image of `f`. kUnavailable: the device does not run
//                                      it. kDataLoss: it is not valid. The message names `f`
//   is_foreign(status)                 whether the library refused the image because it is for
//                                      another device; then the next image is tried
template <class A>
concept ImageApi =
    CommandApi<A> &&
    requires(const A& api, const kernel::Hyx& file, std::string_view target, const Status& status,
             std::span<const std::byte> bytes, typename A::Module& module) {
      { api.load_image(file, target, bytes, module) } -> std::same_as<Status>;
      { A::is_foreign(status) } -> std::same_as<bool>;
    };

// Images that the library compiles, slowly, so that their results are worth caching.
//
//   is_source(target)      whether images for `target` have to be compiled
//   compile(f, image)      the compiled image, which is loaded instead
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
//   Functions                  the table of its functions. load(handle) returns the name of a
//                              missing symbol, or null
//   PhysicalDevice             derives from stream::PhysicalDevice
//   kLibraryVariable           the environment variable that names its file
//   kLibraryFiles              file names to try in order if that variable is not set
//   kOldest                    the oldest library that has all functions, in words
//   open_library(file, why)    as dlopen(3), never closed; null with the reason
//   loaded_libraries()         loader.h
//   start(functions, d)        initializes the library, and lists its devices in its order.
//                              kNotFound: there are none. kUnavailable: it cannot start
//   is_identity(path)          whether the path of a URI is an identity, not an ordinal
//   identity(device)           the string that identifies a device in a URI
//   kDeviceType                DLPack's device type
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

// All of the above.
//
//   priority_range(l, g)    the lowest and the highest priority of streams; the highest is the
//                           smallest number. Both are 0 if there are no priorities
//   check_import(s)         kInvalidArgument: not a stream of this library. kPermissionDenied: a
//                           stream of another context than the current one
//   prepare_graphs()        called before the Api makes graphs of a recording
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
