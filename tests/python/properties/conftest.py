"""Hypothesis, without deadlines: machines that test are shared."""

from hypothesis import settings

settings.register_profile("gyre", deadline=None, max_examples=150)
settings.load_profile("gyre")
