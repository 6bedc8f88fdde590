"""Light and dark: every colour and font of the window. Colour carries meaning only, and never alone."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette
from PySide6.QtWidgets import QApplication


@dataclass(frozen=True, slots=True)
class Colors:
    """The colours of one scheme. Curves are Okabe-Ito blues and oranges, told apart by colour-blind eyes."""

    surface: QColor  # behind the panels
    panel: QColor
    field: QColor  # behind what can be typed
    border: QColor
    grid: QColor  # lines inside plots and the token grid
    text: QColor
    muted: QColor
    token: QColor
    token_wash: QColor  # behind every other token of the text
    position: QColor
    position_wash: QColor
    sum: QColor
    accent: QColor  # chosen cell, focus
    accent_wash: QColor
    fault: QColor
    fault_wash: QColor
    warning: QColor
    warning_wash: QColor
    ok: QColor


def _colors(**names: str) -> Colors:
    return Colors(**{name: QColor(value) for name, value in names.items()})


LIGHT = _colors(
    surface="#f5f7fa",
    panel="#ffffff",
    field="#f7f8fa",
    border="#d8dce2",
    grid="#e6e9ed",
    text="#16191d",
    muted="#626a75",
    token="#0068a8",
    token_wash="#e4f0f9",
    position="#b84e00",
    position_wash="#fdf0e2",
    sum="#3d4249",
    accent="#0b62b8",
    accent_wash="#e1eefb",
    fault="#b3261e",
    fault_wash="#fdeceb",
    warning="#8a5a00",
    warning_wash="#fff5df",
    ok="#1b7a34",
)
DARK = _colors(
    surface="#15181c",
    panel="#1d2126",
    field="#15181c",
    border="#363c44",
    grid="#2b3037",
    text="#eceff3",
    muted="#98a1ac",
    token="#56b4e9",
    token_wash="#1c2c3a",
    position="#e69f00",
    position_wash="#362a17",
    sum="#d3d8de",
    accent="#5aa9f0",
    accent_wash="#1d3246",
    fault="#ff7b72",
    fault_wash="#3f1f20",
    warning="#e3b341",
    warning_wash="#362c14",
    ok="#6fcf7f",
)


def is_dark(palette: QPalette) -> bool:
    """Return whether text of this palette is lighter than what is behind it."""
    text, behind = palette.color(QPalette.ColorRole.WindowText), palette.color(QPalette.ColorRole.Window)
    return text.lightness() > behind.lightness()


def colors(palette: QPalette) -> Colors:
    """Return the colours that go with a widget's palette."""
    return DARK if is_dark(palette) else LIGHT


def palette(scheme: Colors) -> QPalette:
    """Return the Qt palette of a scheme."""
    role = QPalette.ColorRole
    made = QPalette()
    for where, color in {
        role.Window: scheme.surface,
        role.WindowText: scheme.text,
        role.Base: scheme.field,
        role.AlternateBase: scheme.panel,
        role.Text: scheme.text,
        role.PlaceholderText: scheme.muted,
        role.Button: scheme.panel,
        role.ButtonText: scheme.text,
        role.BrightText: scheme.fault,
        role.ToolTipBase: scheme.panel,
        role.ToolTipText: scheme.text,
        role.Highlight: scheme.accent,
        role.HighlightedText: scheme.panel,
        role.Link: scheme.accent,
        role.Accent: scheme.accent,
        role.Light: scheme.panel,
        role.Midlight: scheme.grid,
        role.Mid: scheme.border,
        role.Dark: scheme.border,
        role.Shadow: scheme.border,
    }.items():
        made.setColor(where, color)
    for where in (role.WindowText, role.Text, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, where, scheme.muted)
    return made


def mono_font(size_delta: float = 0) -> QFont:
    """Return the fixed-width face, `size_delta` points away from the window's usual size."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(QApplication.font().pointSizeF() + size_delta)
    return font


class SchemeFollower(QObject):
    """Keeps the application's palette in step with the person's choice or the system's scheme.

    Signals: none; widgets hear of a change as `QEvent.Type.PaletteChange`.
    """

    def __init__(self, application: QApplication) -> None:
        super().__init__(application)
        self._application = application
        self._choice = Qt.ColorScheme.Unknown
        application.styleHints().colorSchemeChanged.connect(self._follow)
        self._follow()

    @property
    def choice(self) -> Qt.ColorScheme:
        """What the person asked for; Unknown follows the system."""
        return self._choice

    def set_choice(self, choice: Qt.ColorScheme) -> None:
        """Use light, dark, or (Unknown) whatever the system uses."""
        self._choice = choice
        self._follow()

    def _follow(self) -> None:
        wanted = self._choice
        if wanted is Qt.ColorScheme.Unknown:
            wanted = self._application.styleHints().colorScheme()
        self._application.setPalette(palette(DARK if wanted is Qt.ColorScheme.Dark else LIGHT))


def repaints_on(event: QEvent) -> bool:
    """Return whether an event means that colours have to be taken anew."""
    return event.type() in (QEvent.Type.PaletteChange, QEvent.Type.ApplicationPaletteChange)
