"""Seeing programs: pictures, pages, counts of traced runs, progress and timelines."""
