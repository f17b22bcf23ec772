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
_objc = _load(FRAMEWORK)


def _send(receiver, selector, result=ctypes.c_void_p, *arguments):
    """Sends a message. Each of `arguments` is a ctypes object."""
    _objc.sel_registerName.restype = ctypes.c_void_p
    types = [ctypes.c_void_p, ctypes.c_void_p, *map(type, arguments)]
    message = ctypes.CFUNCTYPE(result, *types)(ctypes.cast(_objc.objc_msgSend, ctypes.c_void_p).value)
    return message(receiver, _objc.sel_registerName(selector), *arguments)


def _class(name):
    _objc.objc_getClass.restype = ctypes.c_void_p
    return _objc.objc_getClass(name)


def _errors(text, is_fast):
    """The errors of `text`, or None."""
    _objc.MTLCreateSystemDefaultDevice.restype = ctypes.c_void_p
    pool = _send(_send(_class(b"NSAutoreleasePool"), b"alloc"), b"init")
    device = _objc.MTLCreateSystemDefaultDevice()
    options = _send(_class(b"MTLCompileOptions"), b"new")
    _send(options, b"setFastMathEnabled:", None, ctypes.c_bool(is_fast))
    string = _send(_class(b"NSString"), b"stringWithUTF8String:", ctypes.c_void_p, ctypes.c_char_p(text))
    error = ctypes.c_void_p()
    library = _send(device, b"newLibraryWithSource:options:error:", ctypes.c_void_p, ctypes.c_void_p(string),
                    ctypes.c_void_p(options), ctypes.cast(ctypes.pointer(error), ctypes.c_void_p))
    message = None
    if library is None:
        description = _send(error.value, b"localizedDescription")
        message = _send(description, b"UTF8String", ctypes.c_char_p)
    for each in (library, options, device):
        _send(each, b"release", None)
    _send(pool, b"drain", None)
    return message


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
