"""The Markdown pages of the repository as the tests of documents see them: their blocks, and how each is tested.

A command block says after its language how it is tested:

    ```sh run                      runs in every test, in the page's scratch folder; `exit=3` if it ends with that code
    ```sh run exit=3,1             chance decides the code: 3, for which the page shows the output, or 1
    ```sh stand-in=radosgw         runs where the stand-in is installed: radosgw, slurm; `schema` checks a Kubernetes object
    ```python heavy file=train.py  runs where torch is installed; `file=` writes the block to a file for the next command
    ```sh not-run (needs a GPU)    is only parsed, for the reason given

The block ```text output right after it is its output. An HTML comment prepares what a reader has already:

    <!-- setup
    photos imagenet/train
    -->
    <!-- paths: /data /shared -->  these folders are in the scratch folder
"""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
TAGS = ("run", "stand-in", "heavy", "not-run")
STAND_INS = ("radosgw", "slurm", "schema")
COMMANDS = {"sh", "bash", "console", "shell", "python", "yaml"}  # languages whose blocks need a tag
DATA = {"text", "json", "cpp", "layers", "inner", "csv"}         # others that need none

FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,})(?P<info>[^`\n]*)\n(?P<text>.*?)^ {0,3}(?P=fence)[ \t]*$", re.S | re.M)
COMMENT = re.compile(r"^<!-- (?P<kind>setup|paths:)(?P<text>.*?)-->[ \t]*$", re.S | re.M)
ANY_COMMENT = re.compile(r"<!--.*?-->", re.S)


class BadPage(Exception):
    """A page that breaks the rules above; the text starts with PAGE:LINE."""


@dataclasses.dataclass
class Block:
    place: str          # PAGE:LINE
    language: str
    text: str
    tag: str = ""       # one of TAGS, or "setup"
    stand_in: str = ""
    exit_codes: tuple = (0,)  # the shown output is that of the first
    file: str = ""
    output: str = None  # what the page shows, None without


@dataclasses.dataclass
class Page:
    path: pathlib.Path
    blocks: list
    paths: list         # absolute folders of the commands that are in the scratch folder


def markdown_files(root=ROOT):
    """README, CONTRIBUTING, docs and samples."""
    files = [path for name in ("docs", "samples") for path in (root / name).rglob("*.md")]
    return sorted(files + [path for path in root.glob("*.md") if path.name != "CHANGELOG.md"])


def parse_info(place, info, text):
    language, _, rest = info.strip().partition(" ")
    rest, _, reason = rest.partition("(")
    words = rest.split()
    block = Block(place, language, text)
    if words == ["output"]:
        block.tag = "output"
        return block
    if not language:
        raise BadPage(f"{place}: a block without a language; text, or a command and its tag")
    if language not in COMMANDS | DATA:
        raise BadPage(f"{place}: unknown language '{language}'")
    for word in words:
        name, _, value = word.partition("=")
        if name in TAGS and not block.tag:
            block.tag, block.stand_in = name, value
        elif name == "exit" and re.fullmatch(r"\d+(,\d+)*", value):
            block.exit_codes = tuple(map(int, value.split(",")))
        elif name == "file" and value:
            block.file = value
        else:
            raise BadPage(f"{place}: unknown word '{word}' after ```{language}")
    if language in COMMANDS and not block.tag:
        raise BadPage(f"{place}: no tag; one of {', '.join(TAGS)}")
    if (block.tag == "stand-in") != (block.stand_in in STAND_INS) or (block.stand_in and block.tag != "stand-in"):
        raise BadPage(f"{place}: stand-in is one of {', '.join(STAND_INS)}")
    if (block.tag == "not-run") != bool(reason.rstrip(") ")):
        raise BadPage(f"{place}: not-run needs a reason in parentheses, other tags have none")
    return block


def parse(path, root=ROOT):
    """The page; raises BadPage."""
    source = path.read_text()
    name = path.relative_to(root)
    found = [(match.start(), match) for match in (*FENCE.finditer(source), *COMMENT.finditer(source))]
    blocks, paths, end = [], [], 0
    for start, match in sorted(found, key=lambda pair: pair[0]):
        if start < end:  # a fence within a comment
            continue
        place = f"{name}:{source.count(chr(10), 0, start) + 1}"
        if match.re is COMMENT:
            if match["kind"] == "paths:":
                paths += match["text"].split()
            else:
                head, _, text = match["text"].partition("\n")
                blocks.append(Block(place, "sh", text, "setup", head.strip().removeprefix("stand-in=")))
        else:
            block = parse_info(place, match["info"], match["text"])
            if block.tag != "output":
                blocks.append(block)
            elif not blocks or blocks[-1].tag == "setup" or source[end:start].strip():
                raise BadPage(f"{place}: output without a command right before it")
            else:
                blocks[-1].output = match["text"]
        end = match.end()
    for number, line in enumerate(prose(source).splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            raise BadPage(f"{name}:{number}: this block is not closed, or not written with ``` at the margin")
        if re.match(r" {4,}(\$ |#|shardctl |iobench |sudo |python)", line):
            raise BadPage(f"{name}:{number}: commands are in fences")
    return Page(path, blocks, paths)


def prose(source):
    """The page without blocks and comments, with as many lines."""
    def blank(match):
        return "\n" * match[0].count("\n")
    return ANY_COMMENT.sub(blank, FENCE.sub(blank, source))


def inline_commands(page):
    """(place, command) of `shardctl VERB ...` and `iobench VERB ...` in the text."""
    source = prose(page.path.read_text())
    for match in re.finditer(r"`((?:shardctl|iobench) [^`]+)`", source):
        yield f"{page.path.name}:{source.count(chr(10), 0, match.start()) + 1}", " ".join(match[1].split())
