"""Every promise, the tests that keep it, and its figure from the last run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .record import Part

Parts = Mapping[str, Part]


@dataclass(frozen=True)
class Promise:
    """What users can rely on.

    Attributes
    ----------
    text : str
    tests : tuple of str
        ``file::function`` below ``tests/``; run by ``make test``.
    figure : callable, optional
        What the last run of a part says about it.
    """

    text: str
    tests: tuple[str, ...]
    figure: Callable[[Parts], str] | None = None


def _sum(part: str, column: str, **chosen: str) -> Callable[[Parts], str]:
    """The column's total over the rows whose fields begin with the given words."""

    def figure(parts: Parts) -> str:
        rows = [
            row
            for row in parts[part].rows
            if all(str(row[k]).startswith(v) for k, v in chosen.items())
        ]
        if not rows:
            return "not run"
        total = sum(row[column] for row in rows)
        n_lost = sum(row["losses"] for row in rows)
        return f"{total} {column}, {n_lost} losses"

    return figure


def _load(parts: Parts) -> str:
    (row,) = parts["load"].rows
    return (
        f"{row['fits']} fits, memory {row['growth']:+.2%}, {row['more threads']} "
        f"threads, {row['more open files']} files, {row['temporary files left']} "
        "temporary files left"
    )


def _coverage(parts: Parts) -> str:
    row = parts["coverage"].rows[-1]
    return f"{row['lines']} of lines, {row['branches']} of branches"


def _mutants(parts: Parts) -> str:
    rows = parts["mutants"].rows
    tried, killed = (sum(r[c] for r in rows) for c in ("mutants", "killed"))
    return f"{killed} of {tried} mutants killed ({killed / tried:.1%})"


CONTRACT = "test_contract.py::test_our_contract"
PROMISES = (
    Promise(
        "Every estimator: inputs stay untouched; containers, memory layouts, dtypes "
        "and sparse views agree; duplicates share a label; edge cases (one row, one "
        "feature, constant and all-zero views, scales from 1e-30 to 1e30, identical "
        "rows) give a partition or a sentence; pickling, cloning, threads, seeds; no "
        "global random state is touched; warnings are ours.",
        (CONTRACT, "test_contract.py::test_scikit_learns_contract"),
    ),
    Promise(
        "Shuffled rows, permuted views and other blocks give the same clusters.",
        (
            "test_invariance.py::test_shuffled_rows_are_the_same_fit_bit_for_bit",
            "test_invariance.py::test_permuted_views_are_the_same_fit_bit_for_bit",
            "test_invariance.py::test_block_size_changes_nothing",
        ),
    ),
    Promise(
        "Numbers of a large mean, such as times, keep their digits.",
        ("test_large_means.py::test_a_large_mean_takes_no_digits",),
    ),
    Promise(
        "Views that break solvers (rank one, ill-conditioned, underflowing, few "
        "distinct rows) give a valid partition or a sentence, never NaN; one giant "
        "cluster is said.",
        ("reliability/test_numbers.py::test_hard_views",),
        _sum("numbers", "fits", case="hard views"),
    ),
    Promise(
        "So do settings without help for the solver: lam=0, duplicated anchors, more "
        "components than the rank, one anchor.",
        ("reliability/test_numbers.py::test_hard_settings",),
        _sum("numbers", "fits", case="hard settings"),
    ),
    Promise(
        "Rows, views and columns with names are matched by them or refused, labels are "
        "taken out of a table only when asked for, and rows outside all that a model "
        "has seen are said.",
        (
            "views/test_joining.py::"
            "test_the_same_rows_in_another_order_are_aligned_and_said",
            "views/test_joining.py::test_different_rows_are_refused_with_counts",
            "views/test_matching.py::test_views_are_taken_by_name_in_any_order",
            "views/test_matching.py::test_other_columns_are_refused",
            "datasets/test_loading.py::"
            "test_a_column_named_like_labels_stays_and_is_said_once",
            "test_predicting.py::test_rows_far_from_everything_are_said",
        ),
    ),
    Promise(
        "Every seed gives a valid partition.",
        ("reliability/test_numbers.py::test_seeds",),
        _sum("numbers", "fits", case="seeds"),
    ),
    Promise(
        "Same seed, machine and threads: the same bits.",
        (
            "reliability/test_numbers.py::test_the_same_seed_gives_the_same_bits",
            "test_s2mvtc.py::test_same_seed_gives_the_same_numbers",
        ),
        _sum("numbers", "fits", case="the same seed"),
    ),
    Promise(
        "Thread counts and block sizes agree: ARI of at least 0.999.",
        (
            "engine/test_local.py::"
            "test_number_of_threads_changes_no_bit_of_a_sum_and_no_label",
            "test_invariance.py::test_block_size_changes_nothing",
        ),
        _sum("numbers", "fits", case="thread counts"),
    ),
    Promise(
        "A damaged or hostile file is refused in a sentence or read as sound data; "
        "the reading process never crashes or hangs, and formats with checksums "
        "never load changed data.",
        (
            "datasets/test_fuzz.py::test_damaged_files",
            "datasets/isolated/test_sandbox.py::"
            "test_a_crash_is_a_sentence_and_the_next_file_is_read",
            "files/test_model_file.py::test_a_flipped_byte_anywhere_is_refused",
        ),
        _sum("fuzz", "damaged files"),
    ),
    Promise(
        "A path given to `fit` means what it holds at that moment, and is parsed in a "
        "child process; every row group or chunk is unpacked once.",
        (
            "datasets/test_on_disk.py::test_the_content_is_that_of_now",
            "datasets/test_on_disk.py::"
            "test_a_fit_loads_no_parser_into_the_calling_process",
            "datasets/test_on_disk.py::"
            "test_a_piece_is_unpacked_once_and_only_where_rows_are_asked_for",
        ),
    ),
    Promise(
        "Reading is limited in memory and time; decompression bombs are stopped; "
        "pickles are never read.",
        (
            "datasets/isolated/test_sandbox.py::test_memory_beyond_the_limit_ends_in_a_sentence",
            "datasets/isolated/test_sandbox.py::test_the_time_limit_stops_a_reader",
            "files/test_model_file.py::test_a_zip_bomb_is_refused",
            "files/test_model_file.py::test_a_pickled_array_is_refused",
        ),
    ),
    Promise(
        "Loading works from notebooks, from `python -` and from scripts without a "
        "main guard.",
        ("datasets/isolated/test_sandbox.py::test_it_works_without_a_main_guard",),
    ),
    Promise(
        "`fit --checkpoint` killed at any moment resumes; no finished round is lost, "
        "no half-written file is read, the result is that of an undisturbed fit.",
        (
            "reliability/test_kills.py::test_random_kills",
            "reliability/test_kills.py::test_kills_before_a_change_of_a_file",
            "files/test_checkpoint.py::test_a_stopped_fit_resumes_and_gives_the_same",
        ),
        _sum("kills", "kills", command="fit"),
    ),
    Promise(
        "`compare` killed at any moment keeps every finished run and runs none twice.",
        (
            "reliability/test_kills.py::test_random_kills",
            "experiments/test_execute.py::"
            "test_killed_half_way_it_goes_on_without_redoing_runs",
        ),
        _sum("kills", "kills", command="compare"),
    ),
    Promise(
        "`convert` killed at any moment leaves the old folder or the new one, whole.",
        (
            "reliability/test_kills.py::test_random_kills",
            "files/test_atomic.py::test_an_old_folder_set_aside_by_a_killed_process_returns",
        ),
        _sum("kills", "kills", command="convert"),
    ),
    Promise(
        "A full disk is a sentence; nothing half-written stays, and with more room "
        "the work goes on.",
        (
            "reliability/test_faults.py::test_full_disk",
            "experiments/test_results_file.py::"
            "test_a_disk_that_fills_up_in_the_middle_of_a_line",
        ),
        _sum("faults", "injected", fault="full disk"),
    ),
    Promise(
        "A folder that cannot be written is refused.",
        ("reliability/test_faults.py::test_closed_folder",),
        _sum("faults", "injected", fault="folder"),
    ),
    Promise(
        "A data file cut or rewritten under a fit is a sentence; one removed or "
        "replaced does no harm.",
        (
            "views/test_parsing.py::test_a_file_changed_under_a_fit_is_a_sentence",
            "views/test_parsing.py::test_a_file_removed_or_replaced_under_a_fit_does_no_harm",
        ),
        _sum("faults", "injected", fault="data changed"),
    ),
    Promise(
        "Ctrl-C finishes the round and keeps its labels; with a checkpoint the fit "
        "goes on later.",
        (
            "running/test_progress.py::test_the_round_is_finished_and_its_labels_are_kept",
            "running/test_progress.py::"
            "test_a_stopped_fit_resumes_from_its_checkpoint_to_the_same_end",
        ),
        _sum("faults", "injected", fault="Ctrl-C"),
    ),
    Promise(
        "A torn last line of the results costs that line alone.",
        (
            "experiments/test_results_file.py::"
            "test_a_torn_tail_is_skipped_and_cut_off_by_the_next_write",
        ),
        _sum("faults", "injected", fault="torn"),
    ),
    Promise(
        "Two processes may work in one result folder.",
        ("experiments/test_results_file.py::test_two_processes_lose_no_line",),
        _sum("faults", "injected", fault="two processes"),
    ),
    Promise(
        "Many fits in one process hold on to nothing.",
        ("reliability/test_load.py::test_fits_leave_nothing_behind",),
        _load,
    ),
    Promise(
        "Every error a user can cause is a `ManyviewError`, and its message says what "
        "was wrong, what was seen and what to do.",
        (
            "test_errors.py::test_everything_has_one_of_our_bases_and_a_sentence",
            "test_messages.py::test_every_error_has_three_parts",
            "test_messages.py::test_no_built_in_error_reaches_a_user",
            CONTRACT,
        ),
    ),
    Promise("Tests reach at least 95 % of lines and branches.", (), _coverage),
    Promise(
        "Tests notice changed code in metrics, smoothing, ridge and model files: at "
        "least 85 % of mutants are killed.",
        (),
        _mutants,
    ),
)
