"""What Ray runs."""

_R = "gyre._impl.ray."

NAMES = {
    "ray.run": _R + "run:run",
    "ray.Workers": _R + "workers:Workers",
    "ray.start_workers": _R + "workers:start_workers",
}
