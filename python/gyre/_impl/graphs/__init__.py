"""Graphs that are built first and run by sessions: what they are made of, whoever builds them."""

from gyre._impl.graphs import tensor_members

tensor_members.install()
