#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles texts in the Metal Shading Language that others wrote, unchanged, and counts them.

usage: msl_texts.py PROGRAM [NAME=FOLDER[:LEAST]...]

PROGRAM is msl_compile_texts. Of each folder all *.metal, *.msl and *.comp are compiled that have a compute
function and use no textures, ray tracing or other things that compute functions of buffers do not have (they are
counted as left out). Fails if fewer than LEAST compile. Without a folder: the texts of the packages tinygrad,
triton-msl and iree, all of them. With --emit tinygrad FOLDER, --emit triton-msl FOLDER or --emit iree FOLDER it
writes the texts of the package first.
"""
import concurrent.futures
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
import types

LEFT_OUT = re.compile(r'\b(texture(1d|2d|3d|cube|_buffer)\w*|depth2d\w*|depthcube\w*|sampler|raytracing|'
                      r'metal_raytracing|intersection_query|metal_tensor|imageblock)\b')
KERNEL = re.compile(r'\bkernel\b')
PROCESSES = os.cpu_count()
PACKAGE_TEXTS = {'tinygrad': 110, 'triton-msl': 76, 'iree': 9}  # of the versions in requirements.txt


def emit_tinygrad(folder):
    """What tinygrad's MetalRenderer makes of some tensor programs, for an old and a new GPU."""
    os.environ['DEV'] = 'CPU'
    from tinygrad.device import Compiler

    class MetalCompiler(Compiler):
        def __init__(self):
            super().__init__(None)

        def compile(self, src):
            return src.encode()

    # The module loads Apple's frameworks, which the renderer does not need.
    stub = types.ModuleType('tinygrad.runtime.ops_metal')
    stub.MetalCompiler = MetalCompiler
    sys.modules['tinygrad.runtime.ops_metal'] = stub
    import tinygrad.codegen as codegen
    from tinygrad import Tensor, dtypes
    from tinygrad.helpers import Target
    from tinygrad.renderer.cstyle import MetalRenderer
    from tinygrad.uop.ops import Ops

    def t(*shape, dtype=dtypes.float):
        return Tensor.empty(*shape, dtype=dtype)

    programs = {
        'add': lambda: t(1000) + t(1000), 'sum': lambda: t(1024, 1024).sum(), 'rows': lambda: t(64, 300).sum(1),
        'matmul': lambda: t(128, 128) @ t(128, 128), 'softmax': lambda: t(16, 256).softmax(),
        'half_matmul': lambda: t(64, 64, dtype=dtypes.half) @ t(64, 64, dtype=dtypes.half),
        'layernorm': lambda: t(16, 256).layernorm(), 'conv': lambda: t(1, 4, 16, 16).conv2d(t(8, 4, 3, 3)),
        'max_pool': lambda: t(1, 4, 16, 16).max_pool2d(), 'gelu': lambda: t(300).gelu(),
        'sin': lambda: t(300).sin(), 'cumsum': lambda: t(300).cumsum(), 'argmax': lambda: t(16, 100).argmax(1),
        'where': lambda: (t(100) > 0).where(t(100), 1.0), 'cast': lambda: t(100).cast(dtypes.int),
        'half': lambda: t(100).cast(dtypes.half) * 2, 'divide': lambda: t(100, dtype=dtypes.int) // 3,
        'gather': lambda: t(50, 20)[t(10, dtype=dtypes.int)], 'pad': lambda: t(10, 10).pad(((1, 1), (2, 2))),
        'random': lambda: Tensor.rand(100), 'bool': lambda: (t(100) > t(100)) & (t(100) < 1),
        'uchar': lambda: t(100, dtype=dtypes.uchar) + 1, 'long': lambda: t(100, dtype=dtypes.int64) * 3,
        'sort': lambda: t(32).sort()[0], 'bitcast': lambda: t(100).bitcast(dtypes.uint) ^ 5,
        'var': lambda: t(64, 64).var(0),
        'attention': lambda: Tensor.scaled_dot_product_attention(t(1, 2, 32, 16), t(1, 2, 32, 16), t(1, 2, 32, 16))}
    for arch in ('Apple5', 'Apple9'):
        renderer = MetalRenderer(Target('METAL', '', arch))
        for name, program in programs.items():
            for k, item in enumerate(program().schedule_linear().src):
                if item.src[0].op is not Ops.SINK:
                    continue
                parts = codegen.to_program(item.src[0], renderer).toposort()
                text = next(u.arg for u in parts if u.op is Ops.SOURCE)
                with open(os.path.join(folder, f'{arch}_{name}_{k}.metal'), 'w') as file:
                    file.write(text)


def emit_triton_msl(folder):
    """What each make_* function of triton-msl returns that needs no arguments."""
    import triton_msl
    seen = set()
    for module in pkgutil.walk_packages(triton_msl.__path__, 'triton_msl.', onerror=lambda name: None):
        try:
            __import__(module.name)
        except Exception:  # needs packages of a Mac
            continue
        for name, function in list(vars(sys.modules[module.name]).items()):
            if not name.startswith('make_') or not inspect.isfunction(function) or function in seen:
                continue
            seen.add(function)
            try:
                text = function()
            except (TypeError, ValueError):  # needs arguments
                continue
            text = text[0] if isinstance(text, tuple) else text
            if isinstance(text, str) and KERNEL.search(text):
                with open(os.path.join(folder, f'{name}.metal'), 'w') as file:
                    file.write(text)


def emit_iree(folder):
    """What IREE's compiler makes of iree_functions.mlir."""
    subprocess.run([os.path.join(os.path.dirname(sys.executable), 'iree-compile'), '--iree-hal-target-device=metal',
                    '--iree-metal-compile-to-metallib=false', f'--iree-hal-dump-executable-files-to={folder}',
                    '-o', os.devnull, os.path.join(os.path.dirname(__file__), 'iree_functions.mlir')], check=True)


def count(program, name, folder, least):
    texts, left_out = [], 0
    for root, _, files in sorted(os.walk(folder)):
        for file in sorted(files):
            if not file.endswith(('.metal', '.msl', '.comp')):
                continue
            path = os.path.join(root, file)
            with open(path, errors='replace') as opened:
                text = opened.read()
            if KERNEL.search(text) and not LEFT_OUT.search(text):
                texts.append(path)
            else:
                left_out += 1
    with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
        lines = [line for part in pool.map(lambda k: compile_texts(program, texts[k::PROCESSES]), range(PROCESSES))
                 for line in part]
    compiled = sum(line.startswith('ok ') for line in lines)
    print(f'{name}: {compiled} of {len(texts)} compile, {left_out} left out')
    for line in lines:
        if not line.startswith('ok '):
            print('   ' + line)
    good = compiled >= least and len(lines) == len(texts)
    print(f"{'ok' if good else 'FAILED'} msl-texts-{name}", flush=True)
    return good


def compile_texts(program, texts):
    return subprocess.run([program, *texts], stdout=subprocess.PIPE, text=True, check=False).stdout.splitlines()


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ('-h', '--help'):
        print(__doc__)
        return 0
    emitters = {'tinygrad': emit_tinygrad, 'triton-msl': emit_triton_msl, 'iree': emit_iree}
    with tempfile.TemporaryDirectory() as scratch:
        if len(arguments) == 1:
            for name in emitters:
                folder = os.path.join(scratch, name)
                arguments += ['--emit', name, folder, f'{name}={folder}:{PACKAGE_TEXTS[name]}']
        while '--emit' in arguments:
            at = arguments.index('--emit')
            kind, folder = arguments[at + 1:at + 3]
            del arguments[at:at + 3]
            os.makedirs(folder, exist_ok=True)
            emitters[kind](folder)
        good = True
        for argument in arguments[1:]:
            name, _, folder = argument.partition('=')
            folder, _, least = folder.partition(':')
            good = count(arguments[0], name, folder, int(least or 0)) and good
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
