"""Traces for TensorBoard: Gyre writes none; `gyre.timeline` shows what a program did."""

_WHY = "profiling with TensorBoard: the gyre backend writes no traces; use gyre.timeline"


def start_trace(logdir):
    raise NotImplementedError(_WHY)


def stop_trace(save):
    raise NotImplementedError(_WHY)


def start_batch_trace(batch):
    raise NotImplementedError(_WHY)


def stop_batch_trace(batch_trace_context):
    raise NotImplementedError(_WHY)
