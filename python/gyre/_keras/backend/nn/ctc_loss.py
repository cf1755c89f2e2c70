"""The loss of connectionist temporal classification (Graves and others, 2006).

Labels may have the blank among them, as the padding of keras.losses.CTC does: such a label is a
place of its own, which emits the blank.

    places:  blank 0 | label 0 | blank 1 | label 1 | … | blank n
"""

import gyre
from gyre._keras.backend.tensors import convert_to_tensor

_NEVER = -1e30  # the logarithm of what is impossible, far from where sums overflow


def _added(*logs):
    return gyre.reduce_logsumexp(gyre.stack(logs), axis=0)


def _shifted(logs, never):
    """Place i has what place i - 1 had."""
    return gyre.concat([never, logs], axis=1)


def loss(labels, logits, label_lengths, lengths, blank):
    """The negative logarithm of how likely the labels are. logits: [batch, time, class]."""
    logs = gyre.transpose(gyre.nn.log_softmax(logits), [1, 0, 2])
    steps, batch = gyre.unstack(gyre.shape(logs)[:2])
    count = gyre.shape(labels)[1]
    blank = blank % logits.shape[-1]
    never = gyre.fill([batch, 1], convert_to_tensor(_NEVER, logs.dtype))
    of_blank = logs[:, :, blank]
    # [time, batch, labels]
    of_labels = gyre.transpose(
        gyre.gather(gyre.transpose(logs, [1, 2, 0]), labels, axis=1, batch_dims=1), [2, 0, 1]
    )
    differs = gyre.not_equal(labels[:, 1:], labels[:, :-1])
    differs = gyre.concat([gyre.zeros([batch, 1], "bool"), differs], axis=1)

    blanks = gyre.concat([of_blank[0][:, None], gyre.tile(never, [1, count])], axis=1)
    tokens = gyre.concat([of_labels[0][:, :1], gyre.tile(never, [1, count - 1])], axis=1)

    def step(t, blanks, tokens):
        before = _shifted(tokens, never)
        skipped = gyre.where(differs, before[:, :-1], never)
        new_blanks = _added(blanks, before) + of_blank[t][:, None]
        new_tokens = _added(tokens, blanks[:, :-1], skipped) + of_labels[t]
        inside = (t < lengths)[:, None]
        blanks = gyre.where(inside, new_blanks, blanks)
        return t + 1, blanks, gyre.where(inside, new_tokens, tokens)

    _, blanks, tokens = gyre.while_loop(
        lambda t, *_: t < steps, step, (gyre.constant(1), blanks, tokens)
    )
    ends = label_lengths[:, None]
    last_blank = gyre.gather(blanks, ends, axis=1, batch_dims=1)
    last_token = gyre.gather(_shifted(tokens, never), ends, axis=1, batch_dims=1)
    return -_added(last_blank, last_token)[:, 0]
