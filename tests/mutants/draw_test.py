# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What draw.py changes, and what it leaves alone."""
import itertools
import unittest

import draw


def shown(code, **options):
    """What the changes of a source with this code look like: (kind, the new lines)."""
    faults = draw.draw({'src/base/it.cpp': code.encode()}, 1, **options)
    return sorted((fault.kind, ''.join(line[1:].strip() for line in fault.shown.splitlines() if line[0] == '+'))
                  for fault in faults)


class Draw(unittest.TestCase):
    def test_a_comparison_moves_its_boundary(self):
        self.assertEqual(shown('  while (a < b)\n'), [('comparison', 'while (a <= b)'), ('condition', 'while (!(a < b))')])
        self.assertEqual(shown('  x = a == b;\n'), [('comparison', 'x = a != b;')])

    def test_a_condition_is_another(self):
        self.assertEqual(shown('  x = a && b;\n'), [('condition', 'x = a || b;')])
        self.assertEqual(shown('  if (empty()) {\n'), [('condition', 'if (!(empty())) {')])

    def test_a_declaration_in_a_condition_is_left_alone(self):
        self.assertEqual(shown('  if (T* x = find()) {\n'), [])

    def test_a_sign_turns(self):
        self.assertEqual(shown('  x += a - b;\n'), [('sign', 'x += a + b;'), ('sign', 'x -= a - b;')])
        self.assertEqual(shown('  ++n;\n'), [('sign', '--n;')])

    def test_a_constant_is_one_more(self):
        self.assertEqual(shown("  x = 63u;\n"), [('constant', 'x = 64u;')])
        self.assertEqual(shown("  x = a1 * 2.5 * 0x10 * 1'000;\n"), [])

    def test_arguments_change_places(self):
        self.assertEqual(shown('  x = f(a, g(b), a);\n'), [('arguments', 'x = f(a, a, g(b));'),
                                                          ('arguments', 'x = f(g(b), a, a);')])
        self.assertEqual(shown('int f(int a, const T& b);\n'), [])

    def test_a_call_is_dropped(self):
        self.assertEqual(shown('{\n  a->b(c);\n'), [('call', ';')])
        self.assertEqual(shown('  x = y +\n      b(c);\n'), [], 'the rest of a statement is none')

    def test_a_result_is_another(self):
        self.assertEqual(shown('  return true;\n'), [('result', 'return false;')])
        self.assertEqual(shown('  return x;\n'), [('result', 'return {};')])

    def test_comments_literals_and_declarations_are_left_alone(self):
        self.assertEqual(shown('// a < b\nx = "a < 1 && b";\n#if A == 1\ntemplate <int n = 3>\n'
                               '  assert(a < b);\n  static_assert(a == b);\n'), [])

    def test_what_takes_the_place_of_a_library_is_left_alone(self):
        sources = dict.fromkeys(['simulation/a.cpp', 'simulation/stream/fake_api.h', 'tests/a.cpp'], b'  x = a < b;\n')
        self.assertEqual(list(draw.draw(sources, 1)), [])

    def test_only_the_lines_that_are_named(self):
        code = '  x = a < b;\n  x = a == b;\n'
        self.assertEqual(shown(code, lines={'src/base/it.cpp': {2}}), [('comparison', 'x = a != b;')])
        self.assertEqual(shown(code, lines={}), [])

    def test_what_is_known_is_left_out(self):
        self.assertEqual(shown('  x = a < b;\n', known={('src/base/it.cpp', b'  x = a <= b;\n')}), [])

    def test_a_seed_draws_the_same_ones_again(self):
        code = {'src/base/it.cpp': b'  x = a < b && c == 1;\n' * 20}
        first, again, other = ([(fault.line, fault.shown) for fault in itertools.islice(draw.draw(code, seed), 10)]
                               for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)


if __name__ == '__main__':
    unittest.main()
