"""The ledger of saved tensors, against the op-by-op experiment, against accounting and against a real ResNet-50."""

import pytest

from course_lib.accounting import memory, models
from course_lib.experiments.nets import tiny_gpt
from course_lib.units.q03_activations_outgrow_weights import ledger
from course_lib.units.q03_activations_outgrow_weights.experiments import saved_tensors

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_a_gpt2_block_keeps_what_accounting_says(attention):
    model = tiny_gpt.describe(layers=1, d_model=64, heads=4, vocab=16, context=32)
    counted = memory.activations(model, batch=2, seq=32, attention=attention)["layer"]
    assert ledger.gpt2_block(batch=2, seq=32, d_model=64, heads=4, attention=attention).total == int(counted)


def test_a_resnet_block_keeps_what_was_counted_by_hand():
    by_hand = 4 * sum(op.numbers for op in saved_tensors.resnet_ops(batch=2, channels=8, side=16))
    assert ledger.resnet_block(batch=2, channels=8, side=16).total == by_hand


def test_a_storage_counts_once_and_a_weight_never():
    x, weight = torch.ones(10, 10, requires_grad=True), torch.ones(10, 10, requires_grad=True)
    kept = ledger.of(lambda: (x.exp() @ weight) * 2, weights=[weight])
    assert kept.total == 400
    assert {entry.why for entry in kept.entries if entry.nbytes == 0} == {"a weight", "kept already by exp"}
    assert "total" in str(kept)
    assert "400 B" in str(kept)


def test_nothing_is_kept_without_gradients():
    x = torch.ones(10, requires_grad=True)
    with torch.no_grad():
        assert ledger.of(lambda: x * x).total == 0


def test_the_learners_random_state_is_left_alone():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    ledger.gpt2_block(batch=1, seq=8, d_model=16, heads=2)
    assert torch.equal(torch.rand(1), expected)


def test_what_q3_counts_for_resnet_50_is_what_the_real_one_keeps():
    """The lesson counts batch norms and ReLUs: within 4 %, for want of the pooling and of the image."""
    transformers = pytest.importorskip("transformers")
    net = transformers.ResNetForImageClassification(transformers.ResNetConfig(num_labels=1000)).train()
    image, label = torch.ones(1, 3, 224, 224), torch.zeros(1, dtype=torch.long)
    kept = ledger.of(lambda: net(pixel_values=image, labels=label), net.parameters())
    steps = models.load("resnet-50").steps()
    counted = 4 * sum(step.work for step in steps if step.op in ("batchnorm", "relu"))
    assert 1 < kept.total / counted < 1.05


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("attention", "more"), [("sdpa", 2), ("eager", 0)])
def test_transformers_own_default_keeps_two_more_tensors_a_block_with_sdpa(attention, more):
    """What the lesson says of `use_cache=False`: with a cache, SDPA reads copies of the keys and values."""
    transformers = pytest.importorskip("transformers")
    layers, batch, seq, d = 2, 3, 32, 64

    def kept(**cache):
        config = transformers.GPT2Config(
            n_layer=layers, n_embd=d, n_head=4, vocab_size=300, n_positions=64, resid_pdrop=0, embd_pdrop=0,
            attn_pdrop=0, attn_implementation=attention, bos_token_id=0, eos_token_id=0, **cache,
        )  # fmt: skip
        net = transformers.GPT2LMHeadModel(config).train()
        tokens = torch.zeros(batch, seq, dtype=torch.long)
        return ledger.of(lambda: net(tokens, labels=tokens).loss, weights=list(net.parameters())).total

    assert kept() - kept(use_cache=False) == layers * more * batch * seq * d * 4
