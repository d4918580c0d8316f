"""Verbs as functions, and their answers."""

import concurrent.futures
import json
import multiprocessing
import os
import pickle
import subprocess
import tempfile
import unittest
from pathlib import Path

import orrery as o
from orrery import verbs
from orrery._call import PROGRAM

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def without_times(text: str) -> str:
    """A document without what no two runs have in common."""

    def cleaned(value):
        if isinstance(value, dict):
            return {k: cleaned(v) for k, v in value.items() if k not in ("timing",)} | (
                {"certificate": {k: v for k, v in value["certificate"].items() if k != "seconds"}}
                if isinstance(value.get("certificate"), dict)
                else {}
            )
        return [cleaned(each) for each in value] if isinstance(value, list) else value

    return json.dumps(cleaned(json.loads(text)))


class Verbs(unittest.TestCase):
    def test_every_verb_is_a_function_and_tells_its_arguments(self):
        for name, verb in verbs.functions().items():
            if name not in ("tune", "sparse"):
                self.assertIn("Keyword arguments:", verb.__doc__)
        self.assertIn("Keyword arguments:", o.sweep.__doc__)
        self.assertIn("break_even", o.sparse.__doc__)
        self.assertIn("break_even", dir(o.sparse))
        self.assertIn("threshold", verbs.options("sparse", "measure"))

    def test_documents_are_the_programs(self):
        for words, answer in (
            (["catalog", "--json"], lambda: o.catalog()),
            (["schema", "chip", "--json"], lambda: o.schema("chip")),
            (["map", "--chip", "gemmini", "--model", "bert-large", "--seq", "256", "--json"],
             lambda: o.map(chip="gemmini", model="bert-large", seq=256)),
            (["energy", "--chip", "gemmini", "--json"], lambda: o.energy(chip="gemmini")),
            (["train", "--model", "gpt3-175b", "--system", "a100-selene", "--gpus", "1024", "--global-batch", "1536",
              "--tp", "8", "--pp", "8", "--json"],
             lambda: o.train(model="gpt3-175b", system="a100-selene", gpus=1024, global_batch=1536, tp=8, pp=8)),
            (["place", str(EXAMPLES / "dataflow/gpt3_1t.txt"), "--json"],
             lambda: o.place(o.Setup.from_file(EXAMPLES / "dataflow/gpt3_1t.txt"))),
        ):  # fmt: skip
            program = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
            here = answer().to_json()
            if words[0] in ("catalog", "schema"):  # without times
                self.assertEqual(here, program.stdout)
            self.assertEqual(without_times(here), without_times(program.stdout), words)
            if words[0] != "schema":
                self.assertEqual(json.loads(here)["command"], "orrery " + " ".join(words[:-1]))

    def test_lists_repeat_or_join_as_the_option_does(self):
        twice = o.map(chip="gemmini", gemm=[(64, 64, 64), "32,32,32"])
        self.assertEqual(len(twice), 2)
        self.assertEqual(len(o.map(chip="gemmini", gemm=(64, 64, 64))), 1)
        self.assertEqual(len(o.map(chip="gemmini", gemm=["64,64,64", "32,32,32"])), 2)
        self.assertEqual(
            o.map(chip="gemmini", gemm="64,64,64", objective=["energy", "delay"])[0].objective, ["energy", "delay"]
        )
        changed = o.map(chip="gemmini", gemm="64,64,64", set={"arch.DRAM.read_bandwidth": 1})
        self.assertNotEqual(changed[0].cycles, twice[0].cycles)

    def test_wrong_arguments_are_named(self):
        for question, said in (
            (lambda: o.map(chp="gemmini"), "no argument `chp`; did you mean `chip`"),
            (lambda: o.train(tp=object()), "tp: text or a number is expected, not object"),
            (lambda: o.map(certify=3), "certify: True or False is expected"),
            (lambda: o.chip(3), "Chip: a name or a path is expected, not int"),
            (lambda: o.tune(), "tune is several verbs"),
            (lambda: o.map(o.chip("gemmini"), chip="tpu", model="bert-large"), "given `chip` twice"),
        ):
            with self.assertRaisesRegex(TypeError, said):
                question()

    def test_refusals_have_code_place_and_help(self):
        with self.assertRaises(o.InputError) as caught:
            o.map(chip="gemmini", model="bert-large", set={"arch.Nothing.depth": 3})
        self.assertEqual(caught.exception.code, "O0111")
        self.assertEqual((caught.exception.file, caught.exception.line), ("<--set>", 1))
        self.assertIn("^", str(caught.exception))
        self.assertEqual(pickle.loads(pickle.dumps(caught.exception)).code, "O0111")

    def test_answers_show_themselves(self):
        best = o.map(o.chip("gemmini"), o.model("bert-large"), seq=256)
        self.assertTrue(best.certificate.optimal and best["KTQ"].certificate.optimal)
        self.assertEqual(best["KTQ"].why("Scratchpad.E=4").ratio.edp, 1)
        self.assertIn("<table>", best._repr_html_())
        bundle = best._repr_mimebundle_()
        self.assertIn("/vega/v5", bundle["application/vnd.vega.v5+json"]["$schema"])
        self.assertEqual(best.plot("layers").spec["$schema"], bundle["application/vnd.vega.v5+json"]["$schema"])
        self.assertEqual(pickle.loads(pickle.dumps(best)), best)
        with self.assertRaisesRegex(KeyError, "there is no `nope`"):
            best["nope"]
        with self.assertRaisesRegex(AttributeError, "no `nope`"):
            best.nope  # noqa: B018

    def test_forms_other_than_documents_are_texts(self):
        self.assertTrue(o.map(chip="gemmini", gemm="64,64,64", csv=True).text.startswith("layer,"))
        with self.assertRaisesRegex(ValueError, "prints no document"):
            o.map(chip="gemmini", gemm="64,64,64", csv=True).data  # noqa: B018

    def test_answers_are_tables(self):
        best = o.map(chip="gemmini", model="bert-large", seq=256)
        self.assertEqual(best.to_rows()[0]["name"], "KQV")
        for package, made in (("pandas", best.to_pandas), ("pyarrow", best.to_arrow)):
            try:
                __import__(package)
            except ImportError:
                continue
            self.assertEqual(len(made()), 8)

    def test_a_training_run_has_the_names_of_its_figures(self):
        run = o.best_plan("llama3-8b", "dgx-h100", gpus=8, global_batch=16)
        self.assertEqual(run.time_s, run.iteration_s)
        self.assertEqual(run.cost_usd, run.cost.usd)
        self.assertLessEqual(run.memory_bytes.total, run.capacity_bytes)
        with tempfile.TemporaryDirectory() as folder:
            run.trace(f"{folder}/run.json")
            self.assertTrue(json.loads(Path(folder, "run.json").read_text(encoding="utf-8")))

    def test_a_sweep_varies_a_chip(self):
        with tempfile.TemporaryDirectory() as folder:
            swept = o.sweep(o.chip("gemmini"), "bert-large", seq=128, layer="KTQ", store=f"{folder}/s.db",
                            vary={"Scratchpad.depth": [1024, 2048]})  # fmt: skip
        self.assertEqual([row["config.arch.Scratchpad.depth"] for row in swept.to_rows()], [1024, 2048])

    def test_parts_of_a_sweep_on_workers_lose_nothing_when_one_dies(self):
        class Dying(concurrent.futures.ProcessPoolExecutor):
            def submit(self, function, /, *arguments, **keywords):
                if arguments[1]["shard"].startswith("2/"):
                    super().submit(os._exit, 1)
                return super().submit(function, *arguments, **keywords)

        question = {"seq": 128, "layer": "KTQ", "all": True, "vary": {"Scratchpad.depth": [1024, 2048, 4096, 8192]}}
        with tempfile.TemporaryDirectory() as folder:
            alone = o.sweep(o.chip("gemmini"), "bert-large", store=f"{folder}/a.db", **question)
            for name, kind in (("b", concurrent.futures.ProcessPoolExecutor), ("c", Dying)):
                with kind(2, mp_context=multiprocessing.get_context("spawn")) as executor:
                    parts = o.sweep(o.chip("gemmini"), "bert-large", executor=executor, parts=3,
                                    store=f"{folder}/{name}.db", **question)  # fmt: skip
                self.assertEqual(parts.to_rows(), alone.to_rows())
            self.assertEqual(sorted(os.listdir(folder)), ["a.db", "b.db", "c.db"])
            with self.assertRaises(o.InputError):
                with concurrent.futures.ThreadPoolExecutor(2) as executor:
                    o.sweep(o.chip("gemmini"), "nope", executor=executor, store=f"{folder}/d.db", **question)


if __name__ == "__main__":
    unittest.main()
