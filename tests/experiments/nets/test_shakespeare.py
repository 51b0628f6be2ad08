"""The text that small language models train on."""

import torch

from course_lib.experiments.nets import shakespeare


def test_the_text_is_what_its_source_says():
    text = shakespeare.text()
    assert (len(text), len(set(text))) == (shakespeare.COUNT, shakespeare.CHARACTERS) == (1_115_394, 65)
    assert text.startswith("First Citizen:\nBefore we proceed any further, hear me speak.\n")


def test_classes_lead_back_to_the_text():
    classes, alphabet = shakespeare.tensor(torch), shakespeare.alphabet()
    assert (classes.dtype, classes.shape) == (torch.int64, (1_115_394,))
    assert set(classes.tolist()) == set(range(65))
    assert "".join(alphabet[each] for each in classes[-1000:].tolist()) == shakespeare.text()[-1000:]
