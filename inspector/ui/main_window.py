"""The window: where the panels are, and what is remembered of that. Its menus and keys are in `window_actions`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QSettings, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QClipboard, QCloseEvent, QDragEnterEvent, QDropEvent, QGuiApplication, QPaintEvent
from PySide6.QtWidgets import QMainWindow, QSplitter, QVBoxLayout, QWidget

from inspector.ui.config_panel import LayersPanel
from inspector.ui.diagnosis_panel import DiagnosisPanel
from inspector.ui.document import Document
from inspector.ui.notice_bar import NoticeBar
from inspector.ui.row_plots import RowsPanel
from inspector.ui.stage_strip import StageStrip
from inspector.ui.text_panel import TextPanel
from inspector.ui.token_grid import BatchPanel
from inspector.ui.top_row import TopRow
from inspector.ui.window_actions import WindowActions

if TYPE_CHECKING:
    from inspector.ui.session import Session
    from inspector.ui.theme import SchemeFollower

TITLE = "Embedding Inspector"
SIZE = QSize(1440, 900)  # at first; less where the screen is smaller

_MARGIN = 14
_GAP = 12
_TITLE_BAR = 40  # what a desktop adds to the window's height, or so
_REACHABLE = 80  # of the window's top edge that has to be on a screen, to get hold of it


class MainWindow(QMainWindow):
    """Everything at once: text and batch on the left, layers and rows on the right, stages and verdict below.

    Signals:
        painted(object): the window has been painted for the first time; None.
        closed(object): the window was closed; itself.
    """

    painted = Signal(object)
    closed = Signal(object)

    def __init__(self, session: Session, scheme: SchemeFollower, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._was_painted = False
        self.document = Document(session, self)
        self.text_panel = TextPanel(session)
        self.batch_panel = BatchPanel(session)
        self.layers_panel = LayersPanel(session)
        self.rows_panel = RowsPanel(session)
        self.stage_strip = StageStrip(session)
        self.diagnosis_panel = DiagnosisPanel(session)
        self.notice_bar = NoticeBar(session)
        self.window_actions = WindowActions(self, session, scheme)
        self.top_row = TopRow(session, self.window_actions.open, self.window_actions.save)
        self._columns = QSplitter(Qt.Orientation.Horizontal)
        self._left = QSplitter(Qt.Orientation.Vertical)
        self._lay_out()
        self._restore()
        self.setAcceptDrops(True)
        self.document.changed.connect(self._show_title)
        self._show_title(self.document)
        self.text_panel.setFocus()

    @property
    def panels(self) -> list[QWidget]:
        """The parts of the window that F6 goes to in turn."""
        return [
            self.text_panel,
            self.batch_panel,
            self.layers_panel,
            self.rows_panel,
            self.stage_strip,
            self.diagnosis_panel,
        ]

    def _lay_out(self) -> None:
        right = QWidget()
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(_GAP)
        column.addWidget(self.layers_panel)
        column.addWidget(self.rows_panel, 1)
        self._left.addWidget(self.text_panel)
        self._left.addWidget(self.batch_panel)
        self._left.setSizes([193, 522])
        self._left.setStretchFactor(0, 1)  # a short window takes from both: the batch is to stay whole
        self._left.setStretchFactor(1, 2)
        self._columns.addWidget(self._left)
        self._columns.addWidget(right)
        self._columns.setSizes([570, 805])
        self._columns.setStretchFactor(0, 41)
        self._columns.setStretchFactor(1, 59)
        for splitter in (self._left, self._columns):
            splitter.setChildrenCollapsible(False)
            splitter.setHandleWidth(_GAP)
        central = QWidget()
        whole = QVBoxLayout(central)
        whole.setContentsMargins(_MARGIN, _GAP, _MARGIN, _MARGIN)
        whole.setSpacing(_GAP)
        whole.addWidget(self.top_row)
        whole.addWidget(self.notice_bar)
        whole.addWidget(self._columns, 1)
        whole.addWidget(self.stage_strip)
        whole.addWidget(self.diagnosis_panel)
        self.setCentralWidget(central)
        for first, second in zip(self.panels, self.panels[1:], strict=False):
            QWidget.setTabOrder(first, second)

    # ---- what is remembered --------------------------------------------------------------------------------------

    def _restore(self) -> None:
        settings = QSettings()
        if not self.restoreGeometry(_bytes(settings, "window/geometry")):
            free = self.screen().availableSize()
            self.resize(SIZE.boundedTo(free))
            if free.width() <= SIZE.width() or free.height() <= SIZE.height() + _TITLE_BAR:
                self.setWindowState(Qt.WindowState.WindowMaximized)
        self._columns.restoreState(_bytes(settings, "window/columns"))
        self._left.restoreState(_bytes(settings, "window/left"))
        top = self.geometry().adjusted(_REACHABLE, 0, -_REACHABLE, 0)
        top.setHeight(1)
        if not any(screen.availableGeometry().intersects(top) for screen in QGuiApplication.screens()):
            here = self.screen().availableGeometry()  # its monitor is gone
            self.resize(self.size().boundedTo(here.size()))
            self.move(here.topLeft())

    def _remember(self) -> None:
        settings = QSettings()
        settings.setValue("window/geometry", self.saveGeometry())
        settings.setValue("window/columns", self._columns.saveState())
        settings.setValue("window/left", self._left.saveState())

    # ---- the window itself ---------------------------------------------------------------------------------------

    @Slot(object)
    def _show_title(self, document: Document) -> None:
        self.setWindowTitle(f"{document.name}[*] — {TITLE}" if document.name else TITLE)
        self.setWindowModified(bool(document.name) and document.is_modified)

    @Slot()
    def _on_painted(self) -> None:
        self.painted.emit(None)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._was_painted:
            self._was_painted = True
            QTimer.singleShot(0, self._on_painted)  # once the panels are painted too

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _dropped_files(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        self.document.open(_dropped_files(event))

    def closeEvent(self, event: QCloseEvent) -> None:
        self._remember()
        self.hide()  # work that goes on may take a moment to stop
        self.document.close()
        self._session.close()
        self.rows_panel.close()  # pyqtgraph's scene must go before the application does
        leave_clipboard()
        super().closeEvent(event)
        self.closed.emit(self)


def leave_clipboard() -> None:
    """Make what was copied here Qt's own: Qt lets go of it after Python has ended, too late for what Python made."""
    clipboard = QGuiApplication.clipboard()
    if clipboard.ownsClipboard():
        clipboard.setText(clipboard.text())
    if clipboard.supportsSelection() and clipboard.ownsSelection():
        clipboard.setText(clipboard.text(QClipboard.Mode.Selection), QClipboard.Mode.Selection)


def _bytes(settings: QSettings, key: str) -> QByteArray:
    found = settings.value(key, QByteArray(), type=QByteArray)
    return found if isinstance(found, QByteArray) else QByteArray()


def _dropped_files(event: QDropEvent) -> list[Path]:
    return [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
