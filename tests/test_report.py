"""A result in words."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given

from inspector import inspection_file, pipeline, report
from inspector.config import InputConfig
from inspector.diagnosis import Severity
from inspector.live_inspection import LiveInspection
from inspector.material import Material
from tests.inspections import inspections


def judged(values: dict[str, Any]) -> Any:
    return pipeline.run(pipeline.Request(inspection_file.from_mapping(values)))


FAULTY = {"token_ids": [[464, 582, 50085, 11]], "token_embedding": {"num_embeddings": 50000}}


def test_the_text_of_a_fault() -> None:
    assert report.text(judged(FAULTY)).splitlines() == [
        "1 error",
        "",
        "✗ Token embedding    (1, 4) → –  table (50000, 256)",
        "✓ Position embedding (4,) → (4, 256)  table (4, 256)",
        "– Sum                blocked",
        "",
        "✗ error E301 token-id-out-of-range (Token embedding)",
        "  token ID 50085 (' donkey') has no row in the token table, whose rows are 0 to 49999",
        "  help: set vocab_size to 50257, the size of the gpt2 vocabulary",
        "  fix: token_embedding.num_embeddings = 50257",
        "  cells: (0, 2)",
        "  PyTorch says: IndexError: index out of range in self",
    ]


def test_many_cells_are_cut_short() -> None:
    text = report.text(
        judged(
            {
                "token_ids": [[9] * 8],
                "tokenizer": {"encoding": None},
                "token_embedding": {"num_embeddings": 2},
                "position_embedding": {"num_embeddings": 8},
            }
        )
    )
    assert "  cells: (0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (0, 5) and 2 more" in text


def test_the_summary_counts() -> None:
    assert report.summary(judged({"text": "a" * 400, "loader": {"stride": 4}})).startswith("No fault found")
    assert report.summary(judged({"token_ids": [[1, 2, 3, 4]]})) == "No fault found"
    assert report.summary(judged({"token_ids": [[1]], "position_embedding": None})) == "No fault found (1 note)"
    assert report.summary(judged({"text": ""})) == "1 error, 1 note"
    both = judged(
        {"token_ids": [[1]], "embedding_dim": 8, "token_embedding": {"embedding_dim": -1, "num_embeddings": -1}}
    )
    assert report.summary(both) == "2 errors"


class Balanced(HTMLParser):
    """Reads HTML and remembers what is open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@given(inspections())
def test_every_form_tells_every_diagnosis(inspection: dict[str, Any]) -> None:
    result = judged(inspection)
    text, mapping, html = result.explain(), json.loads(result.to_json()), result._repr_html_()
    assert mapping == json.loads(json.dumps(report.as_mapping(result)))
    parser = Balanced()
    parser.feed(html)
    assert not parser.open
    assert set(parser.seen) <= {"p", "b", "table", "tr", "th", "td", "ul", "li", "br", "small"}
    for d in result.diagnoses:
        assert d.message in text
        assert d.help in text
        assert any(entry["message"] == d.message for entry in mapping["diagnoses"])
    assert len(re.findall("<li>", html)) == len(result.diagnoses)
    assert result.ok == all(d.severity is not Severity.ERROR for d in result.diagnoses)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_json_has_no_nan_and_no_infinity(value: float) -> None:
    result = judged({"token_embedding": {"num_embeddings": value}})
    found = json.loads(result.to_json(), parse_constant=pytest.fail)["diagnoses"][-1]
    assert found["data"] == {"num_embeddings": str(value)}


def test_html_is_escaped() -> None:
    html = judged({"text_file": "<script>.txt"})._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;.txt" in html


def test_a_live_models_report_says_how_its_layers_were_found() -> None:
    live = LiveInspection(
        InputConfig(token_ids=((1, 2),)), how="The layers were found by <their> names.", notes=("It scales the sum.",)
    )
    result = pipeline.run(pipeline.Request(live.config), Material(live=live))
    assert report.text(result).splitlines()[1:3] == [live.how, *live.notes]
    assert "<p>The layers were found by &lt;their&gt; names.</p><p>It scales the sum.</p>" in report.html(result)
