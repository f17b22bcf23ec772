// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "peers.h"

namespace halyard::bench {
namespace {

constexpr unsigned kProbeSeconds = 30;

void check_cl(cl_int code, const char* call) {
  if (code != CL_SUCCESS) {
    throw std::runtime_error(std::string(call) + ": OpenCL error " + std::to_string(code));
  }
}

template <class T, cl_int (*kRelease)(T)>
struct Release {
  using pointer = T;
  void operator()(T object) const { kRelease(object); }
};
template <class T, cl_int (*kRelease)(T)>
using Owned = std::unique_ptr<std::remove_pointer_t<T>, Release<T, kRelease>>;

cl_device_id cpu_device() {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) count = 0;
  std::vector<cl_platform_id> platforms(count);
  if (count != 0) check_cl(clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  for (const cl_platform_id platform : platforms) {
    cl_device_id device;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr) == CL_SUCCESS) {
      return device;
    }
  }
  throw std::runtime_error("no OpenCL CPU device");
}

class ClDevice final : public OpenCl {
 public:
  ClDevice() {
    cl_device_id device = cpu_device();
    cl_int code;
    context_.reset(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code));
    check_cl(code, "clCreateContext");
    queue_.reset(clCreateCommandQueue(context_.get(), device, 0, &code));
    check_cl(code, "clCreateCommandQueue");
    const char* source = "__kernel void increment(__global uint* x) { x[0] += 1; }";
    program_.reset(clCreateProgramWithSource(context_.get(), 1, &source, nullptr, &code));
    check_cl(code, "clCreateProgramWithSource");
    check_cl(clBuildProgram(program_.get(), 1, &device, "", nullptr, nullptr), "clBuildProgram");
    kernel_.reset(clCreateKernel(program_.get(), "increment", &code));
    check_cl(code, "clCreateKernel");
    cl_uint zero = 0;
    counter_.reset(clCreateBuffer(context_.get(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                  sizeof zero, &zero, &code));
    check_cl(code, "clCreateBuffer");
    cl_mem counter = counter_.get();
    check_cl(clSetKernelArg(kernel_.get(), 0, sizeof counter, &counter), "clSetKernelArg");
    char name[64] = {};
    cl_platform_id platform;
    check_cl(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr),
             "clGetDeviceInfo");
    check_cl(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, nullptr),
             "clGetPlatformInfo");
    name_ = std::string(name) == "Portable Computing Language" ? "PoCL" : name;
  }
  ~ClDevice() override { clFinish(queue_.get()); }

  std::string name() const override { return name_; }

  void enqueue() override {
    constexpr std::size_t kOne = 1;
    const cl_event gate = gate_.get();
    check_cl(
        clEnqueueNDRangeKernel(queue_.get(), kernel_.get(), 1, nullptr, &kOne, &kOne,
                               gate != nullptr ? 1 : 0, gate != nullptr ? &gate : nullptr, nullptr),
        "clEnqueueNDRangeKernel");
  }
  void finish() override { check_cl(clFinish(queue_.get()), "clFinish"); }

  void close_gate() override {
    cl_int code;
    gate_.reset(clCreateUserEvent(context_.get(), &code));
    check_cl(code, "clCreateUserEvent");
  }
  void open_gate() override {
    check_cl(clSetUserEventStatus(gate_.get(), CL_COMPLETE), "clSetUserEventStatus");
    gate_.reset();
  }

  std::uint32_t counter() override {
    cl_uint value = 0;
    check_cl(clEnqueueReadBuffer(queue_.get(), counter_.get(), CL_TRUE, 0, sizeof value, &value, 0,
                                 nullptr, nullptr),
             "clEnqueueReadBuffer");
    return value;
  }

 private:
  std::string name_;
  Owned<cl_context, clReleaseContext> context_;
  Owned<cl_command_queue, clReleaseCommandQueue> queue_;
  Owned<cl_program, clReleaseProgram> program_;
  Owned<cl_kernel, clReleaseKernel> kernel_;
  Owned<cl_mem, clReleaseMemObject> counter_;
  Owned<cl_event, clReleaseEvent> gate_;
};

// True if the device works from end to end.
bool probe() {
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    alarm(kProbeSeconds);  // ends the child
    try {
      ClDevice device;
      device.enqueue();
      device.finish();
      _exit(device.counter() == 1 ? 0 : 1);
    } catch (const std::exception&) {
      _exit(1);
    }
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

std::unique_ptr<OpenCl> open_opencl(std::string& problem) {
  if (!probe()) {
    problem = "there is no OpenCL CPU device that works";
    return nullptr;
  }
  try {
    return std::make_unique<ClDevice>();
  } catch (const std::exception& error) {
    problem = error.what();
    return nullptr;
  }
}

}  // namespace halyard::bench
