"""FLOP counts of installed peers and of course_lib, on the same models in one run: error, import cost, latency.

Run `python benchmarks/peers.py`; `benchmarks/peers.txt` says how to install the peers, and those that are missing are
listed as such. The truth is `torch.utils.flop_counter.FlopCounterMode` over one eager forward pass of the real
transformers class (2 sequences of 512 tokens, or 2 images of 224²), with 2 FLOP per multiply-add; what a peer returns
in multiply-adds is doubled first, so no error is a matter of that convention. Every (peer, model) has its own process.
Import: CPU seconds of importing the peer alone, torch included where it needs torch. Call: wall seconds of the first
and second answer, once the model exists. MB: peak resident memory, the model included.
"""

import contextlib
import importlib
import io
import json
import os
import resource
import subprocess
import sys
import time

BATCH, SEQ = 2, 512

MODELS = {
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", {}),
    "llama3-8b": (
        "LlamaConfig",
        "LlamaForCausalLM",
        {
            "hidden_size": 4096,
            "intermediate_size": 14336,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "vocab_size": 128256,
        },
    ),
    "qwen2-0.5b": (
        "Qwen2Config",
        "Qwen2ForCausalLM",
        {
            "hidden_size": 896,
            "intermediate_size": 4864,
            "num_hidden_layers": 24,
            "num_attention_heads": 14,
            "num_key_value_heads": 2,
            "vocab_size": 151936,
            "tie_word_embeddings": True,
        },
    ),
    "vit-b16": ("ViTConfig", "ViTForImageClassification", {"num_labels": 1000}),
    "resnet-50": ("ResNetConfig", "ResNetForImageClassification", {"num_labels": 1000}),
}
IMAGE_MODELS = ("vit-b16", "resnet-50")


# ---------------------------------------------------------------- the real model


def build(name):
    """(model, arguments of its forward pass): language models on the meta device, image models on the CPU."""
    import torch
    import transformers

    torch.manual_seed(0)
    config_class, model_class, arguments = MODELS[name]
    if name in IMAGE_MODELS:
        eager = {"attn_implementation": "eager"} if name == "vit-b16" else {}
        model = getattr(transformers, model_class)(getattr(transformers, config_class)(**arguments, **eager))
        return model.eval(), {"pixel_values": torch.randn(BATCH, 3, 224, 224)}
    config = getattr(transformers, config_class)(**arguments, attn_implementation="eager", use_cache=False)
    with torch.device("meta"):
        model = getattr(transformers, model_class)(config).eval()
        tokens = torch.ones(BATCH, SEQ, dtype=torch.long)
        return model, {"input_ids": tokens, "attention_mask": torch.ones(BATCH, SEQ)}


def as_positional(model, arguments):
    """A module whose forward takes the arguments by position, for peers that trace or hook with positional inputs."""
    import torch

    class Positional(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *values):
            return self.model(**dict(zip(arguments, values, strict=True))).logits

    return Positional(), tuple(arguments.values())


# ---------------------------------------------------------------- the peers: each returns FLOP


def flop_counter_mode(name, model, arguments):
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        model(**arguments)
    return counter.get_total_flops()


def calflops(name, model, arguments):
    from calflops import calculate_flops

    return calculate_flops(model, kwargs=dict(arguments), print_results=False, output_as_string=False)[0]


def fvcore(name, model, arguments):
    from fvcore.nn import FlopCountAnalysis

    module, inputs = as_positional(model, arguments)
    return (
        2 * FlopCountAnalysis(module, inputs).unsupported_ops_warnings(False).uncalled_modules_warnings(False).total()
    )


def thop(name, model, arguments):
    from thop import profile

    module, inputs = as_positional(model, arguments)
    return 2 * profile(module, inputs=inputs, verbose=False)[0]


def ptflops_pytorch(name, model, arguments):
    return _ptflops(model, arguments, "pytorch")


def ptflops_aten(name, model, arguments):
    return _ptflops(model, arguments, "aten")


def _ptflops(model, arguments, backend):
    from ptflops import get_model_complexity_info

    macs, _ = get_model_complexity_info(
        model,
        (1,),
        input_constructor=lambda _: dict(arguments),
        as_strings=False,
        print_per_layer_stat=False,
        backend=backend,
    )
    return 2 * macs


def torchinfo(name, model, arguments):
    from torchinfo import summary

    return 2 * summary(model, input_data=dict(arguments), verbose=0).total_mult_adds


def llm_analysis(name, model, arguments):
    from llm_analysis.analysis import LLMAnalysis
    from llm_analysis.config import ModelConfig, get_gpu_config_by_name

    c = model.config
    layers, heads, width = c.num_hidden_layers, c.num_attention_heads, c.hidden_size
    ratio = (getattr(c, "intermediate_size", None) or 4 * width) / width
    config = ModelConfig(
        name, layers, heads, width, c.vocab_size, SEQ, getattr(c, "num_key_value_heads", heads), expansion_ratio=ratio
    )
    return LLMAnalysis(config, get_gpu_config_by_name("a100-sxm-80gb")).get_num_flops_fwd_total(BATCH, SEQ)


def mlsysim(name, model, arguments):
    import mlsysim

    c = model.config
    count = sum(parameter.numel() for parameter in model.parameters())
    quantity = mlsysim.calc_transformer_prefill_flops(count, SEQ, c.num_hidden_layers, c.hidden_size, causal=False)
    return BATCH * float(getattr(quantity, "magnitude", quantity))


def two_n_d(name, model, arguments):
    return 2 * sum(parameter.numel() for parameter in model.parameters()) * BATCH * SEQ


def course_lib(name, model, arguments):
    from course_lib.accounting import flops, models

    sizes = {} if name in IMAGE_MODELS else {"seq": SEQ}
    return int(flops.forward(models.load(name), batch=BATCH, **sizes))


# peer -> (adapter, module whose import is its cost, whether it needs the real model to answer)
PEERS = {
    "FlopCounterMode": (flop_counter_mode, "torch.utils.flop_counter", True),
    "calflops": (calflops, "calflops", True),
    "fvcore": (fvcore, "fvcore.nn", True),
    "thop": (thop, "thop", True),
    "ptflops (pytorch)": (ptflops_pytorch, "ptflops", True),
    "ptflops (aten)": (ptflops_aten, "ptflops", True),
    "torchinfo": (torchinfo, "torchinfo", True),
    "llm-analysis": (llm_analysis, "llm_analysis.analysis", True),
    "mlsysim": (mlsysim, "mlsysim", True),
    "2·N·D": (two_n_d, "math", True),
    "course_lib": (course_lib, "course_lib.accounting.flops", False),
}
LANGUAGE_ONLY = ("llm-analysis", "mlsysim", "2·N·D")
ASKED = [(peer, name) for peer in PEERS for name in MODELS if not (peer in LANGUAGE_ONLY and name in IMAGE_MODELS)]


# ---------------------------------------------------------------- one process each


def one(peer: str, name: str) -> dict:
    """Import, build, ask twice: what the child process prints."""
    adapter, module, needs_model = PEERS[peer]
    before = time.process_time()
    importlib.import_module(module)
    result = {"import": time.process_time() - before}
    model, arguments = build(name) if needs_model else (None, None)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for call in ("first", "second"):
            before = time.perf_counter()
            result["flops"] = adapter(name, model, arguments)
            result[call] = time.perf_counter() - before
    unit = 1e6 if sys.platform == "darwin" else 1e6 / 1024
    return result | {"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit}


def ask(peer: str, name: str) -> dict:
    """The child's answer, or {"error": its last line}."""
    command = [sys.executable, __file__, "--one", peer, name]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TRANSFORMERS_VERBOSITY": "error"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    return {"error": (done.stderr.strip().splitlines() or ["failed without a word"])[-1][:100]}


def seconds(value: float) -> str:
    from course_lib.accounting import units

    return units.format_seconds(value, digits=2)


def main() -> None:
    from tqdm import tqdm

    answers = {}
    for peer, name in tqdm(ASKED, unit="process"):
        answers[peer, name] = ask(peer, name)
    print(f"\nError of the forward FLOP, {BATCH} × {SEQ} tokens or {BATCH} images of 224²")
    print(f"{'':18}" + "".join(f"{name:>13}" for name in MODELS))
    for peer in PEERS:
        cells = []
        for name in MODELS:
            truth, answer = answers["FlopCounterMode", name]["flops"], answers.get((peer, name), {}).get("flops")
            exact = answer is not None and answer == truth
            cells.append("exact" if exact else f"{answer / truth - 1:+.2%}" if answer else "—")
        print(f"{peer:18}" + "".join(f"{cell:>13}" for cell in cells))
    print(f"\n{'cost (gpt2)':18}{'import (CPU)':>13}{'first call':>13}{'second':>13}{'MB':>8}")
    for peer in PEERS:
        answer = answers[peer, "gpt2"]
        if "error" not in answer:
            times = "".join(f"{seconds(answer[key]):>13}" for key in ("import", "first", "second"))
            print(f"{peer:18}{times}{answer['megabytes']:>8.0f}")
    for (peer, name), answer in answers.items():
        if "error" in answer:
            print(f"{peer} on {name}: {answer['error']}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one(*sys.argv[2:])))
    else:
        main()
