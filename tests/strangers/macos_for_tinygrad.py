# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets tinygrad's unmodified METAL device find the simulated Metal framework where it looks for libraries of macOS.

Import it before tinygrad. All of Apple's libraries that tinygrad loads are $METAL_PATH, which is libMetal.so. Only
MTLCompiler, a private framework of Apple's, stands here: what tinygrad asks of it is answered by
newLibraryWithSource:options:error: of the simulation.
"""
import ctypes
import ctypes.util
import os
import platform
import struct

import objective_c

FRAMEWORK = os.environ["METAL_PATH"]
os.environ["COREGRAPHICS_PATH"] = os.environ["MTLCOMPILER_PATH"] = FRAMEWORK
os.environ["PARALLEL"] = "0"  # processes that compile would not import this
_load = ctypes.CDLL
_find_library = ctypes.util.find_library
ctypes.util.find_library = lambda name: FRAMEWORK if name == "objc" else _find_library(name)
platform.mac_ver = lambda: ("14.0", ("", "", ""), "arm64")  # by it tinygrad chooses the language's version


class _CDLL(_load):
    def __init__(self, name, *arguments, **keywords):
        super().__init__(FRAMEWORK if name == "/usr/lib/libSystem.dylib" else name, *arguments, **keywords)


ctypes.CDLL = _CDLL


def _errors(text, is_fast):
    """The errors of `text`, or None."""
    with objective_c.autorelease_pool():
        device = objective_c.creator("MTLCreateSystemDefaultDevice")()
        options = objective_c.Class("MTLCompileOptions").alloc().init()
        options.setFastMathEnabled_(is_fast)
        library, error = device.newLibraryWithSource_options_error_(text.decode(), options, None)
        return None if library is not None else error.localizedDescription().encode()


class _Create:
    restype = None

    def __call__(self, name):
        return 1


class _Compiler:
    """MTLCodeGenServiceBuildRequest of MTLCompiler, as tinygrad's MetalCompiler.compile calls it."""
    MTLCodeGenServiceCreate = _Create()

    @staticmethod
    def MTLCodeGenServiceBuildRequest(service, unused, kind, request, length, block):
        text_bytes, parameter_bytes = struct.unpack_from("<QQ", request)
        text = request[16:16 + text_bytes].rstrip(b"\0")
        parameters = request[16 + text_bytes:16 + text_bytes + parameter_bytes].rstrip(b"\0").split()
        flags = [each for each in parameters if each in (b"-fno-fast-math", b"-ffast-math")]
        flags += [each for each in parameters if each.startswith(b"-std=")]
        # A block's function follows isa and flags: https://clang.llvm.org/docs/Block-ABI-Apple.html
        block = ctypes.cast(block, ctypes.c_void_p).value
        function = ctypes.c_void_p.from_address(block + 16).value
        reply = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t,
                                 ctypes.c_char_p)(function)
        errors = _errors(text, b"-fno-fast-math" not in parameters)
        if errors is not None:
            reply(block, 1, None, 0, errors)
            return
        # 16 bytes of header, of which the last eight are the bytes of header and warnings.
        library = struct.pack("<QLL", 0, 16, 0) + b"MTLB halyard text " + b" ".join(flags) + b"\n" + text + b"\n//ENDT"
        data = ctypes.create_string_buffer(library, len(library))
        reply(block, 0, ctypes.addressof(data), len(library), None)


import tinygrad.runtime.support.c as _c  # noqa: E402


class _DLL(_c.DLL):
    def __new__(cls, name, *arguments, **keywords):
        return _Compiler() if name == "MTLCompiler" else super().__new__(cls)


_c.DLL = _DLL
