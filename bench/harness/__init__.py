"""The benchmark's own machinery: set-up, data, measuring, rows, report. Standard library only."""
