"""Real files, each written by its own library, opened through the window: the rows are those the library reads."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import tiktoken
import torch
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from safetensors import safe_open
from safetensors.torch import save_file

from inspector import resources, tokenizer
from inspector.config import InputConfig
from inspector.diagnosis import Stage, Status
from inspector.material import LARGE_TEXT
from inspector.recipe import Role
from inspector.ui import app
from inspector.ui.main_window import MainWindow
from inspector.ui.session import Session
from inspector.ui.theme import SchemeFollower
from tests.files import samples

TEXT = resources.text("sample.txt")
TORCH_MS = 60_000
NAMES = {Role.TOKEN: "transformer.wte.weight", Role.POSITION: "transformer.wpe.weight"}
IDS = (300 + np.arange(900) * 37 % 5000).astype(np.uint16)


@pytest.fixture
def window(qtbot, qapp):
    follower = SchemeFollower(qapp)
    window = MainWindow(Session(InputConfig(text=TEXT), pause_ms=0), follower)
    window.showNormal()
    window.resize(1280, 800)
    window._session.start()
    settled(qtbot, window)
    yield window
    window.close()
    window.deleteLater()
    follower.deleteLater()


def settled(qtbot, window):
    """Wait until the verdict and the rows are those of what is inspected now."""
    session = window._session

    def done():
        pending = window.document._lane.busy or session.busy or session._pause.isActive() or session._building.busy
        return session.result is not None and not pending and not session.rows.reason.endswith("…")

    qtbot.waitUntil(done, timeout=TORCH_MS)
    QApplication.processEvents()
    return session.result


def dropped(qtbot, window, *paths):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    nothing = Qt.KeyboardModifier.NoModifier
    action, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    window.dropEvent(QDropEvent(QPoint(9, 9), action, data, left, nothing))
    return settled(qtbot, window)


def undo(qtbot, window):
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    window.layers_panel.more_button.setFocus()
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    return settled(qtbot, window)


def shown(window, kind):
    return window.rows_panel.view.plots[kind].curve.getData()[1]


def title(window, kind):
    return window.rows_panel.view.plots[kind].caption.title


def same_bits(found, expected):
    wide = expected.float().numpy()
    return found.dtype == wide.dtype and found.tobytes() == wide.tobytes()


def gpt2_like(dtype=torch.float32, rows=50257, width=32):
    return {NAMES[Role.TOKEN]: samples.table(rows, width, dtype), NAMES[Role.POSITION]: samples.table(64, width, dtype)}


def chosen_id(window):
    result, cell = window._session.result, window._session.cell
    return result.grid.rows[cell.row][cell.column], cell.column


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn], ids=str)
def test_a_dropped_checkpoint_shows_its_own_rows(qtbot, window, tmp_path, dtype):
    path = samples.safetensors(tmp_path / "model.safetensors", gpt2_like(dtype))
    before = window._session.config
    result = dropped(qtbot, window, path)
    assert result.ok, result.explain()
    window._session.set_cell(2, 3)
    token_id, column = chosen_id(window)
    with safe_open(path, "pt") as file:
        token = file.get_tensor(NAMES[Role.TOKEN])[token_id]
        position = file.get_tensor(NAMES[Role.POSITION])[column]
    assert same_bits(shown(window, "token"), token)
    assert same_bits(shown(window, "position"), position)
    assert title(window, "token").startswith(f"transformer.wte.weight[{token_id}]")
    assert title(window, "position") == f"transformer.wpe.weight[{column}]"
    assert title(window, "sum") == f"transformer.wte.weight[{token_id}] + transformer.wpe.weight[{column}]"
    assert window.top_row.facts.toolTip() == f"rows of model.safetensors · {str(dtype).removeprefix('torch.')}"
    assert window._session.config.text == TEXT
    undo(qtbot, window)
    assert window._session.config == before
    assert window.top_row.facts.toolTip() == "seed 123 · float32 · fresh layers"


def pytorch(tmp_path):
    return samples.pytorch(tmp_path / "pytorch_model.bin", gpt2_like())


def wrapped(tmp_path):
    return samples.pytorch(tmp_path / "ckpt.pt", {"model": gpt2_like(), "iter_num": 3})


def sharded(tmp_path):
    tables = gpt2_like()
    names = {name: f"model-0000{n}-of-00002.safetensors" for n, name in enumerate(tables, 1)}
    for name, file in names.items():
        save_file({name: tables[name]}, tmp_path / file)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": names}))
    return index


def folder(tmp_path):
    (tmp_path / "gpt").mkdir()
    samples.safetensors(tmp_path / "gpt" / "model.safetensors", gpt2_like())
    (tmp_path / "gpt" / "config.json").write_text('{"vocab_size": 50257, "n_embd": 32, "n_positions": 64}')
    return tmp_path / "gpt"


@pytest.mark.parametrize("make", [pytorch, wrapped, sharded, folder])
def test_each_kind_of_checkpoint_opens(qtbot, window, tmp_path, make):
    window.document.open([make(tmp_path)])
    result = settled(qtbot, window)
    assert result.ok, result.explain()
    token_id, column = chosen_id(window)
    assert same_bits(shown(window, "token"), gpt2_like()[NAMES[Role.TOKEN]][token_id])
    assert same_bits(shown(window, "position"), gpt2_like()[NAMES[Role.POSITION]][column])


def test_gguf_opens_and_says_that_it_is_dequantised(qtbot, window, tmp_path):
    import gguf

    path = samples.gguf_file(tmp_path / "model.gguf")
    window._session.set_values({"text": None, "token_ids": ((3, 1, 4, 1), (5, 9, 2, 6))}, "IDs")
    dropped(qtbot, window, path)
    reader = gguf.GGUFReader(path)
    tensor = next(t for t in reader.tensors if t.name == "token_embd.weight")
    table = torch.from_numpy(gguf.quants.dequantize(tensor.data, tensor.tensor_type))
    token_id, _ = chosen_id(window)
    assert same_bits(shown(window, "token"), table[token_id])
    assert title(window, "token").startswith(f"token_embd.weight[{token_id}]")
    assert "dequantised" in window.top_row.facts.toolTip()


def test_sizes_are_the_files_and_an_edited_one_is_compared(qtbot, window, tmp_path):
    dropped(qtbot, window, samples.safetensors(tmp_path / "model.safetensors", gpt2_like()))
    fields = window.layers_panel.field
    sizes = ("token_embedding.num_embeddings", "token_embedding.embedding_dim", "position_embedding.num_embeddings")
    assert [fields(name).value for name in sizes] == [50257, 32, 64]
    field = fields("token_embedding.num_embeddings")
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "50000")
    result = settled(qtbot, window)
    assert "F606" in [d.code for d in result.diagnoses]
    QTest.mouseClick(window.diagnosis_panel.fix_button, Qt.MouseButton.LeftButton)
    assert settled(qtbot, window).ok
    assert field.value == 50257


def test_a_model_without_positions_is_no_fault(qtbot, window, tmp_path):
    save_file({"model.embed_tokens.weight": samples.table(50257, 16)}, tmp_path / "llama.safetensors")
    result = dropped(qtbot, window, tmp_path / "llama.safetensors")
    assert result.ok, result.explain()
    token_id, _ = chosen_id(window)
    assert title(window, "sum") == f"model.embed_tokens.weight[{token_id}], nothing added"
    assert same_bits(shown(window, "sum"), samples.table(50257, 16)[token_id])
    window._session.set_value("loader.stride", 2)
    undo(qtbot, window)
    assert settled(qtbot, window).ok


def test_tied_and_transposed_tables_say_so(qtbot, window, tmp_path):
    save_file({"lm_head.weight": samples.table(50257, 16)}, tmp_path / "tied.safetensors")
    dropped(qtbot, window, tmp_path / "tied.safetensors")
    token_id, _ = chosen_id(window)
    assert title(window, "token").startswith(f"lm_head.weight[{token_id}] (tied)")
    lying = {"wte.weight": samples.table(50257, 16).T.contiguous(), "wpe.weight": samples.table(64, 16)}
    save_file(lying, tmp_path / "lying.safetensors")
    dropped(qtbot, window, tmp_path / "lying.safetensors")
    token_id, _ = chosen_id(window)
    assert title(window, "token").startswith(f"wte.weight[:, {token_id}]")
    assert same_bits(shown(window, "token"), lying["wte.weight"][:, token_id].contiguous())


def test_another_table_is_chosen_and_undone(qtbot, window, tmp_path):
    tables = {**gpt2_like(), "other.table": samples.table(50257, 32) * 2}
    dropped(qtbot, window, samples.safetensors(tmp_path / "model.safetensors", tables))
    QTest.mouseClick(window.layers_panel.more_button, Qt.MouseButton.LeftButton)
    choices = window.layers_panel.tables
    box = choices.boxes[Role.TOKEN]
    assert box.currentText() == NAMES[Role.TOKEN]
    assert choices.reasons[Role.TOKEN].text().startswith("50,257 × 32, float32: ")
    box.setFocus()
    box.setCurrentIndex(box.findText("other.table"))
    box.activated.emit(box.currentIndex())
    settled(qtbot, window)
    token_id, _ = chosen_id(window)
    assert title(window, "token").startswith(f"other.table[{token_id}]")
    assert same_bits(shown(window, "token"), tables["other.table"][token_id])
    undo(qtbot, window)
    assert title(window, "token").startswith("transformer.wte.weight[")
    assert box.currentText() == NAMES[Role.TOKEN]


def test_closing_the_checkpoint_builds_layers_again(qtbot, window, tmp_path):
    dropped(qtbot, window, samples.safetensors(tmp_path / "model.safetensors", gpt2_like()))
    window._session.set_text("a text that was typed since")
    settled(qtbot, window)
    assert window.window_actions.close_checkpoint.isEnabled()
    window.window_actions.close_checkpoint.trigger()
    result = settled(qtbot, window)
    assert (result.material.checkpoint, result.config.token_embedding.embedding_dim) == (None, 256)
    assert not window.window_actions.close_checkpoint.isEnabled()
    undo(qtbot, window)
    assert window._session.config.checkpoint is not None
    undo(qtbot, window)
    assert window._session.config.checkpoint is None
    assert window._session.config.text == "a text that was typed since"


def test_typing_beside_a_checkpoint_reads_it_once(qtbot, window, tmp_path):
    result = dropped(qtbot, window, samples.safetensors(tmp_path / "model.safetensors", gpt2_like()))
    file = result.file
    window.text_panel.setFocus()
    QTest.keyClicks(QApplication.focusWidget(), "Now ")
    assert settled(qtbot, window).file is file


def test_a_broken_checkpoint_is_a_diagnosis(qtbot, window, tmp_path):
    whole = samples.safetensors(tmp_path / "model.safetensors", gpt2_like()).read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(whole[:5000])
    before = window._session.config
    result = dropped(qtbot, window, tmp_path / "cut.safetensors")
    assert [d.code for d in result.diagnoses if d.stage is Stage.FILE] == ["F602"]
    box = window.stage_strip.boxes[Stage.FILE]
    assert box.isVisible()
    assert box.output == "cut.safetensors"
    assert next(s.status for s in result.shapes if s.stage is Stage.FILE) is Status.FAULT
    assert result.grid.rows[0][:2] == (464, 20450)  # the text is looked at all the same
    words = window.rows_panel.view.plots["token"].backdrop.words
    assert "ends after" in words
    assert [window.layers_panel.field(f"token_embedding.{n}").text() for n in ("num_embeddings", "embedding_dim")] == [
        "",
        "",
    ]
    undo(qtbot, window)
    assert window._session.config == before
    assert not box.isVisible()


@pytest.mark.parametrize("name", ["ids.bin", "ids.npy", "ids.pt", "ids.json", "ids.jsonl"])
def test_each_file_of_token_ids_opens(qtbot, window, tmp_path, name):
    path = tmp_path / name
    if name == "ids.bin":
        IDS.tofile(path)
    elif name == "ids.npy":
        np.save(path, IDS)
    elif name == "ids.pt":
        torch.save(torch.from_numpy(IDS.astype(np.int64)), path)
    else:
        lines = [IDS.tolist()] if name == "ids.json" else IDS.reshape(9, 100).tolist()
        path.write_text("\n".join(json.dumps(line) for line in lines))
    result = dropped(qtbot, window, path)
    assert [list(row) for row in result.grid.rows] == IDS[:32].reshape(8, 4).tolist()
    page = window.text_panel.passage_page
    assert page.isVisible()
    assert page.note.text().startswith(f"{name}: ")
    assert result.material.id_file.reason in page.note.text()
    assert window.text_panel.info.text() == "900 token IDs"
    decoded = tiktoken.Encoding.decode(tokenizer.gpt2()._encoding, IDS[:400].tolist())
    assert page.editor.text == decoded
    window._session.set_cell(1, 2)
    start, end = page._passage.span(6)
    assert page.editor.text[start:end] == tokenizer.gpt2().token_bytes[int(IDS[6])].decode()
    undo(qtbot, window)
    assert window.text_panel.editor.text == TEXT


def test_a_tokenizer_opens(qtbot, window, tmp_path):
    characters = sorted(set(TEXT))
    meta = {
        "vocab_size": len(characters),
        "itos": dict(enumerate(characters)),
        "stoi": {c: i for i, c in enumerate(characters)},
    }
    (tmp_path / "meta.pkl").write_bytes(pickle.dumps(meta))
    result = dropped(qtbot, window, tmp_path / "meta.pkl")
    assert result.grid.rows[0] == tuple(characters.index(c) for c in TEXT.strip()[:4])
    undo(qtbot, window)
    assert window._session.config.tokenizer.encoding == "gpt2"


def test_a_short_text_file_is_shown_and_edited_into_a_text(qtbot, window, tmp_path):
    (tmp_path / "short.txt").write_text("the sound of bells")
    (tmp_path / "inspection.json").write_text('{"text_file": "short.txt"}')
    dropped(qtbot, window, tmp_path / "inspection.json")
    editor = window.text_panel.editor
    assert (editor.isVisible(), editor.text) == (True, "the sound of bells")
    editor.setFocus()
    editor.set_caret(0)
    QTest.keyClicks(editor, "I")
    settled(qtbot, window)
    assert (window._session.config.text, window._session.config.text_file) == ("Ithe sound of bells", None)


def test_a_long_text_is_encoded_while_it_is_looked_at(qtbot, window, tmp_path):
    line = "The keeper counted the ships by the sound of their bells — déjà vu.\n"
    (tmp_path / "long.txt").write_text(line * (2 * LARGE_TEXT // len(line)))
    session, seen = window._session, []
    session.result_changed.connect(lambda result: seen.append(len(result.material.ids or ())))
    window.document.open([tmp_path / "long.txt"])
    qtbot.waitUntil(lambda: len(seen) > 0, timeout=TORCH_MS)
    result = settled(qtbot, window)
    expected = tokenizer.encode((tmp_path / "long.txt").read_text(), "plain").ids
    assert (0 < seen[0] < len(expected), seen[-1]) == (True, len(expected))
    assert seen == sorted(seen)
    assert list(result.material.ids[:64]) == list(expected[:64])
    session.set_batch(result.batches // 2)
    settled(qtbot, window)
    page = window.text_panel.passage_page
    assert "long.txt: a text of" in page.note.text()
    assert page.editor.text in (tmp_path / "long.txt").read_text()
    seen.clear()
    undo(qtbot, window)
    window.window_actions.redo.trigger()
    qtbot.waitUntil(lambda: seen[-1:] == [len(expected)], timeout=TORCH_MS)
    assert len([n for n in seen if n > 1000]) == 1  # all of it at once: it was encoded before


def long_text(path, times=6):
    line = "The keeper counted the ships by the sound of their bells, one for each boat that came home.\n"
    path.write_text(line * (times * LARGE_TEXT // len(line)))
    return path


def test_escape_stops_the_encoding_and_f5_goes_on(qtbot, window, tmp_path):
    session, page = window._session, window.text_panel.passage_page
    window.document.open([long_text(tmp_path / "long.txt")])
    qtbot.waitUntil(lambda: session.busy.startswith("Encoding long.txt"), timeout=TORCH_MS)
    window.window_actions.cancel.trigger()
    result = settled(qtbot, window)
    assert not result.material.tokens.complete
    assert "encoded so far" in page.note.text()
    window.window_actions.rebuild.trigger()
    result = settled(qtbot, window)
    assert result.material.tokens.complete
    assert "encoded so far" not in page.note.text()


def test_a_long_text_that_is_cut_while_it_is_encoded_is_a_diagnosis(qtbot, window, tmp_path):
    path, session = long_text(tmp_path / "long.txt"), window._session
    window.document.open([path])
    qtbot.waitUntil(lambda: session.busy.startswith("Encoding long.txt"), timeout=TORCH_MS)
    path.write_text("short")
    result = settled(qtbot, window)
    assert [d.stage for d in result.diagnoses][:1] == [Stage.FILE]
    assert not window.text_panel.passage_page.editor.isVisible()
    undo(qtbot, window)
    assert window.text_panel.editor.text == TEXT


def test_the_command_line_opens_a_checkpoint(qtbot, qapp, tmp_path):
    path = samples.safetensors(tmp_path / "model.safetensors", gpt2_like())
    program = app.Program(qapp, [path], "light")
    program.window.show()
    qtbot.waitUntil(lambda: program.session.config.checkpoint is not None, timeout=TORCH_MS)
    settled(qtbot, program.window)
    token_id, _ = chosen_id(program.window)
    assert same_bits(shown(program.window, "token"), gpt2_like()[NAMES[Role.TOKEN]][token_id])
    program.end()
    program.deleteLater()
