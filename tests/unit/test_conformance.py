from pathlib import Path

import pytest

from tools.conformance import Misplaced, main, python_marks, read_rows, render, rust_marks

ROWS = "# note\nrow\tsection\tstatement\nCL-01\tCommitLog\tFirst.\nCL-02\tCommitLog\tA `<n>` | of <home>.\n"


def shown_in_python(source: str) -> list[tuple[str, str]]:
    return [(mark.row, mark.test) for mark in python_marks(source, "t.py")]


def shown_in_rust(source: str) -> list[tuple[str, str]]:
    return [(mark.row, mark.test) for mark in rust_marks(source, "t.rs")]


def test_a_marked_function_shows_its_rows() -> None:
    source = '@pytest.mark.shows("CL-01", "CL-02")\ndef test_a() -> None: ...\ndef test_b() -> None: ...\n'
    assert shown_in_python(source) == [("CL-01", "t.py::test_a"), ("CL-02", "t.py::test_a")]


def test_marks_of_module_and_class_reach_their_tests() -> None:
    source = (
        'pytestmark = [pytest.mark.slow, pytest.mark.shows("CL-01")]\n'
        '@pytest.mark.shows("CL-02")\n'
        "class SendContract:\n"
        "    async def test_a(self) -> None: ...\n"
        "def test_b() -> None: ...\n"
        "def helper() -> None: ...\n"
    )
    assert shown_in_python(source) == [
        ("CL-01", "t.py::SendContract::test_a"),
        ("CL-02", "t.py::SendContract::test_a"),
        ("CL-01", "t.py::test_b"),
    ]


def test_a_mark_inside_a_parameter_counts() -> None:
    source = (
        '@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.shows("CL-01"))])\n'
        "def test_a(n: int) -> None: ...\n"
    )
    assert shown_in_python(source) == [("CL-01", "t.py::test_a")]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ('\n@pytest.mark.shows("CL-01")\ndef helper(): ...\n', "t.py:2: this mark stands on no test"),
        ("@pytest.mark.shows(ROW)\ndef test_a(): ...\n", "t.py:1: a row number is written out"),
        ("@pytest.mark.shows()\ndef test_a(): ...\n", "t.py:1: shows takes row numbers"),
    ],
)
def test_an_unreadable_python_mark_is_refused_with_its_line(source: str, problem: str) -> None:
    with pytest.raises(Misplaced, match=problem):
        python_marks(source, "t.py")


@pytest.mark.parametrize(
    "source",
    [
        "// shows: CL-01, CL-02\n#[test]\nfn a() {}\n",
        "    // shows: CL-01\n    // shows: CL-02\n    #[test]\n    #[ignore]\n    fn a() {}\n",
        "// shows: CL-01 CL-02\n// Why.\n#[cfg_attr(\n    miri,\n    ignore\n)]\n#[test]\nfn a() {}\n",
        "#[test]\n// shows: CL-01, CL-02\nfn a() {}\n",
        "proptest! {\n    // shows: CL-01, CL-02\n    fn a(n in 0..9u32) {}\n}\n",
        "proptest! {\n    // shows: CL-01, CL-02\n    #[test]\n    fn a(n in 0..9u32) {}\n}\n",
    ],
)
def test_a_rust_comment_reaches_the_test_below_it(source: str) -> None:
    assert shown_in_rust(source) == [("CL-01", "t.rs::a"), ("CL-02", "t.rs::a")]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("// shows: CL-01\nfn a() {}\n", "t.rs:1: this mark stands on no test"),
        ("// shows: CL-01\n\n#[test]\nfn a() {}\n", "t.rs:1: this mark stands on no test"),
        ("// shows: CL-01\n", "t.rs:1: this mark stands on no test"),
        ("// shows:\n#[test]\nfn a() {}\n", "t.rs:1: shows names no row"),
    ],
)
def test_an_unreadable_rust_mark_is_refused_with_its_line(source: str, problem: str) -> None:
    with pytest.raises(Misplaced, match=problem):
        rust_marks(source, "t.rs")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("CL-01\tA\tx\nCL-01\tA\ty\n", "rows.tsv:2: row CL-01 is there twice"),
        ("CL-01\tA\n", "rows.tsv:1: a row has three fields"),
    ],
)
def test_a_broken_rows_file_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(Misplaced, match=problem):
        read_rows(text, "rows.tsv")


def test_the_report_counts_rows_and_escapes_what_a_table_would_swallow() -> None:
    marks = python_marks('@pytest.mark.shows("CL-01")\ndef test_a(): ...\n', "t.py")
    report = render(read_rows(ROWS, "rows.tsv"), marks)
    assert "**2 rows: 1 shown by a test, 1 by none.**" in report
    assert "| CL: CommitLog | 2 | 1 | 1 |" in report
    assert "| CL-01 | First. | `t.py::test_a` |" in report
    assert r"| CL-02 | A `<n>` \| of &lt;home>. | — |" in report


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "conformance").mkdir()
    (tmp_path / "conformance/rows.tsv").write_text(ROWS)
    (tmp_path / "tests").mkdir()
    return tmp_path


def test_check_fails_until_the_report_is_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check", "--root", str(project)]) == 1
    assert "stale" in capsys.readouterr().err
    assert main(["--root", str(project)]) == 0
    assert main(["--check", "--root", str(project)]) == 0


def test_an_unknown_row_fails_and_names_file_and_line(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "tests/test_a.py").write_text('\n@pytest.mark.shows("CL-99")\ndef test_a(): ...\n')
    assert main(["--root", str(project)]) == 1
    assert "tests/test_a.py:2: no row CL-99" in capsys.readouterr().err
    assert not (project / "docs/conformance.md").exists()
