# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets Python programs that were written for PyObjC use the simulated Metal framework, $METAL_PATH.

Messages are attributes, with an underscore for each colon, as PyObjC has them. How arguments and results are passed
follows from the types that the classes give to the runtime, so a method with wrong types fails here. install() puts
the modules objc, Foundation and Metal in the place of PyObjC's; of MetalPerformanceShaders nothing is there.
"""
import collections
import ctypes
import functools
import os
import pathlib
import re
import sys
import types

_library = ctypes.CDLL(os.environ["METAL_PATH"])
_HEADERS = pathlib.Path(__file__).parents[2] / "simulation/metal/include"
_SIMPLE = {"c": ctypes.c_int8, "C": ctypes.c_uint8, "s": ctypes.c_int16, "S": ctypes.c_uint16, "i": ctypes.c_int32,
           "I": ctypes.c_uint32, "l": ctypes.c_int64, "L": ctypes.c_uint64, "q": ctypes.c_int64, "Q": ctypes.c_uint64,
           "f": ctypes.c_float, "d": ctypes.c_double, "B": ctypes.c_bool, "v": None, "*": ctypes.c_char_p}
_STRUCTURES = {"MTLSize": ("width", "height", "depth"), "MTLOrigin": ("x", "y", "z"),
               "NSRange": ("location", "length"), "MTLResourceID": ("impl",)}
_RETAINED = re.compile(r"_*(alloc|new|copy|mutableCopy|init)(?![a-z])")  # these give a reference to the caller


def _function(name, result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)((name, _library))


_pointer = ctypes.c_void_p
_selector = _function("sel_registerName", _pointer, ctypes.c_char_p)
_find_class = _function("objc_getClass", _pointer, ctypes.c_char_p)
_class_of = _function("object_getClass", _pointer, _pointer)
_method = _function("class_getInstanceMethod", _pointer, _pointer, _pointer)
_types_of = _function("method_getTypeEncoding", ctypes.c_char_p, _pointer)
_class_name = _function("object_getClassName", ctypes.c_char_p, _pointer)
_push = _function("objc_autoreleasePoolPush", _pointer)
_pop = _function("objc_autoreleasePoolPop", None, _pointer)
_retain = _function("objc_retain", _pointer, _pointer)
_release = _function("objc_release", None, _pointer)


@functools.cache
def _structure(name, codes):
    """The ctypes structure and the named tuple for a structure."""
    name = "MTLSize" if (name, codes) == ("?", "QQQ") else name.strip("_?") or "structure"
    fields = _STRUCTURES.get(name) or [f"field{i}" for i in range(len(codes))]
    made = type(name, (ctypes.Structure,), {"_fields_": [(field, _SIMPLE[code]) for field, code in zip(fields, codes)]})
    return made, collections.namedtuple(name, fields)


@functools.cache
def _parse(encoding):
    """(kind, ctypes type, named tuple) of the result, self, the selector and the arguments. The kind is "@" for
    objects, "@?" for blocks, "^@" for a place of an error, "{" for structures, else "^" or "v"."""
    kinds = []
    for match in re.finditer(r"[rnNoORV]*(?:(\^+)?(\{[\w?]+=[^}]*\}|@\?|@|#|:|\?|[a-zA-Z*]))\d*", encoding):
        pointer, base = match.groups()
        if pointer:
            kinds.append(("^@" if base == "@" else "^", _pointer, None))
        elif base[0] == "{":
            name, codes = base[1:-1].split("=")
            kinds.append(("{", *_structure(name, codes)))
        elif base[0] in "@#:?":
            kinds.append((base, _pointer, None))
        else:
            kinds.append(("v", _SIMPLE[base], None))
    return kinds


class Object:
    """An object of Objective-C; holds a reference to it."""

    def __init__(self, pointer):
        self._pointer = pointer

    def __del__(self):
        if not sys.is_finalizing():
            _release(self._pointer)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return functools.partial(_send, self, name)

    def __eq__(self, other):
        return isinstance(other, Object) and self._pointer == other._pointer

    def __hash__(self):
        return hash(self._pointer)

    def __str__(self):
        return self.description()

    def __repr__(self):
        return f"<{_class_name(self._pointer).decode()} {self._pointer:#x}>"


class Memory:
    """A pointer to bytes."""

    def __init__(self, pointer):
        self._pointer = pointer

    def as_buffer(self, length):
        return memoryview((ctypes.c_uint8 * length).from_address(self._pointer)).cast("B")


class _Block(ctypes.Structure):
    """https://clang.llvm.org/docs/Block-ABI-Apple.html"""
    _fields_ = [("isa", _pointer), ("flags", ctypes.c_int), ("reserved", ctypes.c_int), ("invoke", _pointer),
                ("descriptor", _pointer)]


_kept = []  # blocks that have been passed


def _block(function):
    """A global block that passes one object."""
    invoke = ctypes.CFUNCTYPE(None, _pointer, _pointer)(lambda block, value: function(_wrap(value, False)))
    descriptor = (ctypes.c_ulong * 2)(0, ctypes.sizeof(_Block))
    isa = ctypes.addressof(ctypes.c_void_p.in_dll(_library, "_NSConcreteGlobalBlock"))
    block = _Block(isa, 1 << 28, 0, ctypes.cast(invoke, _pointer), ctypes.addressof(descriptor))
    _kept.append((invoke, descriptor, block))
    return ctypes.addressof(block)


def _wrap(pointer, is_retained):
    """Strings, numbers and arrays become Python's."""
    if not pointer:
        return None
    wrapped = Object(pointer if is_retained else _retain(pointer))
    if _responds(pointer, "UTF8String"):
        return wrapped.UTF8String().decode()
    if _responds(pointer, "objectAtIndex_"):
        return [wrapped.objectAtIndex_(i) for i in range(wrapped.count())]
    return wrapped


def _responds(pointer, name):
    return bool(_method(_class_of(pointer), _selector(name.replace("_", ":").encode())))


def _unwrap(kind, value, keep):
    if value is None:
        return None
    if kind == "@?":
        return _block(value)
    if isinstance(value, (Object, Memory)):
        return value._pointer
    if isinstance(value, str) and kind == "@":
        keep.append(NSString.stringWithUTF8String_(value.encode(), raw=True))
        return keep[-1]._pointer
    if isinstance(value, (list, tuple)) and kind in ("^", "^@"):
        keep.append((_pointer * len(value))(*(each._pointer for each in value)))
        return ctypes.addressof(keep[-1])
    if kind in ("^", "^@") and not isinstance(value, int):  # bytes and what has a buffer
        view = memoryview(value).cast("B")
        keep.append((ctypes.c_uint8 * len(view)).from_buffer_copy(view))
        return ctypes.addressof(keep[-1])
    return value


def _send(to, name, *arguments, raw=False):
    receiver = to._pointer
    selector = _selector(name.replace("_", ":").encode())
    method = _method(_class_of(receiver), selector)
    if not method:
        raise AttributeError(f"{_class_name(receiver).decode()} does not respond to {name}")
    (result_kind, result_type, result_tuple), _, _, *kinds = _parse(_types_of(method).decode())
    if len(kinds) != len(arguments):
        raise TypeError(f"{name} takes {len(kinds)} arguments")
    keep, errors, passed = [], [], []
    for (kind, ctype, _), value in zip(kinds, arguments):
        if kind == "{":
            passed.append(ctype(*value))
        elif kind == "^@" and value is None:
            errors.append(_pointer())
            passed.append(ctypes.addressof(errors[-1]))
        else:
            passed.append(_unwrap(kind, value, keep))
    # Structures of more than 16 bytes are returned in memory: System V ABI for x86-64, 3.2.3.
    in_memory = result_kind == "{" and ctypes.sizeof(result_type) > 16
    if name.startswith("init"):  # it takes over the caller's reference
        _retain(receiver)
    send = ctypes.CFUNCTYPE(result_type, _pointer, _pointer, *(ctype for _, ctype, _ in kinds))(
        ("objc_msgSend_stret" if in_memory else "objc_msgSend", _library))
    result = send(receiver, selector, *passed)
    if result_kind == "{":
        result = result_tuple(*(getattr(result, field) for field, _ in result_type._fields_))
    elif result_kind in "@#":
        is_retained = _RETAINED.match(name) is not None
        if raw:
            result = Object(result if is_retained else _retain(result))
        else:
            result = _wrap(result, is_retained)
    elif result_kind == "^":
        result = Memory(result) if result else None
    if errors:
        return (result, *(_wrap(error.value, False) for error in errors))
    return result


class Class(Object):
    def __init__(self, name):
        super().__init__(_find_class(name.encode()))
        if not self._pointer:
            raise AttributeError(name)

    def __del__(self):
        pass


class autorelease_pool:
    """A context with a pool of its own."""

    def __enter__(self):
        self._token = _push()

    def __exit__(self, *_):
        _pop(self._token)


@functools.cache
def _constants():
    """The enumerators of Metal's headers."""
    found = {"NSIntegerMax": 2 ** 63 - 1, "NSUIntegerMax": 2 ** 64 - 1}
    for header in sorted((_HEADERS / "Metal").glob("*.h")):
        text = re.sub(r"//[^\n]*", "", header.read_text())
        for body in re.findall(r"NS_(?:ENUM|OPTIONS)\([^)]*\)\s*\{([^}]*)\}", text):
            for name, value in re.findall(r"(\w+)\s*=\s*([^,]+)", body):
                value = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b", r"\1", value).replace("(NSUInteger)", "")
                found[name] = eval(value, {}, found)
    return found


def _metal(name):
    return _constants()[name] if name in _constants() else Class(name)


def creator(name):
    """The function `name` of C, which takes nothing and gives an object to its caller."""
    return lambda: _wrap(_function(name, _pointer)(), True)


def _module(name, lookup, **members):
    module = types.ModuleType(name)
    vars(module).update(members)
    module.__getattr__ = lookup
    sys.modules[name] = module


def _absent(name):
    raise AttributeError(name)


NSString = Class("NSString")


def install():
    """For a main thread: with a pool that lasts, as PyObjC has one."""
    _push()
    size, origin = _structure("MTLSize", "QQQ")[1], _structure("MTLOrigin", "QQQ")[1]
    _module("objc", _absent, autorelease_pool=autorelease_pool, pyobjc_id=lambda each: each._pointer)
    _module("Foundation", Class, NSMakeRange=_structure("NSRange", "QQ")[1])
    _module("MetalPerformanceShaders", _absent)
    _module("Metal", _metal, MTLSize=size, MTLSizeMake=size, MTLOrigin=origin, MTLOriginMake=origin,
            MTLCreateSystemDefaultDevice=creator("MTLCreateSystemDefaultDevice"),
            MTLCopyAllDevices=creator("MTLCopyAllDevices"))
