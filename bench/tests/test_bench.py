"""Tests of the benchmark itself; none of them needs a corpus or a peer.

    python3 -m unittest discover -s bench/tests -t bench
"""

from __future__ import annotations

import gzip
import os
import struct
import sys
import tempfile
import unittest
from pathlib import Path

import chunking_attributes
import embeddings
import letters
from harness import report
from harness.bench import sigma
from harness.crfkit import Training, read_log
from harness.data import BROWN_TEST, BROWN_TRAIN, Data
from harness.measure import Row
from harness.process import CommandFailed, Finished, run
from harness.tagging_rows import speed
from harness.training_rows import TRIALS, until
from peers.text import chunks, read_attributes, score, unescape

TEXT = "Figs NNS B-NP\nripen: VBP B-VP\n\nEat\\ VB B-VP\n"


def attribute_lines(**options: bool) -> list[list[str]]:
    chosen = {"padded": False, "only_base_np": False, **options}
    return [line.rstrip("\n").split("\t") for line in chunking_attributes.attribute_lines(TEXT.splitlines(), **chosen)]


class Attributes(unittest.TestCase):
    def test_nineteen_templates(self) -> None:
        self.assertEqual(len(chunking_attributes.TEMPLATES), 19)

    def test_outside_the_sentence_nothing(self) -> None:
        first = attribute_lines()[0]
        self.assertEqual(
            first,
            "B-NP w[0]=Figs w[1]=ripen__COLON__ w[0]|w[1]=Figs|ripen__COLON__ pos[0]=NNS pos[1]=VBP"
            " pos[0]|pos[1]=NNS|VBP __BOS__".split(" "),
        )

    def test_padding(self) -> None:
        first, second, blank, *_ = attribute_lines(padded=True)
        self.assertEqual((len(first), len(second), blank), (20, 20, [""]))
        self.assertIn("w[-2]=_B-2", first)
        self.assertIn("w[2]=_B+1", first)
        self.assertIn("pos[0]|pos[1]|pos[2]=VBP|_B+1|_B+2", second)

    def test_base_np_and_one_token(self) -> None:
        lines = attribute_lines(only_base_np=True)
        self.assertEqual([line[0] for line in lines], ["B-NP", "O", "", "O", ""])
        self.assertEqual(lines[3], ["O", "w[0]=Eat\\\\", "pos[0]=VB", "__BOS__", "__EOS__"])

    def test_the_peers_read_names_back(self) -> None:
        self.assertEqual(unescape("w=a\\\\b\\:c"), "w=a\\b:c")
        with self.assertRaises(ValueError):
            unescape("length:3")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "attributes")
            path.write_text("A\tx\ty\nB\n\n\nA\tz", encoding="utf-8")
            self.assertEqual(list(read_attributes(path)), [([["x", "y"], []], ["A", "B"]), ([["z"]], ["A"])])


class Letters(unittest.TestCase):
    def test_all_forms_are_the_same_letters(self) -> None:
        attributes = [line.rstrip("\n").split("\t") for line in letters.attribute_lines(20, 5)]
        columns = [line.rstrip("\n").split("\t") for line in letters.column_lines(20, 5)]
        self.assertEqual([line[0] for line in attributes], [line[-1] for line in columns])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "letters.npy")
            letters.write_matrix(path, 20, 5)
            data = path.read_bytes()
        tokens = [line for line in attributes if line[0]]
        start = 10 + int.from_bytes(data[8:10], "little")
        self.assertEqual(start % 64, 0)
        self.assertEqual(len(data) - start, 4 * 128 * len(tokens))
        for token, (_, *black) in enumerate(tokens):
            row = struct.unpack("<128f", data[start + 512 * token :][:512])
            self.assertEqual([f"p{place}" for place, x in enumerate(row) if x == 1.0], black)
            self.assertTrue(set(row) <= {0.0, 1.0})

    def test_the_parts_differ(self) -> None:
        self.assertNotEqual(list(letters.column_lines(5, 3)), list(letters.column_lines(5, 4)))


class Embeddings(unittest.TestCase):
    def test_all_forms_are_the_same_words(self) -> None:
        attributes = [line.rstrip("\n").split("\t") for line in embeddings.attribute_lines(3, 5)]
        columns = [line.rstrip("\n").split("\t") for line in embeddings.column_lines(3, 5)]
        self.assertEqual([line[0] for line in attributes], [line[-1] for line in columns])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "embeddings.npy")
            embeddings.write_matrix(path, 3, 5)
            data = path.read_bytes()
        tokens = [line for line in attributes if line[0]]
        numbers = struct.unpack(f"<{300 * len(tokens)}f", data[-1200 * len(tokens) :])
        values = [float(field.split(":")[1]) for _, *fields in tokens for field in fields]
        for number, value in zip(numbers, values, strict=True):
            self.assertAlmostEqual(number, value, places=6)


class Brown(unittest.TestCase):
    def test_tags_lose_their_suffixes_and_parts_are_apart(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "brown").mkdir()
            with gzip.open(root / "brown" / "brown.tsv.gz", "wt", encoding="utf-8") as out:
                out.writelines(f"w{n}\tNN-TL-HL\n\tFW-NC\n\n" for n in range(BROWN_TRAIN + BROWN_TEST))
            data = Data(root, root / "work", sentences=50)
            train, test = (data.brown(part, stripped=True).read_text().split("\n\n") for part in ("train", "test"))
            self.assertEqual((len(train), len(test)), (51, 51))
            self.assertTrue(train[0].endswith("\tNN\n\tFW"))
            self.assertFalse(set(train[:-1]) & set(test[:-1]))
            self.assertTrue(data.brown("test", stripped=False).read_text().split("\n")[0].endswith("\tNN-TL-HL"))


class Scores(unittest.TestCase):
    def test_chunks(self) -> None:
        self.assertEqual(chunks("B-NP I-NP B-NP O I-VP I-PP".split()),
                         {("NP", 0, 2), ("NP", 2, 3), ("VP", 4, 5), ("PP", 5, 6)})

    def test_a_chunk_counts_only_whole(self) -> None:
        gold, predicted = "B-NP I-NP O B-VP".split(), "B-NP O O B-VP".split()
        self.assertEqual(score([(gold, predicted)]), {"f1": 50.0, "accuracy": 75.0})


class Logs(unittest.TestCase):
    LOG = """{"event":"settings","format":1}
{"event":"progress","passes":1,"seconds":1.0,"objective":9.0}
{"event":"progress","passes":2,"seconds":1.5,"objective":8.0}
{"event":"eval","data":"dev","f1":90.0}
{"event":"progress","passes":4,"seconds":2.0,"objective":7.0}
{"event":"stop","reason":"budget","passes":4,"seconds":2.1,"objective":7.0,"features":3}
"""

    def test_seconds_per_pass(self) -> None:
        training = Training(read_log(self.LOG), Finished("", 0.0, 0.0))
        self.assertEqual(training.pass_seconds(), [0.5, 0.25])
        self.assertEqual(training.stop()["features"], 3)

    def test_seconds_until_an_objective(self) -> None:
        iterations = [{"seconds": 2.0, "evaluations": 1 + n, "objective": 9.0 - n} for n in range(3)]
        answer = {"reading_seconds": 0.5, "iterations": iterations}
        self.assertEqual(until(answer, 8.0), {"wall_seconds": 4.5, "passes": 3, "objective": 8.0})
        self.assertEqual(until(answer, 1.0), {"wall_seconds": 6.5, "passes": 6, "objective": 7.0})

    def test_a_log_without_passes_is_an_error(self) -> None:
        training = Training(read_log('{"event":"settings"}\n'), Finished("", 0.0, 0.0))
        self.assertRaises(CommandFailed, training.pass_seconds)
        self.assertRaises(CommandFailed, training.stop)
        self.assertRaises(CommandFailed, read_log, "not json\n")

    def test_sigma(self) -> None:
        self.assertEqual(float(sigma(0.5)), 1.0)
        self.assertAlmostEqual(float(sigma(1.0)), 0.70710678, places=8)


class Speeds(unittest.TestCase):
    def test_start_up_cancels_out(self) -> None:
        self.assertEqual(speed("tool", 1900, 0.5, 2.5), 950.0)
        self.assertRaises(CommandFailed, speed, "tool", 1900, 2.5, 2.5)

    def test_evaluations_of_a_log(self) -> None:
        log = "***** Iteration #1 *****\nLine search trials: 2\nLine search step: 1.0\nLine search trials: 1\n"
        self.assertEqual(TRIALS.findall(log), ["2", "1"])


class Processes(unittest.TestCase):
    def test_output_and_environment(self) -> None:
        program = "import os; print(os.environ['BENCH_TEST'])"
        finished = run([sys.executable, "-c", program], timeout=60, env={"BENCH_TEST": "yes"})
        self.assertEqual(finished.stdout, "yes\n")
        self.assertGreater(finished.peak_mb, 1)

    def test_failures(self) -> None:
        with self.assertRaisesRegex(CommandFailed, "exit status 3: sorry"):
            run([sys.executable, "-c", "import sys; print('sorry', file=sys.stderr); sys.exit(3)"], timeout=60)
        with self.assertRaisesRegex(CommandFailed, "no end after"):
            run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.2)
        with self.assertRaisesRegex(CommandFailed, "does not start"):
            run([os.devnull + "/nothing"], timeout=1)


class Rows(unittest.TestCase):
    def row(self) -> Row:
        row = Row("name", "title", lambda _: None)
        seconds = iter([3.0, 1.0, 2.0])

        def failing() -> dict:
            raise CommandFailed("broken")

        contestants = {"ours": lambda: {"wall_seconds": next(seconds)}, "peer": lambda: {"wall_seconds": [4.0, 8.0]}}
        row.take_turns({**contestants, "other": failing}, 3)
        return row

    def test_best_median_and_failures(self) -> None:
        row = self.row()
        self.assertEqual((row.best(("ours", "wall_seconds")), row.median(("ours", "wall_seconds"))), (1.0, 2.0))
        self.assertEqual(row.errors, {"other": "broken"})

    def test_claims(self) -> None:
        row = self.row()
        peer, ours, other = (("peer", "wall_seconds"), ("ours", "wall_seconds"), ("other", "wall_seconds"))
        row.ratio("kept", peer, ours, at_least=4)
        row.ratio("missed", peer, ours, at_most=3.9)
        row.ratio("unknown", other, ours, at_least=1)
        row.ratio("no aim", peer, ours)
        self.assertEqual([claim.met for claim in row.claims], [True, False, None, None])
        self.assertEqual((row.claims[0].value, row.claims[0].median, row.claims[2].value), (4.0, 3.0, None))
        text = report.table([row])
        self.assertIn("| kept | 4 | 3 | >= 4 | yes |", text)
        self.assertIn("Failed: other: broken", text)
        self.assertEqual(report.row_document(row)["claims"][1]["met"], False)


class Files(unittest.TestCase):
    def test_made_from_the_corpus_and_cut(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            root, work = Path(folder, "data"), Path(folder, "work")
            (root / "conll2000").mkdir(parents=True)
            (root / "conll2000" / "test.txt").write_text(TEXT, encoding="utf-8")
            whole, cut = Data(root, work), Data(root, work / "cut", sentences=1)
            self.assertEqual(whole.columns("test"), root / "conll2000" / "test.txt")
            self.assertEqual(cut.columns("test").read_text(), "Figs NNS B-NP\nripen: VBP B-VP\n\n")
            self.assertEqual(cut.columns("test", base_np=True).read_text(), "Figs NNS B-NP\nripen: VBP O\n\n")
            self.assertEqual(len(whole.repeated_test(3).read_text().split("\n\n")), 7)
            self.assertEqual(cut.one_token().read_text().count("\n"), 2)


if __name__ == "__main__":
    unittest.main()
