// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Library: one native library that is loaded and initialized, with its devices.
#pragma once

#include <cstdlib>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/mutex.h"
#include "drivers/stream/device_api.h"
#include "drivers/stream/loader.h"
#include "drivers/stream/peers.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::stream {

template <class Api>
class Library {
 public:
  using PhysicalDevice = typename Api::PhysicalDevice;

  // Opens the library `file`. If that is empty, opens the file that the environment variable
  // kLibraryVariable names, otherwise the first of kLibraryFiles that can be opened. The first call
  // for a name loads the library, which stays loaded until the process ends. Errors:
  //   kNotFound     the file cannot be opened, or there is no device
  //   kUnavailable  a library that lacks a symbol, which the message names, or that cannot start
  static Result<const Library*> open(std::string_view file) {
    const char* const variable = std::getenv(Api::kLibraryVariable);
    if (file.empty() && variable != nullptr) file = variable;
    auto& [mutex, libraries] = Api::loaded_libraries();
    base::LockGuard lock(mutex);
    if (!file.empty()) return load_once(libraries, std::string(file));
    Result<const Library*> library = static_cast<const Library*>(nullptr);
    for (const char* const each : Api::kLibraryFiles) {
      bool opened = false;
      library = load_once(libraries, each, &opened);
      if (opened) break;
    }
    return library;
  }

  const typename Api::Functions& functions() const noexcept { return functions_; }
  // In the library's order, usable or not; at least one and at most kMaxDevices. Constant.
  const std::vector<PhysicalDevice>& devices() const noexcept { return devices_; }

  // Streams of all devices wait for each other's events.
  const void* wait_domain() const noexcept { return this; }
  // Memory belongs to one GPU. Devices that do not use their peers have domains of their own.
  const void* memory_domain(unsigned physical, bool with_peers) const noexcept {
    return &domains_[with_peers ? 1 : 0][physical];
  }
  PeerAccess<Api>& peers() const noexcept { return peers_; }

 private:
  explicit Library(std::string file) noexcept : file_(std::move(file)) {}

  // `opened`: whether the file exists, even if loading it fails.
  static Result<const Library*> load_once(Library*& libraries, std::string file,
                                          bool* opened = nullptr) {
    for (const Library* known = libraries; known != nullptr; known = known->next_.get()) {
      if (known->file_ != file) continue;
      if (opened != nullptr) *opened = true;
      return known;
    }
    std::unique_ptr<Library> library(new (std::nothrow) Library(std::move(file)));
    if (library == nullptr) {
      return error(StatusCode::kResourceExhausted, "{}: no memory for the library", Api::kDriver);
    }
    std::string reason;
    void* const handle = Api::open_library(library->file_.c_str(), reason);
    if (opened != nullptr) *opened = handle != nullptr;
    if (handle == nullptr) {
      return error(StatusCode::kNotFound, "{}: {} cannot be opened: {}", Api::kDriver,
                   library->file_, reason);
    }
    HALYARD_RETURN_IF_ERROR(library->start(handle));
    library->next_.reset(libraries);
    libraries = library.release();
    return static_cast<const Library*>(libraries);
  }

  Status start(void* handle) {
    if (const char* const missing = functions_.load(handle); missing != nullptr) {
      return error(StatusCode::kUnavailable, "{}: {} has no {}; {} is needed", Api::kDriver, file_,
                   missing, Api::kOldest);
    }
    HALYARD_RETURN_IF_ERROR(Api::start(functions_, devices_));
    if (devices_.empty()) {
      return error(StatusCode::kNotFound, "{}: there is no device", Api::kDriver);
    }
    if (devices_.size() > kMaxDevices) devices_.resize(kMaxDevices);
    return {};
  }

  const std::string file_;
  typename Api::Functions functions_;
  std::vector<PhysicalDevice> devices_;
  const char domains_[2][kMaxDevices] = {};
  mutable PeerAccess<Api> peers_;
  std::unique_ptr<Library> next_;  // in the list of all libraries
};

}  // namespace halyard::inline v0::stream
