"""PyTorch: operators that are traced, masks that are the program's, models that are patched."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

try:
    import numpy
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch or NumPy is not installed: orrery.torch is not tested")
try:
    import transformers

    transformers.logging.set_verbosity_error()
except ImportError:
    transformers = None

import orrery as o
import orrery.torch as ot
from orrery._call import call

needs_transformers = unittest.skipIf(transformers is None, "transformers is not installed: no model is patched")


class Convolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.second = torch.nn.Conv2d(8, 8, 3, groups=8, padding="same")
        self.norm = torch.nn.BatchNorm2d(8)
        self.last = torch.nn.Linear(8 * 4 * 4, 10)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(torch.relu(self.norm(self.second(self.first(x)))), 2)
        return torch.einsum("bi,ji->bj", self.last(x.flatten(1)), torch.ones(5, 10)).mean(-1)


class GroupedQueries(torch.nn.Module):
    def forward(self, q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def products(traced, *options):
    return {(*layer["dimensions"].values(),): layer["instances"] for layer in traced.map("edge-npu", options)["layers"]}


class Traces(unittest.TestCase):
    def test_have_every_product_of_a_convolutional_network(self):
        traced = ot.trace(Convolutions().eval(), torch.ones(2, 3, 16, 16))
        self.assertEqual(traced.uncounted, [])
        # E = C R S, D = M, L = N P Q; a depthwise convolution is as many as it has groups.
        self.assertEqual(products(traced, "--im2col"),
                         {(27, 8, 128): 1, (9, 1, 128): 8, (128, 10, 2): 1, (10, 5, 2): 1})

    def test_have_every_product_of_an_encoder_layer(self):
        layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval()
        traced = ot.trace(layer.train(), torch.ones(2, 16, 64))
        counted = products(traced)
        macs = sum(e * d * n * times for (e, d, n), times in counted.items())
        tokens = 2 * 16
        self.assertEqual(macs, tokens * (4 * 64 * 64 + 2 * 64 * 128) + 2 * (2 * 16 * 16 * 64))

    def test_count_groups_of_queries_as_one_product(self):
        shape = torch.ones
        traced = ot.trace(GroupedQueries(), (shape(1, 8, 16, 32), shape(1, 2, 64, 32), shape(1, 2, 64, 32)))
        self.assertEqual(products(traced), {(32, 64, 64): 2, (64, 32, 64): 2})

    def test_know_shapes_and_operations(self):
        graph = ot.trace(torch.nn.Linear(8, 4), torch.ones(3, 8)).graph()
        kinds = {one["type"]: one for one in graph["operators"]}
        self.assertEqual(kinds["MatMul"]["inputs"], [[3, 8], [8, 4]])
        self.assertEqual(kinds["MatMul"]["operations"], 3 * 8 * 4)
        self.assertEqual(kinds["Add"]["operations"], 3 * 4)

    def test_are_saved_as_models(self):
        with tempfile.TemporaryDirectory() as folder:
            file = ot.trace(torch.nn.Linear(8, 4), torch.ones(3, 8)).save(Path(folder) / "linear.onnx")
            answer = call(["graph", str(file), "--json"])
            self.assertEqual(json.loads(answer.out)["result"]["operations"], 3 * 8 * 4 + 3 * 4)
            with self.assertRaisesRegex(ValueError, "ends in .onnx"):
                ot.trace(torch.nn.ReLU(), torch.ones(1)).save(Path(folder) / "linear.pt")

    def test_name_what_is_not_understood(self):
        class Branches(torch.nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x

        with self.assertRaisesRegex(ot.TraceError, "torch.export refuses Branches"):
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                ot.trace(Branches(), torch.ones(3))
        with self.assertRaisesRegex(TypeError, "module is a torch.nn.Module, not builtin"):
            ot.trace(torch.relu, torch.ones(3))
        with self.assertRaisesRegex(ot.TraceError, "conv_transpose2d"):
            ot.trace(torch.nn.ConvTranspose2d(2, 2, 3), torch.ones(1, 2, 8, 8))

    def test_list_operators_that_nobody_counts(self):
        class Sorts(torch.nn.Module):
            def forward(self, x):
                return torch.sort(x @ x).values

        self.assertEqual(ot.trace(Sorts(), torch.ones(4, 4)).uncounted, ["sort"])

    @needs_transformers
    def test_have_every_product_of_models(self):
        wide = dict(vocab_size=100)
        bert = transformers.BertConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                                       intermediate_size=128, **wide)
        gpt2 = transformers.GPT2Config(n_embd=64, n_layer=2, n_head=4, use_cache=False, **wide)
        llama = transformers.LlamaConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, use_cache=False,
                                         num_key_value_heads=2, intermediate_size=128, **wide)
        tokens, scores = 2 * 16, 2 * 2 * 16 * 16 * 64  # a batch of 2 times 16 tokens; both products of attention
        for made, expected in (
            (transformers.BertModel(bert), 2 * (tokens * (4 * 64 * 64 + 2 * 64 * 128) + scores) + 2 * 64 * 64),
            (transformers.GPT2LMHeadModel(gpt2), 2 * (tokens * 12 * 64 * 64 + scores) + tokens * 64 * 100),
            (transformers.LlamaForCausalLM(llama), 2 * (tokens * (3 * 64 * 64 + 3 * 64 * 128) + scores)
             + tokens * 64 * 100),
        ):
            with self.subTest(model=type(made).__name__):
                traced = ot.trace(made.eval(), {"input_ids": torch.full((2, 16), 5)})
                self.assertEqual(traced.uncounted, [])
                self.assertEqual(sum(e * d * n * times for (e, d, n), times in products(traced).items()), expected)


def arrays(queries=24, keys=24):
    torch.manual_seed(1)
    return (torch.randn(2, 4, size, 16) * 2 for size in (queries, keys, keys))


def program(folder, q, k, v, *options, valid=None):
    """The program's mask and answer on the same numbers."""
    named = {"q": q, "k": k, "v": v} | ({} if valid is None else {"valid": valid})
    arguments = ["sparse", "measure", "--json", "--no-packing", "--save-mask", str(folder / "mask.npy"),
                 "--force", *options]
    for name, tensor in named.items():
        numpy.save(folder / f"{name}.npy", tensor.numpy())
        arguments += [f"--{name}", str(folder / f"{name}.npy")]
    answer = call(arguments)
    assert answer.code == 0, answer.out + answer.err
    return torch.from_numpy(numpy.load(folder / "mask.npy")).bool(), json.loads(answer.out)["result"]


class Pruned(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_attention_has_the_programs_masks(self):
        q, k, v = arrays()
        valid = torch.ones(2, 24, dtype=torch.int64)
        valid[0, -5:] = 0
        for kind, options, words in (
            ("threshold", {"threshold": 0.02}, ["--threshold", "0.02"]),
            ("threshold", {"threshold": 0.02, "bits": 2, "query_clip": 1.5}, ["--threshold", "0.02", "--bits", "2",
                                                                             "--query-clip", "1.5"]),
            ("top-k", {"keep": 0.25}, ["--predictor", "top-k", "--keep", "0.25"]),
            ("window", {"window": 4}, ["--predictor", "window", "--window", "4"]),
            ("rounds", {}, ["--predictor", "rounds"]),
            ("blocks", {"block": 8}, ["--predictor", "blocks", "--block", "8"]),
        ):
            for causal in (False, True):
                for there in (None, valid):
                    with self.subTest(kind=kind, options=options, causal=causal, padded=there is not None):
                        expected, _ = program(self.folder, q, k, v, *words, *["--causal"] * causal, valid=there)
                        mask = ot.SparseAttention(kind, **options).mask(q, k, valid=there, causal=causal)
                        rows = torch.ones(2, 24).bool() if there is None else there.bool()
                        for sequence in range(2):
                            self.assertTrue(torch.equal(mask[sequence][:, rows[sequence]],
                                                        expected[sequence][:, rows[sequence]]))

    def test_attention_errs_as_the_program_says(self):
        q, k, v = arrays()
        _, answer = program(self.folder, q, k, v, "--threshold", "0.05")
        attention = ot.SparseAttention("threshold", threshold=0.05)
        out = attention(q, k, v)
        dense = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        for one in answer["error"]["heads"]:
            place = one["batch"], one["head"]
            error = (out[place] - dense[place]).norm() / dense[place].norm()
            self.assertAlmostEqual(error.item(), one["relative"], places=5)
        self.assertAlmostEqual(attention.density, answer["density"], places=6)

    def test_attention_that_keeps_all_is_dense(self):
        q, k, v = arrays(8, 24)
        for causal in (False, True):
            there = torch.ones(8, 24).bool().tril(16) if causal else None
            dense = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=there)
            out = ot.SparseAttention("top-k", keep=1.0)(q, k, v, causal=causal)
            self.assertLess((out - dense).abs().max().item(), 1e-5)

    def test_static_masks_are_the_programs(self):
        q, k, v = arrays(64, 64)
        file = self.folder / "mask.npy"
        self.assertEqual(call(["sparse", "mask", "longformer", "--seq", "64", "--heads", "4", "-o", str(file)]).code, 0)
        expected = torch.from_numpy(numpy.load(file)).bool()
        attention = ot.SparseAttention("longformer")
        self.assertTrue(torch.equal(attention.mask(q, k)[0], expected))
        self.assertAlmostEqual(attention(q, k, v).shape[2], 64)
        self.assertAlmostEqual(attention.density, expected.float().mean().item(), places=6)
        with self.assertRaisesRegex(ValueError, "as many queries as keys"):
            attention.mask(q[:, :, :8], k)

    def test_gradients_are_those_of_the_kept_scores(self):
        q, k, v = (tensor.double().requires_grad_() for tensor in arrays())
        attention = ot.SparseAttention("top-k", keep=0.5)
        mask = attention.mask(q, k)
        attention(q, k, v).square().sum().backward()
        mine = [tensor.grad.clone() for tensor in (q, k, v)]
        for tensor in (q, k, v):
            tensor.grad = None
        torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask).square().sum().backward()
        for grad, tensor in zip(mine, (q, k, v)):
            self.assertLess((grad - tensor.grad).abs().max().item(), 1e-9)

    def test_what_keeps_nothing_comes_to_zero(self):
        q, k, v = arrays()
        attention = ot.SparseAttention("threshold", threshold=0.999, empty_rows="zero")
        out = attention(q, k, v)
        nothing = ~attention.mask(q, k).any(-1)
        self.assertTrue(bool(nothing.any()))
        self.assertEqual(out[nothing].abs().max().item(), 0.0)

    def test_attention_refuses_with_the_programs_words(self):
        q, k, v = arrays()
        with self.assertRaisesRegex(ValueError, r"O\d+: .*--keep"):
            ot.SparseAttention("top-k", keep=2.0)(q, k, v)
        with self.assertRaisesRegex(ValueError, r"O\d+"):
            ot.SparseAttention("longformr")(q, k, v)


def models():
    torch.manual_seed(2)
    wide = dict(vocab_size=100, bos_token_id=0, eos_token_id=2, pad_token_id=1)
    yield transformers.BertModel(transformers.BertConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, initializer_range=0.2,
        **wide))
    yield transformers.GPT2Model(transformers.GPT2Config(
        n_embd=64, n_layer=2, n_head=4, initializer_range=0.2, **wide))
    yield transformers.BartModel(transformers.BartConfig(
        d_model=64, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=128, decoder_ffn_dim=128, decoder_start_token_id=2, init_std=0.2, **wide))


@needs_transformers
class Models(unittest.TestCase):
    def run_model(self, model):
        tokens = torch.arange(48).reshape(2, 24) % 90 + 5
        there = torch.ones(2, 24, dtype=torch.int64)
        there[0, -6:] = 0
        out = model(input_ids=tokens, attention_mask=there)
        return out.last_hidden_state[there.bool()]

    def test_that_keep_all_are_dense_and_others_are_not(self):
        for model in models():
            with self.subTest(model=model.config.model_type), torch.no_grad():
                dense = self.run_model(model.eval())
                attention = ot.patch(model, "top-k", keep=1.0)
                self.assertLess((self.run_model(model) - dense).abs().max().item(), 1e-5)
                self.assertEqual(attention.density, 1.0)
                attention = ot.patch(model, "threshold", threshold=0.05)
                self.assertGreater((self.run_model(model) - dense).abs().max().item(), 1e-3)
                self.assertTrue(0 < attention.density < 1)
                model.set_attn_implementation("sdpa")
                self.assertTrue(torch.equal(self.run_model(model), dense))

    def test_have_each_attention_pruned_by_itself(self):
        model = next(models()).eval()
        attention = ot.patch(model, "threshold", threshold=0.05)
        seen = []
        attention.mask = lambda q, k, **options: seen.append(q) or type(attention).mask(attention, q, k, **options)
        with torch.no_grad():
            self.run_model(model)
        self.assertEqual(len(seen), 2)
        self.assertFalse(torch.equal(seen[0], seen[1]))

    def test_are_trained(self):
        for model in models():
            ot.patch(model.train(), "threshold", threshold=0.05)
            self.run_model(model).square().sum().backward()
            grads = [one.grad for one in model.parameters() if one.grad is not None]
            self.assertTrue(grads and all(bool(torch.isfinite(grad).all()) for grad in grads))

    def test_are_trained_on_paper_and_placed_by_their_configuration(self):
        heads = {"bert": transformers.BertForMaskedLM, "gpt2": transformers.GPT2LMHeadModel,
                 "bart": transformers.BartForConditionalGeneration}  # fmt: skip
        for config in (each.config for each in models()):
            with self.subTest(model=config.model_type):
                module = heads[config.model_type](config)
                run = o.train(ot.model(module), "dgx-h100", gpus=8, global_batch=8, seq=64)
                self.assertEqual(run.parameters, sum(each.numel() for each in module.parameters()))
                self.assertGreater(run.time_s, 0)
        placed = o.place(ot.model(module), "dgx-h100", gpus=8, global_batch=8, seq=64)
        self.assertTrue(placed.certificate.optimal)
        with self.assertRaisesRegex(TypeError, "a model of Hugging Face's transformers is expected, not Linear"):
            ot.model(torch.nn.Linear(2, 2))

    def test_of_other_families_are_refused(self):
        with self.assertRaisesRegex(ValueError, "BERT, GPT-2 or BART family, not Linear"):
            ot.patch(torch.nn.Linear(2, 2))


if __name__ == "__main__":
    unittest.main()
