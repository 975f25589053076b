"""Holds the sources to docs/dev/architecture.md: who may include whom, who may print, who knows which library.

    python3 tests/architecture/architecture_test.py
"""

import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What only the named files may hold: the library prints nothing, never ends the process, and does not ask the
# preprocessor for CUDA, because CMake chooses the sources.
FORBIDDEN = {
    r"std::(cout|cerr|clog)\b": {"lib/cli/app.cpp"},
    r"\b(printf|fprintf|puts|perror|fmt::print)\s*\(": set(),
    r"(?m)^\s*#\s*(el)?if[^\n]*CUDA": set(),
    r"(?<![\w.>])(std::)?(exit|_exit|_Exit|quick_exit|abort|terminate)\s*\(": {"lib/cli/signal_watch.cpp"},
}

# A library that only the named files, or those of a room, may include.
LIBRARIES = {
    r"CLI/.*": {"lib/cli/parse.cpp"},
    r"archive.*\.h": {"lib/catalog/unpacked_stream.cpp"},
    r"curl/.*": {"lib/net/http_client.cpp", "lib/net/transfer_error.cpp"},
    r"pugixml\.hpp": {"lib/net/aws_xml.cpp"},
    r"cuda.*|cufile\.h|nvjpeg\.h|nvml\.h|nvtx3/.*": "lib/gpu",
    r"nlohmann/json\.hpp": "any .cpp",
}


def allowed_edges(architecture):
    """Reads the ```layers block: {room: every room it may use, directly or through others}."""
    block = re.search(r"```layers\n(.*?)```", architecture, re.S).group(1)
    direct = {}
    for line in block.splitlines():
        room, _, uses = line.partition(":")
        direct[room.strip()] = uses.split()

    def closure(room):
        return set().union(*({used} | closure(used) for used in direct[room]))

    return {room: closure(room) for room in direct}


def inner_levels(architecture):
    """Reads the ```inner block: {"bench/read": (level, place in its level)}, and the names of the lowest levels.

    A folder may include those of lower levels of its room, on the lowest level ("ground") those listed before it, on
    higher levels never one beside it.
    """
    block = re.search(r"```inner\n(.*?)```", architecture, re.S)
    levels = {}
    counts = {}
    for line in block.group(1).splitlines() if block else []:
        room, _, folders = line.partition(":")
        room = room.split()[0]
        level = counts[room] = counts.get(room, -1) + 1
        for place, folder in enumerate(folders.split()):
            levels[f"{room}/{folder}"] = (level, place)
    return levels


def inner_faults(path, text, levels):
    parts = path.parts
    if parts[0] != "lib" or len(parts) < 4 or not any(known.startswith(parts[1] + "/") for known in levels):
        return
    folder = f"{parts[1]}/{parts[2]}"
    if folder not in levels:
        yield f"{path}: docs/dev/architecture.md does not know the folder {folder}"
        return
    level, place = levels[folder]
    for header in re.findall(r'#include "([^"]+)"', text):
        target = "/".join(header.split("/")[:2])
        if target == folder or target not in levels:
            continue
        of_level, of_place = levels[target]
        if of_level > level or (of_level == level and (level > 0 or of_place > place)):
            yield f"{path}: includes {header}, but {folder} may not use {target}"


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def without_strings(text):
    return re.sub(r'"(\\.|[^"\\\n])*"', '""', text)


def sources(root):
    for top in ("lib", "apps"):
        yield from sorted(p for p in (root / top).rglob("*") if p.suffix in (".cpp", ".hpp", ".cu"))


def room_of(path):
    return path.parts[1] if path.parts[0] == "lib" else "apps"


def include_faults(path, text, edges):
    room = room_of(path)
    if room not in edges:
        yield f"{path}: docs/dev/architecture.md does not know the room {room}"
        return
    for header in re.findall(r'#include "([^"]+)"', text):
        if "/" not in header:  # beside it, as programs have them
            continue
        target = header.split("/")[0]
        if target in ("shardctl", "iobench"):
            target = "apps"
        if target != room and target not in edges[room]:
            yield f"{path}: includes {header}, but {room} may not use {target}"


def library_faults(path, text):
    for header in re.findall(r"#include <([^>]+)>", text):
        for pattern, where in LIBRARIES.items():
            if not re.fullmatch(pattern, header):
                continue
            if where == "any .cpp":
                fits = path.suffix == ".cpp"
            elif isinstance(where, str):
                fits = path.as_posix().startswith(where + "/")
            else:
                fits = path.as_posix() in where
            if not fits:
                yield f"{path}: may not include <{header}>"


def forbidden_faults(path, text):
    if path.parts[0] != "lib":
        return
    code = without_strings(text)
    for pattern, where in FORBIDDEN.items():
        found = re.search(pattern, code)
        if found and path.as_posix() not in where:
            yield f"{path}: {found.group(0)} may not stand here (see FORBIDDEN in {pathlib.Path(__file__).name})"


def remedy_faults(path, text):
    """Messages that offer to delete files by hand: what is ours has a command that knows which of it may go."""
    for literal in re.findall(r'"(?:[^"\\\n]|\\.)*"', text):
        if re.search(r"(?<!cache )\brm (-|\{|')", literal):
            yield f"{path}: {literal} offers rm"


def link_faults(root, edges):
    for cmake in sorted((root / "lib").glob("*/CMakeLists.txt")):
        room = cmake.parent.name
        uses = re.search(r"DEPENDS([^)]*?)(LINKS|\))", cmake.read_text(), re.S)
        for target in uses.group(1).split() if uses else []:
            if target not in edges.get(room, set()):
                yield f"lib/{room}/CMakeLists.txt: links {target}, but {room} may not use {target}"


def own_names(text):
    """What a source defines in its unnamed namespaces: {name: what a second definition has to differ in}.

    A name is that of a constant, a type, an alias, or a function with the types of its parameters.
    """
    names = {}
    for block in re.findall(r"^namespace \{\n(.*?)^\}  // namespace$", text, re.S | re.M):
        block = without_comments(block)
        for name in re.findall(r"^constexpr [^=;{(]*?\b(k[A-Z]\w*)", block, re.M):
            names[name] = None
        for name in re.findall(r"^(?:struct|class|enum(?: class)?) (\w+)[^;{]*\{", block, re.M):
            names[name] = None
        for name, meaning in re.findall(r"^using (\w+) = ([^;]+);", block, re.M):
            names[name] = meaning  # the same alias may stand in several sources
        for name, parameters in re.findall(r"^[\w:\[][^=;{}()]*?\b(\w+)\(([^{};]*?)\)(?: const)? \{", block, re.M):
            types = re.sub(r"\s*\b\w+\s*(=[^,]*)?(?=,|$)", "", re.sub(r"\s+", " ", parameters))
            names[f"{name}({types})"] = None
    return names


def name_faults(root):
    """The sources of a room are compiled together in a unity build: their unnamed namespaces are one."""
    owners = {}
    for file in sources(root):
        path = file.relative_to(root)
        if path.suffix != ".cpp":
            continue
        for name, meaning in own_names(file.read_text()).items():
            owner, known = owners.setdefault((room_of(path), name), (path, meaning))
            if owner != path and (meaning is None or meaning != known):
                yield f"{path}: {owner} has another {name}; a unity build needs two names, or one in a header"


def faults(root):
    architecture = (root / "docs/dev/architecture.md").read_text()
    edges = allowed_edges(architecture)
    levels = inner_levels(architecture)
    found = [*link_faults(root, edges), *name_faults(root)]
    for file in sources(root):
        path = file.relative_to(root)
        text = without_comments(file.read_text())
        found += include_faults(path, text, edges)
        found += inner_faults(path, text, levels)
        found += library_faults(path, text)
        found += forbidden_faults(path, text)
        found += remedy_faults(path, text)
    return found


class ThisRepository(unittest.TestCase):
    def test_keeps_its_architecture(self):
        self.assertEqual(faults(ROOT), [])

    def test_draws_every_room(self):
        edges = allowed_edges((ROOT / "docs/dev/architecture.md").read_text())
        rooms = {p.name for p in (ROOT / "lib").iterdir() if any(p.glob("*.?pp"))}
        self.assertEqual(rooms - set(edges), set())


    def test_names_only_files_that_are_there(self):
        page = (ROOT / "docs/dev/architecture.md").read_text()
        named = set(re.findall(r"`((?:lib|apps|tests|docs)/[\w./-]+)`", page))
        examples = {"lib/dataset/x/x.hpp", "lib/bench/x/", "apps/shardctl/x.cpp", "tests/dataset/x/", "tests/cli/x/"}
        self.assertEqual({name for name in named - examples if not (ROOT / name).exists()}, set())

    def test_comments_name_only_headers_that_are_there(self):
        sources = [path for folder in ("lib", "apps", "tests") for path in (ROOT / folder).rglob("*.?pp")]
        headers = [f"/{path.relative_to(ROOT)}" for path in sources]
        comments = re.compile(r"(?<!:)//.*")
        missing = {f"{path.relative_to(ROOT)}: {name}" for path in sources for comment in comments.findall(path.read_text())
                   for name in re.findall(r"[\w/]+\.hpp\b", comment) if not any(one.endswith(f"/{name}") for one in headers)}
        self.assertEqual(missing, set())


class TheCheckItself(unittest.TestCase):
    def faults_of(self, path, text):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            (root / "docs/dev").mkdir(parents=True)
            (root / "docs/dev/architecture.md").write_text(
                "```layers\ncore:\nio: core\ncli: io\napps: cli\n```\n"
                "```inner\nio ground: files disks\nio verbs: copy move\n```\n")
            (root / "lib").mkdir()
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            return faults(root)

    def test_passes_what_is_drawn(self):
        self.assertEqual(self.faults_of("lib/cli/a.cpp", '#include "core/a.hpp"\n#include "io/b.hpp"\n'), [])

    def test_finds_an_edge_upwards(self):
        self.assertEqual(len(self.faults_of("lib/core/a.cpp", '#include "io/b.hpp"\n')), 1)

    def test_finds_a_verb_that_uses_another(self):
        self.assertEqual(len(self.faults_of("lib/io/copy/a.cpp", '#include "io/move/b.hpp"\n')), 1)
        self.assertEqual(self.faults_of("lib/io/copy/a.cpp", '#include "io/copy/b.hpp"\n#include "io/disks/c.hpp"\n'), [])

    def test_finds_ground_that_uses_what_stands_above_it(self):
        self.assertEqual(len(self.faults_of("lib/io/files/a.cpp", '#include "io/disks/b.hpp"\n')), 1)
        self.assertEqual(len(self.faults_of("lib/io/disks/a.cpp", '#include "io/copy/b.hpp"\n')), 1)
        self.assertEqual(self.faults_of("lib/io/disks/a.cpp", '#include "io/files/b.hpp"\n'), [])

    def test_finds_an_inner_folder_nobody_drew(self):
        self.assertEqual(len(self.faults_of("lib/io/extra/a.cpp", "int x;\n")), 1)

    def test_finds_a_room_nobody_drew(self):
        self.assertEqual(len(self.faults_of("lib/extra/a.cpp", "int x;\n")), 1)

    def test_finds_a_link_edge_upwards(self):
        self.assertEqual(len(self.faults_of("lib/core/CMakeLists.txt", "shardkit_library(core DEPENDS io)")), 1)

    def test_finds_a_name_that_two_sources_of_a_room_use(self):
        def names(*texts, second="lib/io/b.cpp"):
            with tempfile.TemporaryDirectory() as name:
                root = pathlib.Path(name)
                for path, text in zip(("lib/io/a.cpp", second), texts):
                    (root / path).parent.mkdir(parents=True, exist_ok=True)
                    (root / path).write_text(f"namespace x {{\nnamespace {{\n{text}\n}}  // namespace\n}}\n")
                return len(list(name_faults(root)))

        for text in ("constexpr int kMost = 1;", "constexpr std::array<int, 2> kMost{1, 2};", "struct Row {\n};",
                     "std::string percent(double a) {\n}"):
            self.assertEqual(names(text, text), 1, text)
            self.assertEqual(names(text, text, second="lib/core/b.cpp"), 0, text)
        self.assertEqual(names("int f(double a) {\n}", "int f(double b) {\n}"), 1)
        self.assertEqual(names("int f(double a) {\n}", "int f(int a) {\n}"), 0)
        self.assertEqual(names("using Json = a::json;", "using Json = a::json;"), 0)
        self.assertEqual(names("using Json = a::json;", "using Json = b::json;"), 1)

    def test_finds_output_and_exits_but_not_in_comments_and_texts(self):
        for call in ("std::cout << 1;", 'printf("x");', "exit(1);", "std::abort();", "_exit(2);"):
            self.assertEqual(len(self.faults_of("lib/io/a.cpp", f"void f() {{ {call} }}\n")), 1, call)
        for harmless in ("// exit(1)", 'auto s = "abort() printf(";', "task.exit(1);", "int last_exit(int);", "snprintf(x);"):
            self.assertEqual(self.faults_of("lib/io/a.cpp", harmless + "\n"), [], harmless)
        self.assertEqual(len(self.faults_of("lib/io/a.cpp", "#ifdef SHARDKIT_CUDA\n#endif\n")), 1)

    def test_finds_messages_that_offer_rm(self):
        for text in ("discard it: `rm {}`", "rm -r {}", "first run rm 'a'"):
            self.assertEqual(len(self.faults_of("lib/io/a.cpp", f'throw Error("{text}");\n')), 1, text)
        for text in ("shardctl cache rm {}", "the firm {}", "rm is a program"):
            self.assertEqual(self.faults_of("lib/io/a.cpp", f'throw Error("{text}");\n'), [], text)

    def test_finds_libraries_out_of_their_place(self):
        self.assertEqual(len(self.faults_of("lib/cli/a.cpp", "#include <CLI/CLI.hpp>\n")), 1)
        self.assertEqual(self.faults_of("lib/cli/parse.cpp", "#include <CLI/CLI.hpp>\n"), [])
        self.assertEqual(len(self.faults_of("lib/io/a.hpp", "#include <nlohmann/json.hpp>\n")), 1)
        self.assertEqual(self.faults_of("lib/io/a.cpp", "#include <nlohmann/json.hpp>\n"), [])
        self.assertEqual(len(self.faults_of("lib/io/a.cpp", "#include <cuda_runtime_api.h>\n")), 1)


if __name__ == "__main__":
    unittest.main()
