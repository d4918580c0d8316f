"""The README's examples and each verb's own, asked from Python: the same words, the same document."""

import glob
import os
import re
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

import orrery as o
from orrery import verbs
from orrery._call import PROGRAM, _orrery

ROOT = Path(__file__).resolve().parents[2]

#: Figures of these are measured, no two runs have the same: their words are compared alone.
MEASURED = [["tune", "run"], ["tune", "bench"], ["sparse", "break-even"], ["sparse", "bench"], ["doctor"]]



def readme() -> list[str]:
    """Command lines of the README's blocks, with its variables in their places."""
    found, variables = [], {}
    for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines():
        if said := re.match(r'\$ (\w+)="([^"]*)"$', line):
            variables["$" + said[1]] = said[2]
        elif line.startswith("$ orrery "):
            for name, value in variables.items():
                line = line.replace(name, value)
            found.append(re.split(r"\s(?:2?>|\||;)|;", line[2:])[0])
    return found


def verb_of(words: list[str]) -> list[str]:
    """`tune run`, `map`."""
    both = words[:2]
    inner = len(both) > 1 and words[0] in ("tune", "sparse") and both[1] in _orrery.describe(words[:1])["subverbs"]
    return both if inner else words[:1]


def in_long(verb: list[str], words: list[str]) -> list[str]:
    """The same with `-o` as `--output`."""
    names = {name: each["names"][-1] for each in _orrery.describe(verb)["options"] for name in each["names"]}
    return [names.get(word, word) if len(word) == 2 else word for word in words]


def asked(words: list[str]) -> tuple[list[str], list[str], dict[str, object]]:
    """A command line as a call: the verb, positional arguments and keywords."""
    verb = verb_of(words)
    rest, positional, keywords = words[len(verb) :], [], {}
    known = verbs._known(verb, rest)
    at = 0
    while at < len(rest):
        word, at = rest[at], at + 1
        if not word.startswith("-"):
            positional.append(word)
            continue
        flag, _, value = word.partition("=")
        name, option = next((each for each in known.items() if each[1].flag == flag), (flag, None))
        if option is None:
            raise ValueError(f"{word} of {words} is none of {list(known)}")
        if not option.type or (not value and rest[at : at + 1] and rest[at].startswith("--")):
            keywords[name] = True  # a flag, or an option whose value may be left out
            continue
        if not value:
            value, at = rest[at], at + 1
        before = keywords.get(name)
        keywords[name] = value if before is None else [*(before if isinstance(before, list) else [before]), value]
    return verb, positional, keywords


def ask(verb: list[str], positional: list[str], keywords: dict[str, object]):
    function = getattr(o, verb[0])
    for each in verb[1:]:
        function = getattr(function, each.replace("-", "_"))
    return function(*positional, **keywords)


def without_times(text: str) -> str:
    """A document byte for byte but for seconds that were measured."""
    text = re.sub(r'("seconds": )[-+.e\d]+', r"\1_", text)
    return re.sub(r'("timing": )\{[^{}]*\}', r"\1_", text)


class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        self.folder = Path(folder.name)

    def place(self, inside: str) -> Path:
        """A folder in which the examples are; those of `check` stand in examples/gemmini."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        (folder / "examples").symlink_to(ROOT / "examples")
        return folder / inside

    def compare(self, line: str, inside: str = "."):
        os.chdir(self.place(inside))
        words = [path for word in shlex.split(line)[1:] for path in sorted(glob.glob(word)) or [word]]
        words = in_long(verb_of(words), [word for word in words if word != "--json"])
        verb, positional, keywords = asked(words)
        if verb in MEASURED:
            made = verbs._Words(verb)
            known = verbs._known(verb, positional)
            for name, value in keywords.items():
                made.add(name, known[name], value)
            self.assertEqual(made.words, words)
            return
        try:
            here = ask(verb, positional, keywords)
            document, code, given = here.to_json(), here.code, here.words
        except o.InputError as error:
            document, code, given = error.document, 2, None
        json = "--json" if "json" in verbs.options(*verb) else None
        expected = [each for each in [*words, json] if each]
        if given is not None:
            self.assertEqual(sorted(given), sorted(expected))
        os.chdir(self.place(inside))
        done = subprocess.run([PROGRAM, *(given or expected)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(without_times(document), without_times(done.stdout))

    @unittest.skipUnless((ROOT / "README.md").is_file(), "the README is not at hand")
    def test_of_the_readme(self):
        lines = readme()
        self.assertGreater(len(lines), 8)
        for line in lines:
            with self.subTest(line=line):
                self.compare(line, "examples/gemmini" if " check " in line else ".")

    def test_of_every_verb(self):
        questions = [[name, *inner] for name, _ in _orrery.verbs()
                     for inner in ([[each] for each in _orrery.describe([name])["subverbs"]] if name in ("tune", "sparse")
                                   else [[]])]  # fmt: skip
        self.assertGreater(len(questions), 30)
        for question in questions:
            line = _orrery.describe(question)["example"]
            with self.subTest(line=line):
                self.compare(re.split(r" > ", line)[0])


if __name__ == "__main__":
    unittest.main()
