"""Run examples/tour.ipynb from top to bottom and write its outputs: `python -m tests.notebook`."""

import os
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat
from nbclient import NotebookClient

PATH = Path(__file__).parents[1] / "examples" / "tour.ipynb"


def read() -> Any:
    return nbformat.read(PATH, as_version=4)


def run(folder: Path) -> Any:
    """The notebook as it is after its cells were run, one after the other, in a folder of its own."""
    notebook = read()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    with patch.dict(os.environ, DGTD_STORE=str(folder / "results.sqlite")):  # the kernel's, and not of what runs next
        client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times, which differ each time
    return notebook


def printed(notebook: Any) -> str:
    """What a reader sees as text: standard output and results, without pictures and tables of HTML.

    A cell's prints arrive in one piece or in several, as the kernel happens to send them.
    """
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "stream" and output.name == "stdout":
                found.append(output.text)
            elif "data" in output and "text/plain" in output.data:
                found.append(output.data["text/plain"] + "\n")
    return "".join(found)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        nbformat.write(run(Path(folder)), PATH)
