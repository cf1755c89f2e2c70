"""Models that TensorFlow has exported."""

_S = "gyre._impl.saved_model."

NAMES = {
    "saved_model.load": _S + "load:load",
    "saved_model.contains_saved_model": _S + "load:contains_saved_model",
    "saved_model.save": _S + "save:save",
}
