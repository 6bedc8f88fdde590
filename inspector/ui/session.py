"""The one mutable object of the window: gestures call its methods, widgets repaint from its signals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtGui import QUndoStack

from inspector import tokenizer, torch_start
from inspector.diagnosis import Cell
from inspector.material import Read, inputs, shares_checkpoint
from inspector.trouble import FileTrouble
from inspector.ui.jobs import Job, Lane, attempt
from inspector.ui.reading import judges_at_once, keeps_layers, names_file, read_and_judge, reads_at_once
from inspector.ui.steps import NO_SOURCE, Change, Replace, readable
from inspector.ui.text_encoding import TextEncoding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.config import InputConfig
    from inspector.diagnosis import Diagnosis
    from inspector.layers import Layers
    from inspector.material import Material
    from inspector.result import Result
    from inspector.trace import Trace

# Values of one batch's rows that are looked up at once; beyond it in the background.
AT_ONCE_VALUES = 1_000_000
# A size is typed digit by digit: the layers are built when the hand pauses.
PAUSE_MS = 150


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of the shown batch, or the sentence that says why there are none (yet).

    `progress` is how far the layers are, 0 to 1, None where that is not known; `cancellable` says whether Escape helps.
    """

    trace: Trace | None = None
    reason: str = ""
    progress: float | None = None
    cancellable: bool = False


class Session(QObject):
    """What is inspected, what was found, what is chosen.

    A setter compares, stores everything, then emits; widgets keep no state that can be derived from here.

    Signals:
        config_changed(object): the `InputConfig`, text included.
        result_changed(object): the `Result`; always after config_changed.
        rows_changed(object): the `Rows` of the shown batch.
        cell_changed(object): the chosen `Cell`, or None when the grid is empty.
        diagnosis_changed(object): the chosen `Diagnosis`, or None.
        busy_changed(object): a sentence on what is going on in the background, or "".
        notice_changed(object): a sentence about the person's last action that did not work, or "".
    """

    config_changed = Signal(object)
    result_changed = Signal(object)
    rows_changed = Signal(object)
    cell_changed = Signal(object)
    diagnosis_changed = Signal(object)
    busy_changed = Signal(object)
    notice_changed = Signal(object)

    def __init__(
        self,
        config: InputConfig,
        parent: QObject | None = None,
        *,
        pause_ms: int = PAUSE_MS,
        material: Material | None = None,
    ) -> None:
        """Make a session.

        Args:
            config: what is inspected at first.
            parent: the object's owner.
            pause_ms: how long after a key the layers are built.
            material: what was read for it before, such as a live model.
        """
        super().__init__(parent)
        self._config = config
        self._model = (config, material.live) if material is not None and material.live is not None else None
        self._batch = 0
        self._material = material  # None while it is to be read anew
        self._read: Read | None = None  # what was read last, of which the next reading takes what it can
        self._result: Result | None = None
        self._layers: Layers | None = None
        self._rows = Rows(reason="Loading torch …")
        self._cell: Cell | None = None
        self._diagnosis: Diagnosis | None = None
        self._notice = ""
        self._notice_is_quiet = False
        self._edits = 0
        self._inspection = 0
        self._vocabulary_ready = False
        self._torch_ready = False
        self.undo_stack = QUndoStack(self)
        self._reading = Lane("reading", self)
        self._encoding = TextEncoding(self)
        self._building = Lane("building", self)
        self._tracing = Lane("tracing", self)
        self._reading.done.connect(self._on_read)
        self._reading.failed.connect(self._on_read_failed)
        self._encoding.changed.connect(self._on_busy)
        self._encoding.grown.connect(self._on_grown)
        self._encoding.failed.connect(self._on_encoding_failed)
        self._building.done.connect(self._on_built)
        self._building.failed.connect(self._on_build_failed)
        self._building.progressed.connect(self._on_build_progressed)
        self._tracing.done.connect(self._on_traced)
        self._tracing.failed.connect(self._on_build_failed)
        for lane in (self._reading, self._building, self._tracing):
            lane.busy_changed.connect(self._on_busy)
        self._pause_ms = pause_ms
        self._pause = QTimer(self, singleShot=True)
        self._pause.timeout.connect(self._build)

    # ---- what there is -------------------------------------------------------------------------------------------

    @property
    def config(self) -> InputConfig:
        """What is inspected, as it was stated."""
        return self._config

    @property
    def inspection(self) -> int:
        """A number for the inspection: another one when an example or a preset took its place, this one when undone."""
        return self._inspection

    @property
    def sizes(self) -> InputConfig:
        """What is inspected, every size filled in: from the checkpoint, where there is one and it can be read."""
        known = self._read.material.checkpoint if self._read is not None else None
        if known is not None and shares_checkpoint(self._config, self._read):
            return known.filled(self._config).resolved()
        if self._config.checkpoint is None:
            return self._config.resolved()
        width = self._config.embedding_dim if self._config.is_stated("embedding_dim") else None
        return replace(self._config, embedding_dim=width)

    @property
    def result(self) -> Result | None:
        """The newest verdict; None until the vocabulary is loaded."""
        return self._result

    @property
    def rows(self) -> Rows:
        """The rows of the shown batch, or why there are none."""
        return self._rows

    @property
    def cell(self) -> Cell | None:
        """The chosen cell of the grid."""
        return self._cell

    @property
    def diagnosis(self) -> Diagnosis | None:
        """The chosen diagnosis."""
        return self._diagnosis

    @property
    def notice(self) -> str:
        """What did not work, in a sentence."""
        return self._notice

    @property
    def busy(self) -> str:
        """What is going on in the background, in a sentence."""
        if self._reading.busy:
            if not self._vocabulary_ready:
                return "Loading the vocabulary …"
            if self._material is None:
                return "Reading the file …" if names_file(self._config) else "Encoding the text …"
        if self._encoding.busy:
            return self._encoding.words
        if self._building.busy:
            return "Building the layers …" if self._torch_ready else "Loading torch …"
        return "Looking up rows …" if self._tracing.busy else ""

    # ---- gestures ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin the first inspection; the window is on screen by now."""
        self.config_changed.emit(self._config)
        self._judge()

    def set_text(self, text: str) -> None:
        """Inspect another text. The editor has its own undo, so this is not on the undo stack."""
        if text == self._config.text:
            return
        self._set_config(readable(self._config.with_values({**NO_SOURCE, "text": text})))

    def replace_text(self, start: int, end: int, text: str) -> None:
        """Replace the characters `start` to `end` - 1 of the text: an edit in an excerpt of it."""
        whole = self._config.text
        if whole is None:  # a file's, or the sample
            read_before = self._result.tokens if self._result is not None else None
            whole = read_before.text if read_before is not None else ""
        self.set_text(whole[:start] + text + whole[end:])

    def set_value(self, name: str, value: Any) -> None:
        """Change one argument, such as "loader.stride"; undoable.

        The digits of a number are one step until `finish_edit`.
        """
        self._push({name: value}, f"change {name}", self._edits)

    def finish_edit(self) -> None:
        """Say that the hand has left the field: the next change of it is a step of its own."""
        self._edits += 1

    def set_values(self, values: Mapping[str, Any], label: str, *, is_another: bool = False) -> None:
        """Change several fields in one undoable step; `is_another` says that it is another inspection then."""
        self._push(values, label, None, is_another=is_another)

    def _push(self, values: Mapping[str, Any], label: str, edit: int | None, *, is_another: bool = False) -> None:
        wanted = self._config.with_values(values)
        if readable(wanted) != wanted:
            values = {**values, "tokenizer.encoding": "gpt2"}
        new = {name: value for name, value in values.items() if self._config.value(name) != value}
        if not new:
            return
        old = {name: self._config.value(name) for name in new}
        self.undo_stack.push(Change(self, label, old, new, edit, is_another=is_another))

    def replace_config(self, config: InputConfig, label: str, *, is_another: bool = False) -> None:
        """Inspect something else altogether, in one undoable step; `is_another`: it is nothing that was there."""
        config = readable(config)
        if config != self._config:
            self.undo_stack.push(Replace(self, label, self._config, config, is_another=is_another))

    def set_batch(self, batch: int) -> None:
        """Show another batch; the nearest there is."""
        last = max(0, (self._result.batches if self._result else 1) - 1)
        batch = min(max(0, batch), last)
        if batch != self._batch:
            self._batch = batch
            self._judge()

    def set_cell(self, row: int, column: int) -> None:
        """Choose a cell of the grid: the nearest that exists."""
        cell = self._nearest(Cell(row, column))
        if cell != self._cell:
            self._cell = cell
            self.cell_changed.emit(cell)

    def choose_token(self, index: int) -> None:
        """Show the batch and choose the cell that hold the token at `index` of the text, where one does."""
        plan = self._result.plan if self._result else None
        found = plan.batch_holding(index) if plan else None
        if found is None:
            self._choose_in_grid(index)
            return
        batch, row, column = found
        self.set_batch(batch)
        self.set_cell(row, column)

    def set_diagnosis(self, diagnosis: Diagnosis | None) -> None:
        """Choose a diagnosis: its first cell becomes the chosen cell, also when it was chosen already."""
        if diagnosis != self._diagnosis:
            self._diagnosis = diagnosis
            self.diagnosis_changed.emit(diagnosis)
        if diagnosis is not None and diagnosis.cells:
            self.set_cell(*diagnosis.cells[0])

    def apply_fix(self, diagnosis: Diagnosis) -> None:
        """Make the repair a diagnosis proposes; undoable."""
        if diagnosis.fix:
            self.set_values(diagnosis.fix, f"fix {diagnosis.name}")

    @property
    def notice_is_quiet(self) -> bool:
        """Whether the notice is no more than a word that was asked for."""
        return self._notice_is_quiet

    def set_notice(self, notice: str, *, quiet: bool = False) -> None:
        """Say what did not work, or quietly what was asked for; "" takes it back."""
        if (notice, quiet) != (self._notice, self._notice_is_quiet):
            self._notice, self._notice_is_quiet = notice, quiet
            self.notice_changed.emit(notice)

    def cancel(self) -> None:
        """Stop building or looking up."""
        if self._encoding.stop():
            self._on_grown(None)
        if self._pause.isActive() or self._building.busy or self._tracing.busy:
            self._pause.stop()
            self._building.cancel()
            self._tracing.cancel()
            self._set_rows(Rows(reason="Cancelled. Change an argument, or press F5, to build the layers."))

    def rebuild(self) -> None:
        """Build the layers again after they were cancelled or did not fit; read files again, which may have changed."""
        if names_file(self._config):
            self._encoding.go_on()
            if not self._encoding.busy:
                self._material, self._read = None, None
                self._judge()
                return
        self._look_up()
        self.rows_changed.emit(self._rows)

    def close(self) -> None:
        """Stop everything that is going on; nothing is emitted afterwards."""
        self._pause.stop()
        self.blockSignals(True)
        for lane in (self._reading, self._building, self._tracing):
            lane.close()
        self._encoding.close()
        torch_start.wait()

    # ---- text to verdict -----------------------------------------------------------------------------------------

    def go_to(self, config: InputConfig, inspection: int) -> None:
        """Inspect `config`: a step on the undo stack, which knows what number its inspection has."""
        self._inspection = inspection
        self._set_config(config)

    def _set_config(self, config: InputConfig) -> None:
        before, self._config = self._config, config
        self.set_notice("")
        self.config_changed.emit(config)
        if inputs(config) != inputs(before):
            self._material = None
        self._take_model()
        self._judge()

    def _take_model(self) -> None:
        """Keep to a live model's rows as long as the layers are its own; others are constructed, as anywhere."""
        if self._model is None or self._read is None:
            return
        stated, live = self._model
        live_now = live if keeps_layers(self._config, stated) else None
        if self._read.material.live is not live_now:
            self._read = self._read._replace(material=replace(self._read.material, live=live_now))
            if self._material is not None:
                self._material = replace(self._material, live=live_now)

    def _judge(self) -> None:
        """Judge what is stated: at once where that is quick, otherwise in the background."""
        config, batch, material, before = self._config, self._batch, self._material, self._read
        quick = judges_at_once(config, before) if material is not None else reads_at_once(config, before)
        quick = quick and self._vocabulary_ready and (self._torch_ready or not config.loader.shuffle)
        if quick:
            self._reading.cancel()
            read, error = attempt(lambda: read_and_judge(config, batch, material, before))
            if error is None:
                self._show(config, *read)
            else:
                self._on_read_failed(error)
        else:

            def work(_: Job) -> tuple[InputConfig, Material, Result]:
                if not self._vocabulary_ready:
                    tokenizer.import_libraries()  # first: beside torch's they would wait, the interpreter in hand
                    torch_start.preload()
                return config, *read_and_judge(config, batch, material, before)

            self._reading.submit(work)

    @Slot(object)
    def _on_read(self, outcome: tuple[InputConfig, Material, Result]) -> None:
        config, material, result = outcome
        self._vocabulary_ready = True
        if config == self._config:
            self._show(config, material, result)

    @Slot(object)
    def _on_read_failed(self, error: object) -> None:
        kind = "" if isinstance(error, FileTrouble) else f"This cannot be judged: {type(error).__name__}: "
        self.set_notice(f"{kind}{error}")

    @Slot(object)
    def _on_grown(self, _text: object) -> None:
        """Judge anew what has become of a text: more batches than before."""
        if self._material is not None:
            self._material = replace(self._material)  # another value: the store in it is another by now
            self._judge()

    @Slot(object)
    def _on_encoding_failed(self, error: object) -> None:
        """Judge a text that could not be read to its end as the file it is: one that cannot be used."""
        if isinstance(error, FileTrouble) and self._material is not None:
            self._material = replace(self._material, tokens=None, trouble=error, field="text_file")
            self._judge()
        else:
            self.set_notice(str(error))

    def _show(self, config: InputConfig, material: Material, result: Result) -> None:
        self._read = Read(config, material)
        self._encoding.follow(material)
        before = self._result
        self._material, self._result, self._batch = material, result, result.batch
        cell = self._nearest(self._cell or Cell(0, 0))
        cell_moved, self._cell = cell != self._cell, cell
        again = [d for d in result.diagnoses if self._diagnosis and d.code == self._diagnosis.code]
        diagnosis = again[0] if again else None
        diagnosis_moved, self._diagnosis = diagnosis != self._diagnosis, diagnosis
        if not self._shows_rows_of(before):
            self._look_up()
        self.result_changed.emit(result)
        self.rows_changed.emit(self._rows)
        if cell_moved:
            self.cell_changed.emit(cell)
        if diagnosis_moved:
            self.diagnosis_changed.emit(diagnosis)

    def _shows_rows_of(self, before: Result | None) -> bool:
        """Return whether the rows that are shown, of the verdict before, are those of this one too."""
        now, layers = self._result, self._layers
        if before is None or now is None or layers is None or self._rows.trace is None:
            return False
        same_batch = (before.ids, before.grid.rows, before.config) == (now.ids, now.grid.rows, now.config)
        return same_batch and layers.recipe == now.recipe and layers.file is now.file

    # ---- verdict to rows -----------------------------------------------------------------------------------------

    def _look_up(self) -> None:
        """Look up the shown batch in its layers, or begin to build them where the arguments changed."""
        if self._result is None:
            return
        known = self._layers
        if known is None or known.recipe != self._result.recipe or known.file is not self._result.file:
            self._layers = None
            reason = "Building the layers …" if self._torch_ready else "Loading torch …"
            self._rows = Rows(reason=reason, cancellable=self._torch_ready)
            if self._torch_ready:
                self._building.cancel()
                # Where all tables are stored there is nothing to build: no digit is waited for.
                self._pause.start(0 if not self._result.recipe.nbytes else self._pause_ms)
            elif not self._building.busy:
                self._build()
        else:
            self._pause.stop()
            self._building.cancel()
            self._trace()

    @Slot()
    def _build(self) -> None:
        if self._result is None:
            return
        recipe, file = self._result.recipe, self._result.file

        def work(job: Job) -> Layers:
            torch_start.finish()  # takes a second the first time
            from inspector import layers

            return layers.build(recipe, job.progress, job.cancelled, file)

        self._building.submit(work)

    @Slot(object)
    def _on_built(self, layers: Layers) -> None:
        self._torch_ready = True
        self._layers = layers
        self._look_up()
        self.rows_changed.emit(self._rows)

    @Slot(object)
    def _on_build_failed(self, error: object) -> None:
        self._torch_ready = True
        self._set_rows(Rows(reason=str(error)))

    @Slot(object)
    def _on_build_progressed(self, fraction: float) -> None:
        self._torch_ready = True
        self._set_rows(Rows(reason="Building the layers …", progress=fraction, cancellable=True))

    def _trace(self) -> None:
        result, layers = self._result, self._layers
        assert result is not None
        assert layers is not None
        cells = sum(len(row) for row in result.grid.rows)
        widths = [layer.embedding_dim for layer in (layers.recipe.token, layers.recipe.position) if layer]

        def work(_: Job | None = None) -> tuple[Result, Trace]:
            from inspector import trace

            return result, trace.of(result, layers)

        if layers.file is None and cells * max(widths, default=0) <= AT_ONCE_VALUES:
            self._tracing.cancel()
            traced, error = attempt(work)
            self._rows = Rows(trace=traced[1]) if error is None else Rows(reason=str(error))
        else:
            self._rows = Rows(reason="Looking up rows …", cancellable=True)
            self._tracing.submit(work)

    @Slot(object)
    def _on_traced(self, outcome: tuple[Result, Trace]) -> None:
        result, trace = outcome
        if result is self._result:
            self._set_rows(Rows(trace=trace))

    def _set_rows(self, rows: Rows) -> None:
        self._rows = rows
        self.rows_changed.emit(rows)

    # ---- small things --------------------------------------------------------------------------------------------

    @Slot(object)
    def _on_busy(self, _busy: object) -> None:
        self.busy_changed.emit(self.busy)

    def _nearest(self, cell: Cell) -> Cell | None:
        rows = self._result.grid.rows if self._result else ()
        if not any(rows):
            return None
        row = min(max(0, cell.row), len(rows) - 1)
        if not rows[row]:
            row = next(r for r, ids in enumerate(rows) if ids)
        return Cell(row, min(max(0, cell.column), len(rows[row]) - 1))

    def _choose_in_grid(self, index: int) -> None:
        """Choose a token that no batch holds but the grid shows (a text too short for a batch)."""
        grid = self._result.grid if self._result else None
        if grid is None:
            return
        for row, (start, ids) in enumerate(zip(grid.starts, grid.rows, strict=True)):
            if start is not None and start <= index < start + len(ids):
                self.set_cell(row, index - start)
                return
