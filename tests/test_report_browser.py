"""The report page in a real browser: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_pages import HOSTILE, LEARNERS, LOSSES, hostile_data, mixed_data, page_of, train

from labelboost.data import Dataset, make_multilabel
from labelboost.estimators.base import BoostingClassifier
from labelboost.report import write_report

playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on the PATH (Debian: apt-get install chromium)"
)

Open = Callable[..., Any]

CONTRAST = """
() => {
  const luminance = (rgb) => rgb.map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const colour = (text) => text.match(/[\\d.]+/g).map(Number);
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const found = colour(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || found[3] > 0) return found.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !node.checkVisibility()) continue;
    if (node.closest("script, style, :disabled, svg, option")) continue;
    const [a, b] = [colour(getComputedStyle(node).color).slice(0, 3), ground(node)].map(luminance);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push([node.className, node.textContent.slice(0, 40), ratio]);
  }
  return poor;
}
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright_api.sync_playwright() as playwright:
        # The sandbox of chromium does not work for root, as which containers run tests.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Open a page from disk; whatever the browser complains about, or asks for, is an error."""
    complaints: list[str] = []
    contexts = []

    def opened(path: Path, **options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append("a dialog"), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith(("file:", "data:"))
                else complaints.append(request.url)
            ),
        )
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> tuple[BoostingClassifier, Dataset, Path]:
    """A model with many rules, and its page."""
    train_data, data = mixed_data(n=150), mixed_data(n=90, seed=5)
    model = train(train_data, n_rules=60)
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(model, data, path)
    return model, data, path


def column(page: Any, table: str, number: int) -> list[str]:
    cells = page.locator(f"{table} tbody tr > :nth-child({number})")
    return [text.strip() for text in cells.all_inner_texts()]


def test_tables_are_sorted_by_their_headings_and_by_keyboard(digits: Any, open_page: Open) -> None:
    _, data, path = digits
    page = open_page(path)
    frequency = page.locator("#label-table th").nth(1)
    counts = [int(text.split(" ")[0]) for text in column(page, "#label-table", 2)]
    assert counts == sorted(data.Y.sum(axis=0).tolist(), reverse=True)
    assert frequency.get_attribute("aria-sort") == "descending"
    frequency.locator("button").focus()
    page.keyboard.press("Enter")
    assert frequency.get_attribute("aria-sort") == "ascending"
    counts = [int(text.split(" ")[0]) for text in column(page, "#label-table", 2)]
    assert counts == sorted(data.Y.sum(axis=0).tolist())
    page.locator("#label-table th button").first.click()
    assert column(page, "#label-table", 1) == sorted(data.label_names)
    assert frequency.get_attribute("aria-sort") == "none"
    page.fill("#label-search", "label 2")
    # Functions only: the page's policy forbids the evaluation of strings.
    page.wait_for_function("() => document.querySelectorAll('#label-table tbody tr').length === 1")


def shown_rules(page: Any) -> list[int]:
    rules = page.locator("#rule-list > li")
    return [int(rule.get_attribute("data-rule")) for rule in rules.all()]


def wait_for_count(page: Any, count: int, total: int) -> None:
    text = f"All {total} rules" if count == total else f"{count} of {total} rules"
    page.wait_for_function(
        "text => document.getElementById('rule-status').textContent === text", arg=text
    )


def test_rules_are_filtered_searched_and_ordered(digits: Any, open_page: Open) -> None:
    model, _, path = digits
    page = open_page(path)
    total = len(model.rules_)
    assert page.inner_text("#rule-status") == f"All {total} rules"
    assert shown_rules(page) == list(range(20))
    page.click("#rule-pager button:has-text('Next')")
    assert shown_rules(page) == list(range(20, 40))

    raising = [r for r, rule in enumerate(model.rules_) if rule.head[2] > 0]
    page.select_option("#rule-label", "2")
    page.select_option("#rule-effect", "raise")
    wait_for_count(page, len(raising), total)
    raising.sort(key=lambda r: (-np.float32(model.rules_[r].head[2]), r))
    assert shown_rules(page) == raising[:20]
    page.click("#rule-form button[type=reset]")
    wait_for_count(page, total, total)

    with_colour = [
        r for r, rule in enumerate(model.rules_) if any(c.feature == 1 for c in rule.conditions)
    ]
    page.select_option("#rule-feature", label="colour")
    wait_for_count(page, len(with_colour), total)
    assert shown_rules(page) == with_colour[:20]
    page.select_option("#rule-feature", "")
    page.fill("#rule-search", "COLOUR")
    wait_for_count(page, len(with_colour), total)
    page.fill("#rule-search", "no such words")
    wait_for_count(page, 0, total)
    page.fill("#rule-search", "")

    narrow = [r for r, rule in enumerate(model.rules_) if 10 <= rule.coverage <= 60]
    page.fill("#rule-least", "10")
    page.fill("#rule-most", "60")
    wait_for_count(page, len(narrow), total)
    page.select_option("#rule-order", "rarest")
    narrow.sort(key=lambda r: (model.rules_[r].coverage, r))
    page.wait_for_function(
        "rule => document.querySelector('#rule-list li').dataset.rule === rule", arg=str(narrow[0])
    )
    assert shown_rules(page) == narrow[:20]


def test_labels_and_features_lead_to_their_rules(digits: Any, open_page: Open) -> None:
    model, _, path = digits
    page = open_page(path)
    page.click("#label-table button.link:has-text('label 1')")
    moved = sum(rule.head[1] != 0 for rule in model.rules_)
    wait_for_count(page, moved, len(model.rules_))
    assert page.input_value("#rule-label") == "1"
    page.click("#feature-table button.link:has-text('height')")
    page.wait_for_function("() => document.getElementById('rule-label').value === ''")
    assert page.locator("#rule-feature option:checked").inner_text() == "height"


def choose(page: Any, position: int) -> None:
    page.fill("#example-number", str(position))
    page.wait_for_function(
        "text => document.querySelector('#example-detail h3').textContent.startsWith(text)",
        arg=f"Example {position} ",
    )


def number(text: str) -> float:
    return float(text.split("\n", maxsplit=1)[0].replace("\u2212", "-"))


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("loss", LOSSES)
def test_examples_show_sets_scores_and_contributions(
    learner: str, loss: str, open_page: Open, tmp_path: Path
) -> None:
    model = train(mixed_data(), learner, loss=loss)
    data = mixed_data(n=90, seed=5)
    page = open_page(page_of(model, data, tmp_path))
    scores, predicted = model.decision_function(data.X), model.predict(data.X)
    for row in (70, 33):
        choose(page, row + 1)
        lines = page.locator("#example-detail > p")
        for line, labels in ((0, data.Y[row]), (1, predicted[row])):
            text = lines.nth(line).inner_text()
            shown = [name for name in data.label_names if name in text]
            assert shown == [data.label_names[k] for k in np.flatnonzero(labels)]
        table = "#example-detail [aria-label='Scores of the labels'] table"
        order = np.argsort(-scores[row], kind="stable")
        assert column(page, table, 1) == [data.label_names[k] for k in order]
        for text, k in zip(column(page, table, 2), order, strict=True):
            assert number(text) == pytest.approx(scores[row, k], abs=0.006)
        page.select_option("#example-explained", "3")
        added = column(page, "#example-detail [aria-label='Rules that fired'] table", 3)
        rules = [
            rule.head[3]
            for rule in model.rules_
            if rule.head[3]
            and all(c.covers(data.X[row : row + 1, c.feature])[0] for c in rule.conditions)
        ]
        assert len(added) == min(10, len(rules))
        largest = sorted(map(abs, rules), reverse=True)[:10]
        np.testing.assert_allclose([abs(number(text)) for text in added], largest, atol=0.006)
        shown_sum = page.inner_text("#example-sum")
        assert number(shown_sum.rsplit(" ", 1)[1].rstrip(".")) == pytest.approx(
            scores[row, 3], abs=0.006
        )
        chosen = page.locator("#example-sets tr:has-text('predicted')").inner_text()
        assert all(data.label_names[k] in chosen for k in np.flatnonzero(predicted[row]))
        assert page.locator("#example-sets tr:has-text('true')").count() == 1


def test_examples_by_keyboard_and_filter(digits: Any, open_page: Open) -> None:
    model, data, path = digits
    page = open_page(path)
    page.focus("#example-list")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.inner_text("#example-detail h3").startswith("Example 3 ")
    page.keyboard.press("End")
    assert page.inner_text("#example-detail h3").startswith("Example 90 ")
    assert page.locator("#example-list [aria-selected=true]").count() == 1
    wrong = int((model.predict(data.X) != data.Y).any(axis=1).sum())
    page.select_option("#example-outcome", "wrong")
    page.wait_for_function(
        "n => document.querySelectorAll('#example-list [role=option]').length === n", arg=wrong
    )
    assert "wrong" in page.inner_text("#example-detail h3")
    page.fill("#example-number", "12345")
    page.wait_for_selector("text=No example is left")


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("loss", LOSSES)
def test_hostile_names_are_shown_as_text(
    learner: str, loss: str, open_page: Open, tmp_path: Path
) -> None:
    data = hostile_data()
    title = HOSTILE[0]
    page = open_page(page_of(train(data, learner, loss=loss), data, tmp_path, title=title))
    assert page.title() == title
    assert page.inner_text("h1") == title
    assert HOSTILE[1] in page.inner_text("#facts")
    names = column(page, "#label-table", 1)
    for name in (HOSTILE[0], HOSTILE[3], HOSTILE[7], "(no name)"):
        assert name in names
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0
    for option in range(len(HOSTILE)):
        page.select_option("#rule-label", str(option))
        page.select_option("#example-explained", str(option))
    page.fill("#rule-search", "<script>alert(1)")
    page.wait_for_timeout(150)


def test_keys_read_the_curve_and_the_map(digits: Any, open_page: Open) -> None:
    _, _, path = digits
    page = open_page(path)
    chart = page.locator(".chart").first
    chart.locator("svg").focus()
    page.keyboard.press("Home")
    assert chart.locator(".readout").inner_text().startswith("1 rule: ")
    page.keyboard.press("ArrowRight")
    assert chart.locator(".readout").inner_text().startswith("2 rules: ")
    page.locator(".map svg").focus()
    before = page.inner_text("#dependence-content > .readout")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.inner_text("#dependence-content > .readout") != before
    page.select_option("#dependence-content select", "truth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_and_phone(digits: Any, open_page: Open, scheme: str) -> None:
    _, _, path = digits
    for width in (360, 1200):
        page = open_page(path, color_scheme=scheme, viewport={"width": width, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CONTRAST) == []


def test_the_theme_can_be_chosen(digits: Any, open_page: Open) -> None:
    _, _, path = digits
    page = open_page(path, color_scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.click("#theme")
    assert page.evaluate(background) == light
    page.click("#theme")
    assert page.evaluate(background) != light
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    assert page.inner_text("#theme") == "Theme: dark"


def test_small_models_and_no_examples(open_page: Open, tmp_path: Path) -> None:
    data = mixed_data(n_labels=1)
    page = open_page(page_of(train(data, n_rules=1), data, tmp_path, n_examples=0))
    assert "without examples" in page.inner_text("#examples")
    assert "There is a single label." in page.inner_text("#dependence")
    assert "No rule has a condition" in page.inner_text("#features")
    page = open_page(page_of(train(data, n_rules=1), data, tmp_path))
    choose(page, 7)
    assert "in general" in page.inner_text("#example-detail")


def test_many_labels_show_the_strongest(open_page: Open, tmp_path: Path) -> None:
    data = make_multilabel(150, 20, 60, random_state=0)
    page = open_page(page_of(train(data), data, tmp_path))
    assert page.locator(".map rect.cell").count() == 40 * 40
    assert "40 of 60 labels" in page.inner_text("#dependence")
    assert "most likely the training data" in page.inner_text("#notices")
