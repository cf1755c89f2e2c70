"""Models that TensorFlow has exported."""

_S = "gyre._impl.saved_model:"

NAMES = {
    "saved_model.load": _S + "load",
    "saved_model.contains_saved_model": _S + "contains_saved_model",
}
