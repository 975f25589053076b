"""Holds the libraries to one namespace per module, by their symbols.

    python3 tests/architecture/symbols_test.py FOLDER_OF_THE_BUILD
"""

import collections
import pathlib
import re
import subprocess
import sys
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else pathlib.Path("build/dev")


def symbols(library):
    """[(type, demangled name)] of what a static library defines."""
    text = subprocess.run(["nm", "--demangle", "--defined-only", "--format=posix", library], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=True).stdout
    for line in text.splitlines():
        found = re.match(r"(.*?) ([A-Za-z])(?: [0-9a-f]+)*\s*$", line)
        if found:
            yield found.group(2), found.group(1)


def namespace_of(module):
    return "shardkit" if module == "core" else f"shardkit::{module}"


def strangers(module, found):
    """Strong symbols of our own that lie outside the module's namespace."""
    own = namespace_of(module) + "::"
    for kind, name in found:
        if kind in "TDBR" and "shardkit::" in name:
            scope = re.sub(r"^(vtable|typeinfo|typeinfo name|guard variable|construction vtable) for ", "", name)
            scope = re.search(r"shardkit::[\w:]+", scope).group(0)
            if not scope.startswith(own):
                yield name


def classes(found):
    """{(namespace, class)} by constructors and virtual tables, those without a namespace of their own too."""
    for _, name in found:
        for pattern in (r"^shardkit::(\w+)::(?:\(anonymous namespace\)::)?([A-Z]\w*)::\2\(",
                        r"^vtable for shardkit::(\w+)::(?:\(anonymous namespace\)::)?([A-Z]\w*)$"):
            match = re.match(pattern, name)
            if match:
                yield match.groups()


class Libraries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.found = {}
        for library in sorted(BUILD.glob("lib/*/libshardkit_*.a")) + sorted(BUILD.glob("apps/libshardkit_apps.a")):
            module = library.stem.removeprefix("libshardkit_")
            cls.found[module] = list(symbols(library))

    def test_are_all_here(self):
        self.assertGreaterEqual(len(self.found), 15, f"libraries in {BUILD}")

    def test_define_nothing_outside_their_namespace(self):
        for module, found in self.found.items():
            with self.subTest(module):
                self.assertEqual(sorted(set(strangers(module, found))), [])

    def test_share_no_name_of_a_class(self):
        homes = collections.defaultdict(set)
        for found in self.found.values():
            for namespace, name in classes(found):
                homes[name].add(namespace)
        self.assertEqual({name: sorted(where) for name, where in homes.items() if len(where) > 1}, {})


class TheCheckItself(unittest.TestCase):
    def test_finds_what_lies_outside(self):
        self.assertEqual(list(strangers("io", [("T", "shardkit::net::get()"), ("T", "shardkit::io::read()"),
                                               ("W", "shardkit::Error::~Error()"), ("T", "std::sort()")])),
                         ["shardkit::net::get()"])

    def test_finds_classes_of_one_name(self):
        self.assertEqual(set(classes([("T", "shardkit::io::File::File(int)"),
                                      ("V", "vtable for shardkit::net::(anonymous namespace)::File"),
                                      ("T", "shardkit::io::File::read()")])),
                         {("io", "File"), ("net", "File")})


if __name__ == "__main__":
    unittest.main()
