"""The recipes of doc/recipes.md, with what pip has of the frameworks."""

import importlib.util
import io
import os

import pytest

import foldfs

pytest_plugins = ["hub", "recipes"]


def needs(name):
    """Not importorskip(): only the recipes load these."""
    return pytest.mark.skipif(not importlib.util.find_spec(name), reason=f"no {name}")


pytestmark = needs("torchvision")


@pytest.mark.parametrize("title", [
    "ImageFolder", "A dataset of your own",
    pytest.param("fastai", marks=needs("fastai")),
    pytest.param("Lightning", marks=needs("lightning")),
    pytest.param("Accelerate", marks=needs("accelerate")),
    pytest.param("Datasets of Hugging Face", marks=needs("datasets")),
])
def test_one_process_sees_every_image_in_each_epoch(kitchen, title):
    assert kitchen.cook(title) == [[kitchen.images]] * 2


@needs("timm")
def test_timm_sees_whole_batches(kitchen):
    assert kitchen.cook("timm") == [[kitchen.images // 16 * 16]] * 2


def test_the_ranks_of_a_node_share_a_mount(kitchen):
    """The sampler makes their parts as long as each other."""
    assert kitchen.cook("torchrun") == [[(kitchen.images + 1) // 2] * 2] * 2


@needs("datasets")
def test_parquet_files_of_the_hub_that_datasets_wrote(kitchen, hub, monkeypatch):
    import datasets
    from PIL import Image

    features = datasets.Features({"image": datasets.Image(),
                                  "label": datasets.ClassLabel(names=["cat", "dog"])})
    for shard in range(2):
        file = io.BytesIO()
        datasets.Dataset.from_dict({
            "image": [Image.new("RGB", (70, 80), number) for number in range(10)],
            "label": [number % 2 for number in range(10)]}, features).to_parquet(file)
        hub.add("OWNER/NAME", **{f"data/train-{shard:05}-of-00002.parquet": file.getvalue()})
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    assert kitchen.cook("The Hub") == [[20]] * 2


@pytest.fixture
def notebook(kitchen):
    """A kernel, and the cells of the recipe."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    cells = [nbformat.v4.new_code_cell(block) for block in kitchen.blocks("Notebooks", "python")]
    client = nbclient.NotebookClient(nbformat.v4.new_notebook(cells=cells), kernel_name="python3",
                                     timeout=5 * foldfs.PATIENCE,
                                     resources={"metadata": {"path": str(kitchen.place)}})
    with client.setup_kernel():
        yield client


def test_a_mount_of_a_notebook_outlives_its_cell_and_ends_with_the_kernel(notebook, kitchen):
    import nbclient

    mount, train = notebook.nb.cells
    notebook.execute_cell(mount, 0)
    [first] = kitchen.mounts()
    notebook.execute_cell(mount, 0)
    [second] = kitchen.mounts()
    assert second != first
    notebook.execute_cell(train, 1)
    said = "".join(output.text for output in train.outputs if output.name == "stdout")
    assert said == f"epoch 0: {kitchen.images} images\nepoch 1: {kitchen.images} images\n"
    nbclient.util.run_sync(notebook.km.restart_kernel)(now=True)
    foldfs.wait_until(lambda: not kitchen.mounts())
    foldfs.wait_until(lambda: not os.path.exists(second))
