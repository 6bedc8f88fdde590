"""What an inspection finds: a frozen value that every renderer reads. Arrays and layers are made when asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from inspector.diagnosis import Severity
from inspector.material import Material
from inspector.recipe import Recipe
from inspector.tokenizer import Tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from inspector.batches import LoaderPlan
    from inspector.config import InputConfig
    from inspector.diagnosis import Diagnosis, StageShape
    from inspector.files.tensors import TensorFile
    from inspector.trace import Trace


@dataclass(frozen=True, slots=True)
class Grid:
    """The batch to look at, also where no look-up is possible.

    `rows` are IDs (B lists of up to T numbers; ragged, negative or not whole where the input is). `starts[r]` is the
    index in the text's tokens of the first ID of row r, None for IDs that did not come from a text. `row_labels` are
    the sample numbers. `expected_rows` and `expected_columns` are what a full batch has: cells beyond the rows that
    exist are missing. `complete` says that this batch is one the loader yields.
    """

    rows: tuple[tuple[int | float, ...], ...] = ()
    targets: tuple[tuple[int, ...], ...] = ()
    starts: tuple[int | None, ...] = ()
    samples: tuple[int, ...] = ()
    expected_rows: int = 0
    expected_columns: int = 0
    complete: bool = False


@dataclass(frozen=True)
class Result:
    """The verdict on one inspection and one of its batches.

    Attributes:
        config: the inspection, every size filled in.
        batch: the index of the batch that was judged.
        batches: how many batches there are (1 for IDs given as a batch).
        diagnoses: what was found, in the way of the data.
        shapes: what goes in and comes out, stage by stage.
        grid: the batch to look at.
        material: what was read from outside the inspection.
        plan: the loader's plan; None where it plays no part or makes none.
        ids: the (B, T) IDs that are looked up; None where a fault forbids it.
    """

    config: InputConfig
    batch: int
    batches: int
    diagnoses: tuple[Diagnosis, ...]
    shapes: tuple[StageShape, ...]
    grid: Grid
    material: Material = field(default_factory=Material)
    plan: LoaderPlan | None = None
    ids: tuple[tuple[int, ...], ...] | None = field(default=None, repr=False)
    targets: tuple[tuple[int, ...], ...] | None = field(default=None, repr=False)

    @property
    def tokens(self) -> Tokens | None:
        """A text and its IDs; None for a large file's, and for IDs that come from elsewhere."""
        tokens = self.material.tokens
        return tokens if isinstance(tokens, Tokens) else None

    @property
    def file(self) -> TensorFile | None:
        """What stored rows are read from: a file, or a live model."""
        return self.material.file

    @cached_property
    def recipe(self) -> Recipe:
        """Where the layers' rows come from."""
        return Recipe.of(self.config, self.material.stored)

    @property
    def ok(self) -> bool:
        """Whether nothing of severity error was found."""
        return all(d.severity is not Severity.ERROR for d in self.diagnoses)

    @cached_property
    def token_ids(self) -> NDArray[np.int64] | None:
        """The batch's IDs, (B, T) int64, read-only; None where a fault forbids it."""
        return _array(self.ids)

    @cached_property
    def target_ids(self) -> NDArray[np.int64] | None:
        """The targets, (B, T) int64, read-only; None for IDs given as a batch and where a fault forbids it."""
        return _array(self.targets)

    @cached_property
    def trace(self) -> Trace:
        """The rows of this batch, from layers built as the inspection says (imports torch).

        Raises:
            NotEnoughMemory: the layers do not fit.
            FileTrouble: the checkpoint was changed or taken away.
        """
        from inspector import layers, trace

        return trace.of(self, layers.build(self.recipe, file=self.file))

    @property
    def token_rows(self) -> NDArray[Any] | None:
        """The token rows, (B, T, D), read-only, float32 or float64 as the table is; None where a fault forbids it."""
        return self.trace.all_token_rows if self.ids is not None else None

    @property
    def position_rows(self) -> NDArray[Any] | None:
        """The position rows, (T, D), or (B, T, D) for positions given row by row; None where there are none."""
        return self.trace.all_position_rows if self.ids is not None else None

    @property
    def sum(self) -> NDArray[Any] | None:
        """The input embedding, (B, T, D), read-only, float32 or wider; None where a fault forbids it."""
        return self.trace.all_sums if self.ids is not None else None

    def explain(self) -> str:
        """Return the report as text."""
        from inspector.report import text

        return text(self)

    def to_json(self) -> str:
        """Return the report as JSON (the schema of the inspection report, version 1)."""
        from inspector.report import json_text

        return json_text(self)

    def _repr_html_(self) -> str:
        from inspector.report import html

        return html(self)


def _array(rows: tuple[tuple[int, ...], ...] | None) -> NDArray[np.int64] | None:
    if rows is None:
        return None
    import numpy as np

    array = np.array(rows, dtype=np.int64).reshape(len(rows), -1)
    array.flags.writeable = False
    return array
