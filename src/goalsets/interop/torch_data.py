"""Relabeled batches as a PyTorch data set."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from goalsets.core import GoalsetsError
from goalsets.interop.batches import RelabeledData
from goalsets.relabel.sampler import Generators


class RelabeledStream(IterableDataset[dict[str, Tensor]]):
    """An endless stream of batches of `RelabeledData`, as tensors.

    Batch i depends only on the seed and on i. So a `DataLoader` gives the same batches in the same
    order with any number of workers. To continue after a stop, pass the number of the next batch as
    `start`. Give the loader `batch_size=None`, because the batches are made here.

    Args:
        data: The data, and the form of its batches.
        batch_size: Transitions in a batch.
        seed: The seed of all batches.
        start: The number of the first batch.
        stop: The number before which the stream ends; None means never.
    """

    def __init__(
        self,
        data: RelabeledData,
        batch_size: int,
        *,
        seed: int = 0,
        start: int = 0,
        stop: int | None = None,
    ) -> None:
        """Draw nothing yet."""
        super().__init__()
        if batch_size < 1 or start < 0:
            raise GoalsetsError(
                f"expected batch_size of 1 or more and start of 0 or more, got {batch_size} and "
                f"{start}."
            )
        self.data = data
        self.batch_size = batch_size
        self.seed = seed
        self.start = start
        self.stop = stop

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        """Iterate over the batches, or over this worker's share of them."""
        worker = get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for index in itertools.count(self.start + first, step):
            if self.stop is not None and index >= self.stop:
                return
            arrays = self.data.sample(self.batch_size, self._generators(index))
            yield {name: torch.from_numpy(array) for name, array in arrays.items()}

    def _generators(self, index: int) -> Generators:
        seeds = np.random.SeedSequence((self.seed, index)).spawn(2)
        return Generators(*(np.random.default_rng(seed) for seed in seeds))
