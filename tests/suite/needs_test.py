"""A skip cannot hide: what tests call is installed by scripts/install-deps, or is optional for a reason; and a test that skips
without what is optional is allowed to."""

import ast
import functools
import importlib.machinery
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
sys.path[:0] = [str(TESTS / "cli/support"), str(TESTS / "docs")]
import needs  # noqa: E402
import pages  # noqa: E402

checker = importlib.machinery.SourceFileLoader("check_tests", str(ROOT / "scripts/check-tests")).load_module()

STARTS = {"run", "Popen", "check_output", "check_call", "call", "program", "programs", "spawn", "_run", "_spawn"}
STARTERS = {"env", "unshare", "nice", "timeout", "setpriv", "prlimit", "taskset", "sudo"}
# What a pattern for programs in a line of shell finds besides.
WORDS = set("case do done elif else esac fi for function if in select then until while".split())
# Debian's own first: python3 may have another in PATH, which no package owns.
PATH = f"/usr/bin:/bin:/usr/sbin:/sbin:{needs.PATH}"


def words(node):
    """The constant strings at the start of a list or of arguments."""
    for element in node:
        if not (isinstance(element, ast.Constant) and isinstance(element.value, str)):
            return
        yield element.value


def called_by_python(path):
    """Names of programs that a test starts: the first of a list given to subprocess, and those behind env and its like."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name not in STARTS:
            continue
        first = node.args[0]
        if isinstance(first, (ast.List, ast.Tuple)):
            command = list(words(first.elts))
        elif name in ("programs", "program", "spawn", "_run", "_spawn"):
            command = list(words(node.args))[:None if name == "programs" else 1]
        else:
            continue
        if command[:2] in (["sh", "-c"], ["bash", "-c"]) and len(command) > 2:
            yield from called_by_shell(command[2])
        yield from command if name == "programs" else command[:1]
        if command and command[0] in STARTERS:
            yield from [word for word in command[1:] if re.fullmatch(r"[a-z][\w.-]*", word)][:1]


def called_by_shell(text):
    """Words where a line of shell has a command."""
    text = re.sub(r"<<-?\s*'?(\w+)'?.*?^\s*\1$", "", text, flags=re.S | re.M)
    text = re.sub(r"'[^']*'|\\\n", " ", text)
    for word in re.findall(r"(?:^|[|;&(]|\bdo\b|\bthen\b|\belse\b)[ \t]*(?:\w+=\S*[ \t]+)*([a-z][\w.-]*)(?=[ \t\n]|$)", text, re.M):
        if word not in WORDS:
            yield word


def called_by_cpp(path):
    for text in re.findall(r'(?:run_shell|output_of|command_works)\("((?:[^"\\]|\\.)*)"', path.read_text()):
        yield from called_by_shell(text)


def called_by_pages():
    for path in pages.markdown_files():
        for block in pages.parse(path, ROOT).blocks:
            if block.language in ("sh", "bash") and (block.tag in ("run", "setup") or block.stand_in in ("radosgw", "slurm")):
                yield path, list(called_by_shell(block.text))


@functools.cache
def packages():
    """What scripts/install-deps installs for the tests, with all that it depends on, and what every Debian has."""
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Package}\t${Essential}\t${Depends}, ${Pre-Depends}\t${Provides}\n"],
                           capture_output=True, text=True, check=True).stdout
    depends, providers, due = {}, {}, []
    for line in shown.splitlines():
        name, essential, needed, provided = line.split("\t")
        depends[name] = re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]*)", needed)
        for virtual in re.findall(r"(?:^|,)\s*([a-z0-9][a-z0-9+.-]*)", provided):
            providers.setdefault(virtual, []).append(name)
        due += [name] if essential == "yes" else []
    for option in ("--test", "--all", "--release", "--aarch64"):
        due += subprocess.run([ROOT / "scripts/install-deps", option, "--list"], capture_output=True, text=True,
                              check=True).stdout.split()
    found = set()
    while due:
        name = due.pop()
        if name not in found:
            found.add(name)
            due += depends.get(name, []) + providers.get(name, [])
    return found


def owners(paths):
    """{path: the package that a program comes from, None if it comes from none}"""
    real = {path: os.path.realpath(path) for path in paths}
    names = {name for path in real.values() for name in (path, path.removeprefix("/usr"))}
    shown = subprocess.run(["dpkg", "-S", *sorted(names)], capture_output=True, text=True).stdout
    found = {name: package for package, name in re.findall(r"^([^:, ]+)[^:]*(?::\w+)?: (/.*)$", shown, re.M)}
    return {path: found.get(name) or found.get(name.removeprefix("/usr")) for path, name in real.items()}


class Needs(unittest.TestCase):
    def test_each_program_that_a_test_calls_is_installed_by_install_deps_or_optional(self):
        callers = {}
        for path in sorted([*TESTS.rglob("*.py"), *TESTS.rglob("*.cpp")]):
            for name in called_by_python(path) if path.suffix == ".py" else called_by_cpp(path):
                callers.setdefault(name, set()).add(str(path.relative_to(ROOT)))
        for path, names in called_by_pages():
            for name in names:
                callers.setdefault(name, set()).add(str(path.relative_to(ROOT)))
        self.assertLessEqual({"strace", "radosgw", "sbatch", "openssl", "tar", "unshare"}, set(callers))
        # Names that this machine does not know are those of fakes, verbs and functions; a real one fails when it runs.
        paths = {name: path for name in callers if (path := shutil.which(name, path=PATH)) and name not in needs.OPTIONAL}
        package = owners(paths.values())
        wrong = {name: (package[path], sorted(callers[name])) for name, path in paths.items() if package[path] not in packages()}
        self.assertEqual(wrong, {})

    def test_tests_look_for_programs_and_packages_in_one_place(self):
        for path in sorted(TESTS.rglob("*.py")):
            if path.name not in ("needs.py", "needs_test.py"):
                self.assertNotRegex(path.read_text(), r"\bshutil\.which\(|\bfind_spec\(", path)

    def test_what_has_to_be_there_is_a_failure_and_what_is_optional_is_not(self):
        def found(expression, hidden):
            return subprocess.run([sys.executable, "-c", f"import needs; print({expression})"], capture_output=True, text=True,
                                  env={**os.environ, "SHARDKIT_HIDE_PROGRAMS": hidden, "PYTHONPATH": str(TESTS / "cli/support")})
        self.assertEqual(found("needs.program('sh')", "1").returncode, 0)
        for expression in ("needs.program('sh')", "needs.programs('ls', 'sh')", "needs.files('x', 'no/such')"):
            done = found(expression, "all")
            self.assertEqual(done.returncode, 1)
            self.assertIn("FAILED: ", done.stderr)
            self.assertIn("scripts/install-deps --test", done.stderr)
        self.assertEqual(found("needs.optional('kubectl')", "1").stdout, "None\n")
        self.assertIn("not in OPTIONAL", found("needs.optional('strace')", "1").stderr)

    def test_without_what_is_optional_tests_skip_for_allowed_reasons(self):
        """All of it hidden, each test that asks for it is run."""
        allowed = checker.read_table(checker.SUITE / "allowed-skips", "|")
        scripts = [path for path in TESTS.rglob("*_test.py") if "needs.optional(" in path.read_text() and path.name != "needs_test.py"]
        names = dict(re.findall(r"_test\((\w+) (\w+_test\.py)", (TESTS / "samples/CMakeLists.txt").read_text()))
        names = {script: name for name, script in names.items()}
        self.assertEqual(len(scripts), len(needs.OPTIONAL))
        for path in scripts:
            with tempfile.TemporaryDirectory() as programs:
                done = subprocess.run([sys.executable, path, "-v"], capture_output=True, text=True, timeout=120,
                                      env={**os.environ, "SHARDKIT_HIDE_PROGRAMS": "1", "SHARDKIT_PROGRAMS": programs})
            self.assertEqual(done.returncode, 77, done.stdout + done.stderr)
            skips = checker.skips_of(done.stdout + done.stderr)
            self.assertEqual(len(skips), 1, done.stdout + done.stderr)
            self.assertTrue(checker.is_allowed(names[path.name], skips[0][1], allowed), skips)

    def test_a_new_need_is_noticed(self):
        with tempfile.TemporaryDirectory() as folder:
            test = pathlib.Path(folder) / "new_test.py"
            test.write_text("import subprocess\nsubprocess.run(['env', 'X=1', 'frob', 'x'])\nneeds.programs('a', 'b')\n"
                            "subprocess.check_output(['sh', '-c', 'cat x | jq . && (curl y)'])\n")
            self.assertEqual(sorted(called_by_python(test)), ["a", "b", "cat", "curl", "env", "frob", "jq", "sh"])
            test = pathlib.Path(folder) / "new_test.cpp"
            test.write_text('REQUIRE(command_works("bsdtar --version | grep -q x"));')
            self.assertEqual(list(called_by_cpp(test)), ["bsdtar", "grep"])
            program = pathlib.Path(folder) / "frob"
            program.touch()
            self.assertEqual(owners([str(program)]), {str(program): None})
        found = owners([shutil.which(name, path=PATH) for name in ("sh", "nginx", "cc", "tar")])
        self.assertLessEqual(set(found.values()), packages())


if __name__ == "__main__":
    unittest.main()
