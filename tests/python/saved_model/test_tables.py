"""Tables in SavedModels: what fills them goes with the model."""

import gyre


class Words(gyre.Module):
    def __init__(self, file):
        super().__init__()
        of = gyre.lookup
        self.values = of.StaticHashTable(
            of.KeyValueTensorInitializer(["x", "y"], gyre.constant([10, 20], gyre.int64)), -1
        )
        self.lines = of.StaticHashTable(
            of.TextFileInitializer(
                file,
                gyre.string,
                of.TextFileIndex.WHOLE_LINE,
                gyre.int64,
                of.TextFileIndex.LINE_NUMBER,
            ),
            -5,
        )
        self.w = gyre.Variable(2.0)

    @gyre.function(input_signature=[gyre.TensorSpec([None], gyre.string)])
    def look_up(self, s):
        values = self.values.lookup(s)
        return {"v": values, "l": self.lines.lookup(s), "w": self.w * gyre.cast(values, "float32")}


def found(model):
    results = model.signatures["look_up"](gyre.constant(["x", "b", "q"]))
    return {name: value.numpy().tolist() for name, value in results.items()}


def test_written_and_read(tmp_path):
    file = tmp_path / "words.txt"
    file.write_text("a\nb\nc\n")
    gyre.saved_model.save(Words(file), tmp_path / "model")
    file.unlink()
    wanted = {"v": [10, -1, -1], "l": [-5, 1, -5], "w": [20, -2, -2]}
    loaded = gyre.saved_model.load(tmp_path / "model")
    assert found(loaded) == wanted
    # Again, as it was, and by its signatures.
    gyre.saved_model.save(loaded, tmp_path / "copy")
    assert found(gyre.saved_model.load(tmp_path / "copy")) == wanted
    signatures = {"look_up": loaded.signatures["look_up"]}
    gyre.saved_model.save(gyre.Module(), tmp_path / "signed", signatures)
    assert found(gyre.saved_model.load(tmp_path / "signed")) == wanted


def test_what_a_table_holds_when_it_is_saved(tmp_path):
    table = gyre.lookup.experimental.MutableHashTable(gyre.string, gyre.float32, 0.0)
    table.insert(["a", "b"], [1.0, 2.0])

    @gyre.function(input_signature=[gyre.TensorSpec([None], gyre.string)])
    def look_up(s):
        return table.lookup(s)

    gyre.saved_model.save(gyre.Module(), tmp_path / "model", {"look_up": look_up})
    table.insert(["c"], [3.0])
    (values,) = found(gyre.saved_model.load(tmp_path / "model")).values()
    assert values == [0, 2, 0]
