"""Texts taken apart, put together and counted, in rows of different lengths."""
