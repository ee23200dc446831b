"""How a run went: never more than so many points, memory at its highest, utilization in the mean."""

from __future__ import annotations

from roost.core.history.run_course import MOST, Course


def test_a_look_a_second_is_a_point_each() -> None:
    course = Course(100, 2)
    for second in range(3):
        course.add(100 + second, [10 * second, None], [second, 5], 7)
    assert (course.step_s, len(course)) == (1, 3)
    assert course.util == [[0, 10, 20], [None, None, None]]
    assert course.mem_mib == [[0, 1, 2], [5, 5, 5]]
    assert course.rss_mib == [7, 7, 7]


def test_what_does_not_fit_becomes_half_as_many_steps_of_twice_the_length() -> None:
    course = Course(0, 1)
    for second in range(MOST + 1):
        course.add(second, [second % 2 * 100], [second], None)
    assert (course.step_s, len(course)) == (2, MOST // 2 + 1)
    assert course.util[0] == [50] * (MOST // 2) + [0]
    assert course.mem_mib[0] == [*range(1, MOST, 2), MOST]
    assert course.rss_mib == [None] * len(course)


def test_time_in_which_nobody_looked_is_empty_and_costs_no_points() -> None:
    course = Course(0, 1)
    course.add(0, [80], [10], 1)
    course.add(86_400, [40], [20], 2)
    assert len(course) <= MOST and course.step_s == 512
    assert [v for v in course.util[0] if v is not None] == [80, 40]
    assert course.mem_mib[0][0] == 10 and course.mem_mib[0][-1] == 20


def test_a_clock_that_was_set_back_adds_to_the_last_step() -> None:
    course = Course(1000, 1)
    course.add(1005, [10], [1], None)
    course.add(3, [30], [2], None)
    assert len(course) == 6 and (course.util[0][-1], course.mem_mib[0][-1]) == (20, 2)


def test_a_run_without_gpus_has_its_memory() -> None:
    course = Course(0, 0)
    course.add(0, [], [], 12)
    assert (course.util, course.mem_mib, course.rss_mib) == ([], [], [12])


def test_only_a_new_point_is_a_change() -> None:
    course = Course(0, 1)
    course.add(0, [1], [1], 1)
    assert course.is_changed
    course.is_changed = False
    course.add(0, [2], [2], 2)
    assert not course.is_changed
