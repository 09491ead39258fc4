"""The grammar of Warp kernels: gradients stated, arguments in groups, launches in signature order."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from project.sources import ROOT, package_files

GROUPS = ("model", "state in", "control", "contacts", "in", "state out", "out")
"""Comments that head the groups of a kernel's arguments, in the order in which the groups stand."""

OUTPUT_GROUPS = {"state out", "out"}


@dataclass
class Kernel:
    """A function under ``@wp.kernel``."""

    place: str
    name: str
    arguments: list[tuple[str, str]]
    """Rows (argument, group that it stands in, or '')."""
    states_backward: bool

    @property
    def output_count(self) -> int:
        """Number of arguments that a launch passes as outputs."""
        return sum(group in OUTPUT_GROUPS for _, group in self.arguments)


@dataclass
class Launch:
    """A call of ``wp.launch`` or ``wp.launch_tiled``."""

    place: str
    kernel: str
    """Last name of what is launched; '' when it is not a name."""
    positional: int
    inputs: int | None
    """Number of inputs; None where the list is not written out."""
    outputs: int | None


def _last_name(node: ast.expr | None) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_warp(node: ast.expr, *names: str) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in names
        and isinstance(node.value, ast.Name)
        and node.value.id in ("wp", "warp")
    )


def _groups(lines: list[str], function: ast.FunctionDef) -> list[tuple[str, str]]:
    """Arguments of a kernel, each with the last comment that has a line of its own above it."""
    rows, group, line = [], "", function.lineno
    for argument in function.args.args:
        for text in lines[line : argument.lineno - 1]:
            if comment := re.fullmatch(r"\s*#\s*(.*?)\s*", text):
                group = comment[1]
        line = argument.lineno - 1
        rows.append((argument.arg, group))
    return rows


def _length(node: ast.expr | None) -> int | None:
    """Number of items of a list that is written out; 0 for no list, None where it cannot be read."""
    if node is None:
        return 0
    if isinstance(node, ast.List | ast.Tuple) and not any(isinstance(item, ast.Starred) for item in node.elts):
        return len(node.elts)
    return None


def read(text: str, name: str) -> tuple[list[Kernel], list[Launch], set[str]]:
    """Kernels and launches of one file, and the names that it uses anywhere."""
    kernels, launches, used, lines = [], [], set(), text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                call = decorator if isinstance(decorator, ast.Call) else None
                if _is_warp(call.func if call else decorator, "kernel"):
                    stated = call is not None and any(key.arg == "enable_backward" for key in call.keywords)
                    place = f"{name}:{node.lineno}"
                    kernels.append(Kernel(place, node.name, _groups(lines, node), stated))
        elif isinstance(node, ast.Call) and _is_warp(node.func, "launch", "launch_tiled"):
            keys = {key.arg: key.value for key in node.keywords}
            kernel = _last_name(node.args[0] if node.args else keys.get("kernel"))
            inputs, outputs = _length(keys.get("inputs")), _length(keys.get("outputs"))
            launches.append(Launch(f"{name}:{node.lineno}", kernel, len(node.args), inputs, outputs))
        if isinstance(node, ast.Name | ast.Attribute):
            used.add(_last_name(node))
    return kernels, launches, used


def kernel_faults(kernel: Kernel) -> list[str]:
    """What is wrong with a kernel's decorator and signature."""
    where, faults = f"{kernel.place}: {kernel.name}", []
    if not kernel.states_backward:
        faults.append(f"{where}: state enable_backward in the decorator")
    ranks = []
    for argument, group in kernel.arguments:
        if group not in GROUPS:
            faults.append(f"{where}: {argument} stands under no comment of {GROUPS}")
            continue
        ranks.append(GROUPS.index(group))
        if argument.endswith("_out") and group not in OUTPUT_GROUPS:
            faults.append(f"{where}: {argument} stands under '{group}'")
        if argument.endswith("_in") and group in OUTPUT_GROUPS:
            faults.append(f"{where}: {argument} stands under '{group}'")
    if ranks != sorted(ranks):
        faults.append(f"{where}: groups out of order, they are {GROUPS}")
    return faults


def launch_faults(launch: Launch, kernels: list[Kernel]) -> list[str]:
    """What is wrong with a launch, given the kernels that carry its kernel's name."""
    if launch.positional > 2:
        return [f"{launch.place}: pass inputs= and outputs= by keyword"]
    if len(kernels) != 1 or launch.inputs is None or launch.outputs is None:
        return []
    wanted = (len(kernels[0].arguments) - kernels[0].output_count, kernels[0].output_count)
    if (launch.inputs, launch.outputs) != wanted:
        given = f"{launch.inputs} inputs and {launch.outputs} outputs"
        return [f"{launch.place}: {launch.kernel} given {given}, its signature has {wanted[0]} and {wanted[1]}"]
    return []


def faults(files: dict[str, str]) -> list[str]:
    """All faults in a set of files, given as name → text."""
    kernels, launches, used = [], [], set()
    for name, text in files.items():
        some_kernels, some_launches, some_used = read(text, name)
        kernels += some_kernels
        launches += some_launches
        used |= some_used
    found = [fault for kernel in kernels for fault in kernel_faults(kernel)]
    found += [f"{kernel.place}: {kernel.name} is never launched" for kernel in kernels if kernel.name not in used]
    for launch in launches:
        found += launch_faults(launch, [kernel for kernel in kernels if kernel.name == launch.kernel])
    return found


def test_kernels_keep_the_grammar():
    files = {str(path.relative_to(ROOT)): Path(path).read_text(encoding="utf-8") for path in package_files()}
    found = faults(files)
    assert not found, "\n".join(found)


GOOD = """
@wp.kernel(enable_backward=False)
def integrate(
    # model
    mass: wp.array[float],
    gravity: wp.vec3,
    # state in
    body_q_in: wp.array[wp.transform],
    # in
    dt: float,
    # state out
    body_q_out: wp.array[wp.transform],
):
    pass

def step():
    wp.launch(integrate, dim=4, inputs=[mass, g, q, 0.1], outputs=[p])
"""


def test_a_kernel_by_the_rules_has_no_fault():
    assert faults({"good.py": GOOD}) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("(enable_backward=False)", "", "state enable_backward"),
        ("(enable_backward=False)", "(module='unique')", "state enable_backward"),
        ("    # model\n", "", "mass stands under no comment"),
        ("# in\n", "# settings\n", "dt stands under no comment"),
        ("# state in\n", "# contacts\n    n: int,\n    # state in\n", "groups out of order"),
        ("    # state out\n", "", "body_q_out stands under 'in'"),
        ("gravity", "gravity_out", "gravity_out stands under 'model'"),
        ("body_q_out", "body_q_in", "body_q_in stands under 'state out'"),
        ("outputs=[p]", "outputs=[p, r]", "integrate given 4 inputs and 2 outputs, its signature has 4 and 1"),
        ("0.1], outputs=[p]", "0.1, p]", "integrate given 5 inputs and 0 outputs, its signature has 4 and 1"),
        ("dim=4, inputs=", "4, ", "pass inputs= and outputs= by keyword"),
        ("wp.launch(integrate, dim=4, inputs=[mass, g, q, 0.1], outputs=[p])", "pass", "integrate is never launched"),
    ],
)
def test_a_broken_rule_is_found(old: str, new: str, message: str):
    assert old in GOOD
    assert any(message in fault for fault in faults({"bad.py": GOOD.replace(old, new)}))
