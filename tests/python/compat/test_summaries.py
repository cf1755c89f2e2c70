"""Summaries of graphs, and the event files that a FileWriter makes of them."""

import struct

import numpy as np
import pytest

import gyre.compat.v1 as tf


def events(folder):
    """The events of the only file in a folder, but for the first. (tests/python/summary looks at
    frames.)"""
    (path,) = folder.iterdir()
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        (size,) = struct.unpack("<Q", data[at : at + 8])
        found.append(tf.Event.FromString(data[at + 12 : at + 12 + size]))
        at += size + 16
    assert found[0].file_version == "brain.Event:2"
    return found[1:]


def test_a_training_loop_writes_summaries(run, graph, tmp_path):
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.name_scope("train"):
        loss = tf.summary.scalar("the loss", x * 2.0)
    tf.summary.scalar("rate", x, family="options")
    tf.summary.scalar("apart", x, collections=["others"])
    merged = tf.summary.merge_all()
    assert loss.name == "train/the_loss:0" and merged.name == "Merge/MergeSummary:0"
    with tf.summary.FileWriter(tmp_path, graph) as writer:
        for step in range(2):
            writer.add_summary(run(merged, {x: step + 0.5}), step)
    first, *rest = events(tmp_path)
    assert {node.name for node in tf.GraphDef.FromString(first.graph_def).node} >= {
        "x",
        loss.op.name,
    }
    assert [event.step for event in rest] == [0, 1]
    assert [(v.tag, v.simple_value) for v in rest[1].summary.value] == [
        ("train/the_loss", 3.0),
        ("options/options/rate", 1.5),
    ]
    assert [s.op.name for s in tf.get_collection(tf.GraphKeys.SUMMARIES)] == [
        "train/the_loss",
        "options/rate",
    ]


def test_histograms(run):
    x = tf.placeholder(tf.float64, [None])
    made = tf.summary.histogram("weights", x)
    (value,) = tf.Summary.FromString(run(made, {x: [1.02, 1.03, -3.0, 0.0]})).value
    histo = value.histo
    assert (histo.min, histo.max, histo.num) == (-3, 1.03, 4)
    assert histo.sum == pytest.approx(-0.95) and histo.sum_squares == pytest.approx(11.1013)
    assert [count for count in histo.bucket if count] == [1, 1, 2] and len(histo.bucket) == 7
    limits = dict(zip([-np.inf, *histo.bucket_limit], histo.bucket_limit, strict=False))
    for low, value in zip([k for k, c in zip(limits, histo.bucket) if c], [-3, 0, 1.03]):
        assert low <= value < limits[low] <= low + 1
    assert tf.Summary.FromString(run(made, {x: []})).value[0].histo.num == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="'weights' has values that are not"):
        run(made, {x: [np.nan]})


def test_some_are_merged(run, graph):
    assert tf.summary.merge_all() is None
    a, b = tf.summary.scalar("a", 1.0), tf.summary.scalar("b", 2)
    merged = tf.summary.merge([b, a], collections=["merged"])
    values = tf.Summary.FromString(run(merged)).value
    assert [(v.tag, v.simple_value) for v in values] == [("b", 2), ("a", 1)]
    assert tf.get_collection("merged") == [merged]
    only = tf.Summary.FromString(run(tf.summary.merge_all(scope="b"))).value
    assert [v.tag for v in only] == ["b"]


def test_what_is_refused(graph, tmp_path):
    with pytest.raises(ValueError, match="'loss' must be a scalar, but is of shape"):
        tf.summary.scalar("loss", [1.0, 2.0])
    with pytest.raises(ValueError, match="no summaries to merge"):
        tf.summary.merge([])
    with pytest.raises(NotImplementedError, match="session is not supported"):
        tf.summary.FileWriter(tmp_path, session=tf.Session())
    writer = tf.summary.FileWriter(tmp_path, filename_suffix=".mine")
    with pytest.raises(ValueError, match="these bytes are no summary"):
        writer.add_summary(b"\xff\xff", 1)
    with pytest.raises(TypeError, match="takes a Graph"):
        writer.add_graph("graph")
    assert writer.get_logdir() == str(tmp_path)
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.add_summary(tf.Summary(), 1)
    writer.reopen()
    writer.add_summary(tf.Summary(value=[{"tag": "t", "simple_value": 1}]), np.int64(3))
    writer.close()
    assert len(list(tmp_path.glob("*.mine"))) == 2


def test_graphs_with_summaries_are_saved(run, sess, tmp_path):
    v = tf.get_variable("v", initializer=3.0)
    tf.summary.scalar("v", v)
    run(tf.summary.merge_all())
    assert tf.train.Saver().save(sess, tmp_path / "m").endswith("m")
