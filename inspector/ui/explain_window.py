"""The long explanation of a kind of fault, in a window beside the main one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QPalette, QTextDocument
from PySide6.QtWidgets import QDialog, QFrame, QTextBrowser, QVBoxLayout, QWidget

if TYPE_CHECKING:
    from inspector.diagnosis import Fault

_MARKDOWN = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML


class ExplainWindow(QDialog):
    """Shows one explanation at a time and lets the person go on working; Escape closes it.

    Signals: those of every dialog.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setModal(False)
        self.resize(620, 520)
        self._page = QTextBrowser()
        self._page.setAccessibleName("Explanation")
        self._page.setFrameShape(QFrame.Shape.NoFrame)
        self._page.viewport().setBackgroundRole(QPalette.ColorRole.AlternateBase)
        self._page.document().setDocumentMargin(18)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._page)

    def show_fault(self, fault: Fault) -> None:
        """Show a kind of fault's page, and bring the window to the front."""
        self.setWindowTitle(f"{fault.code} {fault.name}")
        self._page.document().setMarkdown(page(fault), _MARKDOWN)
        self._page.verticalScrollBar().setValue(0)
        self.show()
        self.raise_()
        self.activateWindow()


def page(fault: Fault) -> str:
    """Return a kind of fault as Markdown: what it is, what PyTorch says by itself, the explanation."""
    return "\n\n".join(
        (
            f"## {fault.code} {fault.name}",
            f"**{fault.summary}**",
            f"PyTorch by itself: `{fault.torch}`",
            fault.explanation,
        )
    )
