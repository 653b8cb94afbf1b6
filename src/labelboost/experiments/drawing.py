"""How the variants of an experiment look in all figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labelboost.drawing import LINE_STYLES, MARKERS, OKABE_ITO
from labelboost.experiments.published import VARIANT_TITLES


def line_looks(variants: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Give each variant a colour, a line style and a marker.

    Those of the paper look the same in every figure, whichever of them are shown.
    """
    of_the_paper = VARIANT_TITLES if set(variants) & set(VARIANT_TITLES) else ()
    names = dict.fromkeys([*of_the_paper, *variants])
    return {
        name: {
            "color": OKABE_ITO[index % len(OKABE_ITO)],
            "linestyle": LINE_STYLES[index % len(LINE_STYLES)],
            "marker": MARKERS[index % len(MARKERS)],
        }
        for index, name in enumerate(names)
    }
