"""gyre.queue: queues that are filled and emptied eagerly, and in functions."""

import pytest

import gyre


def test_rows_come_out_in_order():
    queue = gyre.queue.FIFOQueue(3, [gyre.int32, gyre.float32], shapes=[[], [2]], name="rows")
    assert isinstance(queue, gyre.queue.QueueBase) and queue.name == "rows"
    assert queue.enqueue([1, [1.0, 2.0]]) is None
    queue.enqueue((2, [3.0, 4.0]))
    assert int(queue.size()) == 2
    number, row = queue.dequeue()
    assert int(number) == 1 and row.numpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match="incompatible"):
        queue.enqueue([1, [1.0]])
    queue.close()
    assert int(queue.dequeue()[0]) == 2
    with pytest.raises(gyre.errors.OutOfRangeError, match="closed"):
        queue.dequeue()


def test_many_rows():
    queue = gyre.queue.FIFOQueue(10, gyre.int32, [()])
    queue.enqueue_many([[1, 2, 3]])
    assert queue.dequeue_many(2).numpy().tolist() == [1, 2] and int(queue.dequeue()) == 3


def test_functions_go_through_queues():
    queue = gyre.queue.FIFOQueue(10, gyre.int32, [()])

    @gyre.function
    def breadth_first(n):
        total = 0
        queue.enqueue(1)
        while queue.size() > 0:
            node = queue.dequeue()
            total += node
            if 2 * node <= n:
                queue.enqueue(2 * node)
            if 2 * node + 1 <= n:
                queue.enqueue(2 * node + 1)
        return total

    assert int(breadth_first(7)) == 28 and int(breadth_first(1)) == 1


def test_names_share_a_queue():
    one, other = (
        gyre.queue.FIFOQueue(2, gyre.string, shared_name="shared", names="word") for _ in range(2)
    )
    one.enqueue({"word": "a"})
    assert other.dequeue()["word"].numpy() == b"a"
    unnamed = [gyre.queue.FIFOQueue(2, gyre.int32) for _ in range(2)]
    unnamed[0].enqueue(1)
    assert [int(queue.size()) for queue in unnamed] == [1, 0]
