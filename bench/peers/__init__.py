"""The other toolkits, each behind a small program that runs in `bench/.venv` and prints one JSON object.

They run as processes of their own (`python -m peers.crfsuite train ...`), so that time and memory are theirs alone.
"""
