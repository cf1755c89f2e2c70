"""fit, evaluate and predict: each step is a function of Gyre, several steps a loop of its graph."""

import warnings

import numpy as np
from keras.src import callbacks as callbacks_module
from keras.src import optimizers as optimizers_module
from keras.src import tree
from keras.src.backend import config
from keras.src.trainers import trainer as base_trainer
from keras.src.trainers.data_adapters import array_slicing, data_adapter_utils
from keras.src.utils import traceback_utils
from keras.src.utils.python_utils import pythonify_logs

import gyre
from gyre._keras.backend.datasets import BatchIterator
from gyre._keras.backend.steps import StepFunction, concatenated
from gyre._keras.backend.tensors import convert_to_numpy


def _count_of_samples(x):
    first = next(one for one in tree.flatten(x) if one is not None)
    return gyre.shape(first)[0]


class Trainer(base_trainer.Trainer):
    """The part of models that trains them."""

    def __init__(self):
        super().__init__()
        self.train_function = None
        self.test_function = None
        self.predict_function = None

    def _predicted(self, x, training):
        return self(x, training=training) if self._call_has_training_arg else self(x)

    def train_step(self, data):
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        with gyre.GradientTape() as tape:
            y_pred = self._predicted(x, training=True)
            loss = self._compute_loss(
                x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=True
            )
            self._loss_tracker.update_state(loss, sample_weight=_count_of_samples(x))
            if self.optimizer is not None:
                loss = self.optimizer.scale_loss(loss)
        if self.trainable_weights:
            weights = self.trainable_weights
            gradients = tape.gradient(loss, [one._value for one in weights])
            self.optimizer.apply_gradients(zip(gradients, weights, strict=True))
        else:
            warnings.warn("The model does not have any trainable weights.", stacklevel=2)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def test_step(self, data):
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        y_pred = self._predicted(x, training=False)
        loss = self._compute_loss(
            x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=False
        )
        self._loss_tracker.update_state(loss, sample_weight=_count_of_samples(x))
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def predict_step(self, data):
        x, _, _ = data_adapter_utils.unpack_x_y_sample_weight(data)
        return self._predicted(x, training=False)

    def _resolve_auto_jit_compile(self):
        """None, as of gyre.function: loops become native code once they have run for a while."""
        return None

    def _function_of(self, step, **options):
        return StepFunction(step, self.run_eagerly, self.jit_compile, **options)

    def make_train_function(self, force=False):
        if self.train_function is None or force:
            self.train_function = self._function_of(lambda data: self.train_step(data))
        return self.train_function

    def make_test_function(self, force=False):
        if self.test_function is None or force:
            self.test_function = self._function_of(lambda data: self.test_step(data))
        return self.test_function

    def make_predict_function(self, force=False):
        if self.predict_function is None or force:
            self.predict_function = self._function_of(
                lambda data: self.predict_step(data), gives_rows=True
            )
        return self.predict_function

    def _batches(self, **options):
        return BatchIterator(steps_per_execution=self.steps_per_execution, **options)

    def _callbacks(self, callbacks, batches, verbose, epochs=1, **options):
        if isinstance(callbacks, callbacks_module.CallbackList):
            return callbacks
        return callbacks_module.CallbackList(
            callbacks,
            add_progbar=verbose != 0,
            verbose=verbose,
            epochs=epochs,
            steps=batches.num_batches,
            model=self,
            **options,
        )

    @traceback_utils.filter_traceback
    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        epochs=1,
        verbose="auto",
        callbacks=None,
        validation_split=0.0,
        validation_data=None,
        shuffle=True,
        class_weight=None,
        sample_weight=None,
        initial_epoch=0,
        steps_per_epoch=None,
        validation_steps=None,
        validation_batch_size=None,
        validation_freq=1,
    ):
        self._assert_compile_called("fit")
        limit = config.max_epochs()
        if limit and limit < epochs:
            warnings.warn(f"Limiting epochs to {limit}", stacklevel=2)
            epochs = limit
        self._eval_epoch_iterator = None
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = array_slicing.train_validation_split(
                (x, y, sample_weight), validation_split=validation_split
            )
        validation = None
        if validation_data is not None:
            parts = data_adapter_utils.unpack_x_y_sample_weight(validation_data)
            validation = dict(zip(("x", "y", "sample_weight"), parts, strict=True))
            validation["batch_size"] = validation_batch_size or batch_size
        batches = self._batches(
            x=x,
            y=y,
            sample_weight=sample_weight,
            batch_size=batch_size,
            steps_per_epoch=steps_per_epoch,
            shuffle=shuffle,
            class_weight=class_weight,
        )
        self._symbolic_build(iterator=batches)
        batches.reset()
        callbacks = self._callbacks(callbacks, batches, verbose, epochs, add_history=True)
        self.stop_training = False
        self.make_train_function()
        callbacks.on_train_begin()
        logs = {}
        for epoch in range(self._initial_epoch or initial_epoch, epochs):
            logs = self._train_epoch(epoch, batches, callbacks)
            if validation is not None and self._should_eval(epoch, validation_freq):
                logs.update(self._validated(validation, validation_steps, callbacks))
            callbacks.on_epoch_end(epoch, logs)
            if self.stop_training:
                break
        if isinstance(self.optimizer, optimizers_module.Optimizer) and epochs > 0:
            self.optimizer.finalize_variable_values(self.trainable_weights)
        self._eval_epoch_iterator = None
        callbacks.on_train_end(logs=logs)
        return self.history

    def _train_epoch(self, epoch, batches, callbacks):
        self.reset_metrics()
        callbacks.on_epoch_begin(epoch)
        logs = {}
        for begin, end, data in batches:
            callbacks.on_train_batch_begin(begin)
            logs = self.train_function(data)
            callbacks.on_train_batch_end(end, logs)
            if self.stop_training:
                break
        return dict(pythonify_logs(self._get_metrics_result_or_logs(logs)))

    def _validated(self, validation, steps, callbacks):
        if self._eval_epoch_iterator is None:
            self._eval_epoch_iterator = self._batches(
                **validation, steps_per_epoch=steps, shuffle=False
            )
        logs = self.evaluate(
            **validation,
            steps=steps,
            callbacks=callbacks,
            return_dict=True,
            _use_cached_eval_dataset=True,
        )
        return {f"val_{name}": value for name, value in logs.items()}

    @traceback_utils.filter_traceback
    def evaluate(
        self,
        x=None,
        y=None,
        batch_size=None,
        verbose="auto",
        sample_weight=None,
        steps=None,
        callbacks=None,
        return_dict=False,
        **kwargs,
    ):
        self._assert_compile_called("evaluate")
        use_cached = kwargs.pop("_use_cached_eval_dataset", False)
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        batches = self._eval_epoch_iterator if use_cached else None
        if batches is None:
            batches = self._batches(
                x=x,
                y=y,
                sample_weight=sample_weight,
                batch_size=batch_size,
                steps_per_epoch=steps,
                shuffle=False,
            )
        self._symbolic_build(iterator=batches)
        batches.reset()
        callbacks = self._callbacks(callbacks, batches, verbose)
        self.make_test_function()
        self.stop_evaluating = False
        callbacks.on_test_begin()
        logs = {}
        self.reset_metrics()
        for begin, end, data in batches:
            callbacks.on_test_batch_begin(begin)
            logs = self.test_function(data)
            callbacks.on_test_batch_end(end, logs)
            if self.stop_evaluating:
                break
        logs = pythonify_logs(self._get_metrics_result_or_logs(logs))
        callbacks.on_test_end(logs)
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    @traceback_utils.filter_traceback
    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        batches = self._batches(x=x, batch_size=batch_size, steps_per_epoch=steps, shuffle=False)
        callbacks = self._callbacks(callbacks, batches, verbose)
        self.make_predict_function()
        self.stop_predicting = False
        callbacks.on_predict_begin()
        outputs = []
        for begin, end, data in batches:
            callbacks.on_predict_batch_begin(begin)
            found = self.predict_function(data)
            outputs.append(tree.map_structure(convert_to_numpy, found))
            callbacks.on_predict_batch_end(end, {"outputs": found})
            if self.stop_predicting:
                break
        callbacks.on_predict_end()
        return concatenated(outputs, np.concatenate)

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        self._assert_compile_called("train_on_batch")
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError(
                    "Arguments `sample_weight` and `class_weight` cannot be specified at the same "
                    f"time. Received: sample_weight={sample_weight}, class_weight={class_weight}"
                )
            sample_weight = data_adapter_utils.class_weight_to_sample_weights(y, class_weight)
        data = (x, y, sample_weight)
        self._symbolic_build(data_batch=data)
        self.make_train_function()
        return self._logs_of_batch(self.train_function, data, return_dict)

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        self._assert_compile_called("test_on_batch")
        data = (x, y, sample_weight)
        self._symbolic_build(data_batch=data)
        self.make_test_function()
        return self._logs_of_batch(self.test_function, data, return_dict)

    def _logs_of_batch(self, function, data, return_dict):
        self.reset_metrics()
        logs = pythonify_logs(function([data]))
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    def predict_on_batch(self, x):
        self.make_predict_function()
        return tree.map_structure(convert_to_numpy, self.predict_function([(x,)]))
