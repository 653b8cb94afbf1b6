"""One self-contained HTML page about a model: see docs/report.md."""

from labelboost.report.writing import write_report

__all__ = ["write_report"]
