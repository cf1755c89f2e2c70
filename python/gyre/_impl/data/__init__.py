"""Datasets: sequences of elements that programs run over.

A dataset is an immutable description. To run over it is to carry a state, a structure of tensors,
through three functions that any graph can contain:

    begin() -> state                  before the first element
    advance(state) -> (more, state)   finds the next element; twice is as good as once
    pull(state) -> (element, state)   the element that advance has found

So a loop over a dataset is an ordinary loop of the graph, and Python iterates by running the same
graph once per element.
"""
