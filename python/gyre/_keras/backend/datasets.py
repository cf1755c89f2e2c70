"""Batches for training: from what Keras takes, and from datasets of Gyre."""

from keras.src import tree
from keras.src.trainers import data_adapters
from keras.src.trainers.data_adapters.data_adapter import DataAdapter
from keras.src.trainers.epoch_iterator import EpochIterator

import gyre


class DatasetAdapter(DataAdapter):
    """Gives Keras the batches of a gyre.data.Dataset."""

    def __init__(self, dataset, class_weight=None):
        if class_weight is not None:
            dataset = dataset.map(lambda x, y: (x, y, _weights_of(y, class_weight)))
        self._dataset = dataset

    def get_numpy_iterator(self):
        return iter(self._dataset)

    @property
    def num_batches(self):
        count = int(self._dataset.cardinality())
        return count if count >= 0 else None

    @property
    def batch_size(self):
        first = tree.flatten(self._dataset.element_spec)[0]
        return first.shape[0] if first.shape.rank else None

    @property
    def has_partial_batch(self):
        return None

    @property
    def partial_batch_size(self):
        return None


def _weights_of(y, class_weight):
    """The weight of each sample is that of its class: a number, or the place of the one."""
    classes = max(class_weight) + 1
    table = gyre.constant([float(class_weight.get(one, 1.0)) for one in range(classes)])
    is_one_hot = y.shape.rank > 1 and y.shape[-1] != 1
    labels = gyre.argmax(y, axis=-1) if is_one_hot else gyre.reshape(y, [-1])
    return gyre.gather(table, gyre.cast(labels, "int32"))


class BatchIterator(EpochIterator):
    """Goes through an epoch. Batches are arrays or tensors."""

    def __init__(self, x, y=None, sample_weight=None, class_weight=None, **options):
        if isinstance(x, gyre.data.Dataset):
            for name, value in (("y", y), ("sample_weight", sample_weight)):
                if value is not None:
                    data_adapters.raise_unsupported_arg(name, name, "gyre.data.Dataset")
            options["shuffle"] = False
            x, class_weight = DatasetAdapter(x, class_weight), None
        super().__init__(
            x=x, y=y, sample_weight=sample_weight, class_weight=class_weight, **options
        )

    def __next__(self):
        """As many batches as one execution takes; at the end of an epoch those that are left."""
        begin, end, iterator = next(self._epoch_iterator)
        wanted, known = self.steps_per_execution, self.num_batches
        if known:
            wanted = min(wanted, known - begin)
        if wanted <= 0:
            raise StopIteration
        batches = []
        with self.catch_stop_iteration():
            for _ in range(wanted):
                batches.append(next(iterator))
            return begin, end, batches
        if batches:
            return begin, end, batches
        raise StopIteration
