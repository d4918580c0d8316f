"""orrery-mcp: tools with the program's schemas, confined to a folder, reading only."""

import asyncio
import json
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path

try:
    from mcp import Client, StdioServerParameters

    from orrery import mcp as server
except ImportError as error:
    if (error.name or "").split(".")[0] not in ("mcp", "mcp_types"):
        raise
    raise unittest.SkipTest("the MCP SDK (mcp, version 2) is not installed: orrery-mcp is not tested")

from orrery._call import call
from orrery.verbs import options

DRAM = """\
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8}}
  - !Component {name: buffer, class: SRAM, attributes: {depth: 512, width: 64, datawidth: 8}}
  - !Component {name: mac, class: intmac, attributes: {multiplier_width: 8, adder_width: 16}}
variables: {version: 0.4, technology: "45nm", global_cycle_seconds: 1e-9}
"""


class Server(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        self.root = Path(folder.name).resolve() / "root"
        self.root.mkdir()
        (self.root / "chip.yaml").write_text(DRAM)
        (self.root.parent / "outside.yaml").write_text(DRAM)
        (self.root / "link.yaml").symlink_to(self.root.parent / "outside.yaml")

    def session(self, talk, time_limit=30.0):
        async def run():
            async with Client(server.server(self.root, time_limit)) as client:
                return await talk(client)

        return asyncio.run(run())

    def ask(self, tool, time_limit=30.0, **arguments):
        """The client holds answers against the tool's output schema."""
        return self.session(lambda client: client.call_tool(tool, arguments), time_limit)

    def test_lists_tools_with_the_programs_schemas(self):
        tools = self.session(lambda client: client.list_tools()).tools
        self.assertEqual([tool.name for tool in tools], ["map", "train", "place", "sweep", "explain", "catalog"])
        for tool in tools:
            self.assertEqual(tool.output_schema, json.loads(call(["schema", tool.name]).out))
            self.assertTrue(tool.annotations.read_only_hint)
            for name in ("output", "force", "html", "svg", "trace", "export", "store", "cacti", "slurm"):
                self.assertNotIn(name, tool.input_schema["properties"])

    def test_withholds_every_option_that_writes(self):
        for tool in ("map", "train", "place", "sweep", "explain", "catalog"):
            for name, option in options(tool).items():
                if option.text.startswith(("Write", "Draw")) or "to this file" in option.text:
                    self.assertIn(name, server._WITHHELD, f"{tool} --{name}: {option.text}")

    def test_answers_are_the_programs_documents(self):
        for tool, arguments, words in (
            ("map", {"chip": "gemmini", "gemm": [64, 64, 64]}, ["map", "--chip", "gemmini", "--gemm", "64,64,64"]),
            ("map", {"files": ["chip.yaml"], "gemm": "8,8,8", "set": {"arch.buffer.depth": 1024}},
             ["map", "chip.yaml", "--gemm", "8,8,8", "--set", "arch.buffer.depth=1024"]),
            ("train", {"model": "gpt3-175b", "system": "a100-selene", "gpus": 1024, "global_batch": 1536, "tp": 8,
                       "pp": 8, "sequence_parallel": True},
             "train --model gpt3-175b --system a100-selene --gpus 1024 --global-batch 1536 --tp 8 --pp 8 "
             "--sequence-parallel".split()),
            ("explain", {"code": ["O1328"]}, ["explain", "O1328"]),
            ("catalog", {"words": ["show", "gemmini"]}, ["catalog", "show", "gemmini"]),
        ):
            with self.subTest(tool=tool, arguments=arguments):
                answer = self.ask(tool, **arguments)
                self.assertFalse(answer.is_error, answer.content)
                expected = json.loads(call([*words, "--json"]).out)
                for document in (answer.structured_content, expected):
                    remove_times(document)
                self.assertEqual(answer.structured_content, expected)

    def test_places_and_sweeps(self):
        answer = self.ask("place", model="llama3-8b", system="dgx-h100", gpus=8, global_batch=16)
        self.assertEqual(answer.structured_content["schema"].split("/")[0], "orrery.place")
        answer = self.ask("sweep", verb="map", chip="gemmini", gemm=[64, 64, 64],
                          vary={"arch.Scratchpad.depth": [4096, 8192]})
        self.assertFalse(answer.is_error, answer.content)
        self.assertEqual(answer.structured_content["schema"].split("/")[0], "orrery.sweep")
        self.assertNotIn("--store", answer.structured_content["command"])

    def test_leaves_nothing_behind(self):
        before = sorted(os.listdir(self.root))
        self.test_places_and_sweeps()
        self.assertEqual(sorted(os.listdir(self.root)), before)

    def refused(self, expected, tool, **arguments):
        answer = self.ask(tool, **arguments)
        self.assertTrue(answer.is_error, arguments)
        self.assertRegex(answer.content[0].text, expected)

    def test_reads_nothing_outside_its_folder(self):
        outside = str(self.root.parent / "outside.yaml")
        for arguments in (
            {"files": [outside]},
            {"files": ["../outside.yaml"]},
            {"files": ["chip.yaml", "link.yaml"]},
            {"files": [".."]},
            {"files": ["chip.yaml"], "include": ["/etc"]},
            {"files": ["chip.yaml"], "set": {"problem.file": "/etc/passwd"}},
            {"chip": outside},
            {"chip": "gemmini", "model": "../outside.yaml"},
        ):
            with self.subTest(arguments=arguments):
                self.refused("is outside", "map", **arguments)
        self.refused("is outside", "train", plans="-")
        self.refused("is outside", "sweep", vary={"chip": [outside, "gemmini"]})

    def test_makes_no_command_of_its_own(self):
        self.refused("has no options", "map", files=["--output", "here"])
        self.refused("the option `output` writes", "map", chip="gemmini", output="here")
        self.refused("the option `chp` is not known", "map", chp="gemmini")
        self.refused("verb is one of map, train, place, not 'tune'", "sweep", verb="tune")
        self.refused("True or False is expected", "map", chip="gemmini", certify="yes")
        answer = self.ask("map", chip="--output=here", gemm="8,8,8")
        self.assertTrue(answer.is_error)
        self.assertEqual(sorted(os.listdir(self.root)), ["chip.yaml", "link.yaml"])

    def test_refusals_have_codes_and_help(self):
        answer = self.ask("map", chip="gemini", gemm="8,8,8")
        self.assertTrue(answer.is_error)
        found = json.loads(answer.content[0].text)["diagnostics"][0]
        self.assertEqual(found["code"], "O1111")
        self.assertIn("gemmini", "".join(found["hints"]))

    def test_ends_a_call_at_the_time_limit(self):
        begun = time.monotonic()
        answer = self.ask("map", time_limit=1.0, chip="eyeriss", gemm="7000,1440,4224", certify=True)
        self.assertLess(time.monotonic() - begun, 20)
        self.assertTrue(answer.content)

    def test_speaks_on_standard_input_and_output(self):
        command = StdioServerParameters(
            command=sys.executable,
            args=["-m", "orrery.mcp", "--root", str(self.root), "--time-limit", "20"],
            env=dict(os.environ),
        )

        async def run():
            async with Client(command) as client:
                return await client.call_tool("explain", {"code": ["O0710"]})

        self.assertEqual(asyncio.run(run()).structured_content["schema"].split("/")[0], "orrery.explain")

    def test_is_given_a_folder_and_a_time(self):
        with self.assertRaises(NotADirectoryError):
            server.server(self.root / "chip.yaml")
        with self.assertRaises(FileNotFoundError):
            server.server(self.root / "absent")
        with self.assertRaisesRegex(ValueError, "above 0, not 0"):
            server.server(self.root, 0)


def remove_times(value):
    """Takes away how long a search took, which differs between runs, and how the command was spelled."""
    if isinstance(value, dict):
        value.pop("command", None)
        if isinstance(value.get("certificate"), dict):
            value["certificate"].pop("seconds", None)
        value.pop("timing", None)
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        remove_times(each)


if __name__ == "__main__":
    unittest.main()
