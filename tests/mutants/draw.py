# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws faults that nobody chose: a small change of one place in the library's sources, of seven kinds. Text alone
decides where; a change that does not compile is the caller's to draw again."""
import random
import re

# What simulations and tests put in the place of a system or of a native library lies elsewhere.
LIBRARY = re.compile(r'(src|include/halyard)/.*\.(h|cpp|mm)$')

OTHER = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '==', '&&': '||', '||': '&&', '+': '-', '-': '+',
         '+=': '-=', '-=': '+=', '++': '--', '--': '++', 'true': 'false', 'false': 'true'}
# Lines that declare, or that no test could notice.
NO_CODE = re.compile(r'\s*(#|template\b|using\b|typedef\b|static_assert\b|assert\b|extern\b|namespace\b|class\b|struct\b|'
                     r'enum\b|friend\b|public:|HALYARD_CALL_SITE\b|\[\[)|.*\b(operator|requires|concept|static_assert|'
                     r'assert|if constexpr|consteval)\b')
KEYWORDS = {'if', 'for', 'while', 'switch', 'return', 'case', 'sizeof', 'alignof', 'decltype', 'noexcept', 'alignas',
            'catch', 'co_return', 'co_await', 'co_yield', 'new', 'delete', 'throw', 'else', 'do', 'goto', 'break'}


def blank(text):
    """The text with comments and literals blanked, at the same length."""
    literal = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![\w])\'(?:\\.|[^\'\\\n])+\'', re.S)
    return literal.sub(lambda it: re.sub(r'[^\n]', ' ', it[0]), text)


def closing(code, opening):
    depth = 0
    for at in range(opening, len(code)):
        depth += {'(': 1, ')': -1}.get(code[at], 0)
        if depth == 0:
            return at
    return None


def split(code, begin, end):
    """The ranges of the arguments in code[begin:end]."""
    depth, starts = 0, [begin]
    for at in range(begin, end):
        depth += {'(': 1, '[': 1, '{': 1, '<': 1, ')': -1, ']': -1, '}': -1, '>': -1}.get(code[at], 0)
        if code[at] == ',' and depth == 0:
            starts.append(at + 1)
    ranges = []
    for start, behind in zip(starts, [*(at - 1 for at in starts[1:]), end]):
        part = code[start:behind]
        ranges.append((start + len(part) - len(part.lstrip()), behind - len(part) + len(part.rstrip())))
    return ranges


def declares(argument):
    """Whether it is a parameter: a type and a name."""
    return re.fullmatch(r'(const )?[\w:]+(<.*>)?( const)?\s*[&*]*\s+[&*]*\w+( = .*)?|.*[&*] ?\w+', argument, re.S)


def places(code):
    """Yields (kind, begin, end, new text) of every change to the blanked text."""
    for line in re.finditer(r'[^\n]+', code):
        if NO_CODE.match(line[0]):
            continue
        at, text = line.start(), line[0]
        for it in re.finditer(r'(?<= )(<=|>=|==|!=|<|>)(?= )', text):
            yield 'comparison', at + it.start(), at + it.end(), OTHER[it[0]]
        for it in re.finditer(r'(?<= )(&&|\|\|)(?= )', text):
            yield 'condition', at + it.start(), at + it.end(), OTHER[it[0]]
        for it in re.finditer(r'\b(?:if|while) (\()', text):
            end = closing(code, at + it.start(1))
            inside = code[at + it.end(1):end] if end else ';'
            if ';' not in inside and not re.search(r'[^=!<>]=[^=]', inside):
                yield 'condition', at + it.end(1), end, None
        for it in re.finditer(r'(?<= )[+-]=?(?= )|(\+\+|--)(?=\w)', text):
            yield 'sign', at + it.start(), at + it.end(), OTHER[it[0]]
        for it in re.finditer(r'(?<![\w.\'])\d+(?=[uUlL]*(?![\w.\']))', text):
            yield 'constant', at + it.start(), at + it.end(), str(int(it[0]) + 1)
        for it in re.finditer(r'\breturn (true|false);', text):
            yield 'result', at + it.start(1), at + it.end(1), OTHER[it[1]]
        for it in re.finditer(r'\breturn ([^{};]+);', text):
            if it[1] not in OTHER and it[1] != 'nullptr':  # {} is the same
                yield 'result', at + it.start(1), at + it.end(1), '{}'
        for it in re.finditer(r'(\w+)\(', text):
            end = closing(code, at + it.end() - 1)
            if it[1] in KEYWORDS or it[1].isupper() or end is None:
                continue
            ranges = split(code, at + it.end(), end)
            texts = [code[begin:behind] for begin, behind in ranges]
            if not all(texts) or any(declares(each) for each in texts):
                continue
            for one, other in zip(range(len(ranges)), range(1, len(ranges))):
                if texts[one] != texts[other]:
                    yield 'arguments', ranges[one][0], ranges[other][1], (ranges[one], ranges[other])
        it = re.match(r'\s+((?:\(void\))?\w[\w.:>\-\[\]*]*\(.*\));$', text)
        behind = code[:at].rstrip()[-1:]
        if it and behind in ';{}:' and re.match(r'[(\w]+', it[1])[0] not in KEYWORDS:
            yield 'call', at + it.start(1), at + it.end(1), ''


class Fault:
    def __init__(self, path, text, kind, begin, end, new):
        if new is None:
            new = f'!({text[begin:end]})'
        elif isinstance(new, tuple):
            (one, one_end), (other, other_end) = new
            new = text[other:other_end] + text[one_end:other] + text[one:one_end]
        self.path, self.kind = path, kind
        self.line = text.count('\n', 0, begin) + 1
        self.content = (text[:begin] + new + text[end:]).encode()
        after = text[text.rfind('\n', 0, begin) + 1:begin] + new + text[end:text.find('\n', end)]
        before = text[text.rfind('\n', 0, begin) + 1:text.find('\n', end)]
        self.shown = ''.join(f'{sign}{line}\n' for sign, part in (('-', before), ('+', after))
                             for line in part.split('\n'))


def draw(sources, seed, lines=None, known=()):
    """Yields faults for ever new places, the same ones for the same sources and seed. Each kind is as likely as any
    other. `lines`: path -> the lines in which they may begin; None: all. `known`: (path, content) that are left out."""
    by_kind = {}
    for path in sorted(sources):
        if not LIBRARY.match(path) or (lines is not None and path not in lines):
            continue
        text = sources[path].decode()
        for kind, begin, end, new in places(blank(text)):
            if lines is None or text.count('\n', 0, begin) + 1 in lines[path]:
                by_kind.setdefault(kind, []).append((path, text, kind, begin, end, new))
    chance = random.Random(seed)
    for kind in sorted(by_kind):
        chance.shuffle(by_kind[kind])
    while by_kind:
        kind = chance.choice(sorted(by_kind))
        fault = Fault(*by_kind[kind].pop())
        if not by_kind[kind]:
            del by_kind[kind]
        if (fault.path, fault.content) not in known:
            yield fault
