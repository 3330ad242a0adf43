"""The recorded effectiveness: a part of it is run again, and the page says what is recorded."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "experiments"))

import effectiveness  # noqa: E402

RECORDED = json.loads(effectiveness.RECORD.read_text("utf-8"))
#: Those that are quick; the p-values of all depend on all, so they are left to the whole experiment.
PART = (effectiveness.BASELINE, "dense", "pool re-ranking", "re-ranker", "hybrid by RRF")
ALONE = ("least", "value", "greatest", "as_scored", "better", "worse", "whatever_the_order")


@pytest.fixture(scope="module")
def found():
    return effectiveness.evaluate(effectiveness.systems(PART))


@pytest.mark.parametrize("name", PART)
def test_the_recorded_numbers_are_found_again(found, name):
    for measure, result in RECORDED["results"][name].items():
        wanted = {key: result[key] for key in ALONE if key in result}
        assert effectiveness.differences(wanted, {key: found[name][measure][key] for key in wanted}) == []


def test_every_system_and_measure_is_recorded():
    assert list(RECORDED["results"]) == list(effectiveness.PROGRAMS)
    assert set(RECORDED["live"]) == set(effectiveness.LIVE)
    for results in (RECORDED["results"] | RECORDED["live"]).values():
        assert list(results) == list(map(str, effectiveness.MEASURES))
        for result in results.values():
            assert result["least"] <= result["value"] <= result["greatest"]


def test_the_page_says_what_is_recorded():
    text = effectiveness.PAGE.read_text("utf-8")
    assert text == effectiveness.page(RECORDED), "python experiments/effectiveness.py writes it anew"
    assert "no claim of better search" in text


def test_live_terrier_finds_what_was_recorded_of_it():
    for measure, result in RECORDED["live"]["BM25, Terrier"].items():
        recorded = RECORDED["results"][effectiveness.BASELINE][measure]
        assert {key: result[key] for key in recorded} == recorded


def test_a_changed_number_and_a_missing_system_are_differences():
    changed = json.loads(json.dumps(RECORDED))
    changed["results"]["dense"]["P@10"]["value"] += 1e-5
    del changed["results"]["re-ranker"]
    assert len(effectiveness.differences(RECORDED, changed)) == 2
    without = RECORDED | {"live": {}}
    assert effectiveness.differences(RECORDED, without) == []
