"""The report of a city: one page that a fire chief reads in five minutes, with the details below."""

from runcard.outputs.report.findings import REPORTED
from runcard.outputs.report.page import report_page, write_report

__all__ = ["REPORTED", "report_page", "write_report"]
