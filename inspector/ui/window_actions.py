"""The window's menus and keys."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSettings, Qt, Slot
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QWidget

from inspector import __version__
from inspector.presets import PRESETS
from inspector.ui.gallery import GalleryMenu
from inspector.ui.panel import Panel

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QUndoStack

    from inspector.config import InputConfig
    from inspector.ui.main_window import MainWindow
    from inspector.ui.message_window import MessageWindow
    from inspector.ui.session import Session
    from inspector.ui.theme import SchemeFollower

SCHEMES = {"system": Qt.ColorScheme.Unknown, "light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark}
SCHEME_SETTING = "view/scheme"

_INSPECTIONS = "Inspections (*.json *.toml)"
_TEXTS = "Texts (*.txt *.md)"


class WindowActions(QObject):
    """What the menus offer. `open` and `save` have buttons in the window too.

    Signals: none.
    """

    def __init__(self, window: MainWindow, session: Session, scheme: SchemeFollower) -> None:
        super().__init__(window)
        self._window = window
        self._session = session
        self._scheme = scheme
        standard = QKeySequence.StandardKey
        self.open = self._action("&Open…", self._on_open, standard.Open)
        self.save = self._action("&Save", self._on_save, standard.Save)
        self.save_as = self._action("Save &as…", self._on_save_as, standard.SaveAs)
        self.open_folder = self._action("Open &folder…", self._on_open_folder)
        self.close_checkpoint = self._action("&Close checkpoint", self._on_close_checkpoint)
        self.quit = self._action("&Quit", window.close, "Ctrl+Q")
        self.undo = self._action("&Undo", self._on_undo, standard.Undo)
        self.redo = self._action("&Redo", self._on_redo, standard.Redo)
        self.fit = self._action("&Fit the plots to the cell", window.rows_panel.fit)
        self.next_panel = self._action("&Next panel", partial(self._go_to_panel, 1), "F6")
        self.previous_panel = self._action("&Previous panel", partial(self._go_to_panel, -1), "Shift+F6")
        self.cancel = self._action("&Cancel building", session.cancel, "Esc")
        self.rebuild = self._action("&Build again", session.rebuild, "F5")
        self.message = self._action("I have an error &message…", self._on_message)
        self.message.setToolTip("Paste what PyTorch printed, and see what can be behind it")
        self._message_window: MessageWindow | None = None
        self.about = self._action("&About Embedding Inspector", self._on_about)
        self._fill_menus()
        for stack in self._stacks():
            stack.indexChanged.connect(self._on_turn_changed)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._on_turn_changed)
        self._show_undo()
        session.config_changed.connect(self._show_checkpoint)
        self._show_checkpoint(session.config)

    def _action(
        self, words: str, run: Callable[[], object], key: QKeySequence.StandardKey | str | None = None
    ) -> QAction:
        action = QAction(words, self._window)
        if isinstance(key, QKeySequence.StandardKey):
            action.setShortcuts(key)  # all of them: Redo has two on some desktops
        elif key is not None:
            action.setShortcut(key)
        action.triggered.connect(lambda _checked=False: run())
        return action

    def _fill_menus(self) -> None:
        bar = self._window.menuBar()
        files = bar.addMenu("&File")
        _fill(files, self.open, self.open_folder, self.close_checkpoint, None)
        _fill(files, self.save, self.save_as, None, self.quit)
        _fill(bar.addMenu("&Edit"), self.undo, self.redo)
        view = bar.addMenu("&View")
        schemes = QActionGroup(view)
        for name, choice in SCHEMES.items():
            action = self._action(f"&{name.capitalize()} colors", partial(self._on_scheme, name))
            action.setCheckable(True)
            action.setChecked(choice is self._scheme.choice)
            schemes.addAction(action)
            view.addAction(action)
        _fill(view, None, self.fit, None, self.next_panel, self.previous_panel)
        layers = bar.addMenu("&Layers")
        for preset in PRESETS:
            label = f"preset {preset.name}"
            choose = partial(self._session.set_values, preset.values, label, is_another=True)
            layers.addAction(self._action(preset.name, choose))
        layers.addSeparator()
        layers.addMenu(GalleryMenu(self._session, layers))
        _fill(layers, None, self.cancel, self.rebuild)
        help_ = bar.addMenu("&Help")
        help_.setToolTipsVisible(True)
        _fill(help_, self.message, None, self.about)

    # ---- file ----------------------------------------------------------------------------------------------------

    def _on_open(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self._window, "Open a file of any kind", "", _filters())
        if name:
            self._window.document.open([Path(name)])

    def _on_open_folder(self) -> None:
        name = QFileDialog.getExistingDirectory(self._window, "Open a folder that holds a checkpoint")
        if name:
            self._window.document.open([Path(name)])

    def _on_close_checkpoint(self) -> None:
        from inspector import checkpoint

        self._session.replace_config(checkpoint.beside(self._session.config, None), "close the checkpoint")

    @Slot(object)
    def _show_checkpoint(self, config: InputConfig) -> None:
        self.close_checkpoint.setEnabled(config.checkpoint is not None)

    def _on_save(self) -> None:
        path = self._window.document.path
        if path is None:
            self._on_save_as()
        else:
            self._window.document.save(path)

    def _on_save_as(self) -> None:
        document = self._window.document
        proposed = document.path or Path(document.name or "inspection").with_suffix(".json")
        name, _ = QFileDialog.getSaveFileName(self._window, "Save the inspection", str(proposed), _INSPECTIONS)
        if name:
            path = Path(name)
            document.save(path if path.suffix else path.with_suffix(".json"))

    # ---- edit ----------------------------------------------------------------------------------------------------

    def _stacks(self) -> tuple[QUndoStack, QUndoStack]:
        return self._window.text_panel.undo_stack, self._session.undo_stack

    def _whose_undo(self) -> QUndoStack:
        """Return what Undo works on: what was typed, while the text has the focus and there is something to undo."""
        typing, arguments = self._stacks()
        return typing if self._window.text_panel.editor.hasFocus() and typing.canUndo() else arguments

    def _whose_redo(self) -> QUndoStack:
        typing, arguments = self._stacks()
        return typing if self._window.text_panel.editor.hasFocus() and typing.canRedo() else arguments

    def _on_undo(self) -> None:
        self._whose_undo().undo()

    def _on_redo(self) -> None:
        self._whose_redo().redo()

    @Slot()
    def _on_turn_changed(self) -> None:
        self._show_undo()

    def _show_undo(self) -> None:
        undo, redo = self._whose_undo(), self._whose_redo()
        self.undo.setText(f"&Undo {undo.undoText()}".strip())
        self.undo.setEnabled(undo.canUndo())
        self.redo.setText(f"&Redo {redo.redoText()}".strip())
        self.redo.setEnabled(redo.canRedo())

    # ---- view and help -------------------------------------------------------------------------------------------

    def _on_scheme(self, name: str) -> None:
        self._scheme.set_choice(SCHEMES[name])
        QSettings().setValue(SCHEME_SETTING, name)

    def _go_to_panel(self, step: int) -> None:
        panels = self._window.panels
        focused = QApplication.focusWidget()
        here = next((i for i, p in enumerate(panels) if focused and (p is focused or p.isAncestorOf(focused))), None)
        place = (-1 if step > 0 else 0) if here is None else here
        for _ in panels:
            place = (place + step) % len(panels)
            target = _first_stop(panels[place])
            if target is not None:
                target.setFocus(Qt.FocusReason.ShortcutFocusReason)
                return

    def _on_message(self) -> None:
        from inspector.ui.message_window import MessageWindow  # not needed to start

        if self._message_window is None:
            self._message_window = MessageWindow(self._session, self._window)
        self._message_window.present()

    def _on_about(self) -> None:
        self._session.set_notice(
            f"Embedding Inspector {__version__}: the input stage of a GPT-style model, row by row. MIT licence.",
            quiet=True,
        )


def _filters() -> str:
    """Return the filters of the open dialog: everything that is known, then each kind."""
    from inspector import files
    from inspector.files.token_files import ID_SUFFIXES

    ids = f"Token IDs ({' '.join(f'*{suffix}' for suffix in ID_SUFFIXES)})"
    tokenizers = "Tokenizers (*.json *merges.txt *.pkl)"
    patterns = dict.fromkeys(("*.json", "*.toml", "*.txt", "*.md", "*.pkl"))
    patterns.update(dict.fromkeys(f"*{suffix}" for suffix in (*files.SUFFIXES, *ID_SUFFIXES)))
    every = f"All that can be opened ({' '.join(patterns)})"
    return ";;".join([every, _INSPECTIONS, _TEXTS, ids, tokenizers, files.dialog_filter()])


def _fill(menu: QMenu, *actions: QAction | None) -> None:
    for action in actions:
        if action is None:
            menu.addSeparator()
        else:
            menu.addAction(action)


def _first_stop(panel: QWidget) -> QWidget | None:
    """Return where the Tab key first stops in a panel; None where it does not."""
    stop = panel.first_stop if isinstance(panel, Panel) else panel.focusProxy()
    if stop is not None and stop.isVisible():
        return stop
    for widget in panel.findChildren(QWidget):
        if widget.isVisible() and widget.isEnabled() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
            return widget
    return None
