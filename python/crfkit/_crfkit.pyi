from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Callable, SupportsIndex, final, overload

import numpy as np
from numpy.typing import NDArray

from crfkit.explain import Explanation
from crfkit.scores import Scores
from crfkit.spans import Span

__all__ = [
    "__VERSION__",
    "FactorialTagger",
    "GraphTagger",
    "GridTagger",
    "Model",
    "Tagged",
    "Tagger",
    "TrainingObjective",
    "chain_objective",
    "empty_crfsuite",
    "graph_objective",
    "grid_objective",
    "model_from_bytes",
    "train",
    "train_empirical",
    "train_factorial",
    "train_graph",
    "train_grid",
    "write_file",
]

__VERSION__: str

_Array = NDArray[np.float64]
_GridInput = tuple[_Array, _Array | None, _Array | None, _Array | None]
_GridLayout = tuple[list[int], int | None, int, str, str]
_Features = tuple[_Array, Any]
_GraphInput = tuple[
    list[tuple[str, _Features, NDArray[np.int64] | None, _Array | None]],
    list[tuple[str, NDArray[np.int64], _Features]],
]
_Types = tuple[list[tuple[str, list[str], int]], list[tuple[str, list[str], str, int]]]
_Callback = Callable[[dict[str, Any]], Any]

@final
class Model:
    @staticmethod
    def load(path: str | PathLike[str]) -> Model: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    @staticmethod
    def from_bytes(data: bytes) -> Model: ...
    def to_bytes(self) -> bytes: ...
    def to_crfsuite(self, labels: Sequence[str] | None = None) -> bytes: ...
    @property
    def kind(self) -> str: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def takes(self) -> str: ...
    def settings_json(self) -> str: ...
    def heaviest(self, n: int) -> tuple[int, list[tuple[str, str | None, list[str], float]]]: ...
    def tagger(self, *, constraint: str | None = None, at_most_once: Sequence[str] | None = None) -> Tagger: ...
    def calibrate(self, x: Sequence[Any], y: Sequence[Any]) -> Model: ...
    @property
    def temperature(self) -> float: ...
    def evaluate(self, x: Sequence[Any], y: Sequence[Any]) -> Scores: ...
    def coefficients(self) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]: ...
    def transitions(self) -> NDArray[np.float64]: ...
    def _repr_html_(self) -> str: ...
    def __copy__(self) -> Model: ...
    def __deepcopy__(self, _memo: Any) -> Model: ...

@final
class Tagger:
    def __new__(
        cls, model: Model, *, constraint: str | None = None, at_most_once: Sequence[str] | None = None
    ) -> Tagger: ...
    def tag(self, x: Iterable[Any], *, allowed: Mapping[int, Any] | Iterable[Any] | None = None) -> Tagged: ...
    def explain(
        self, x: Iterable[Any], tokens: int | Sequence[int] | None = None, *, removals: int = 0
    ) -> list[Explanation]: ...
    @property
    def model(self) -> Model: ...
    def tag_many(self, xs: Iterable[Iterable[Any]], *, threads: int | None = None) -> list[Tagged]: ...
    def label_lists(self, xs: Iterable[Iterable[Any]], *, threads: int | None = None) -> list[list[str]]: ...
    @property
    def labels(self) -> list[str]: ...

@final
class Tagged:
    @property
    def labels(self) -> list[str]: ...
    @property
    def marginals(self) -> NDArray[np.float64]: ...
    @property
    def pair_marginals(self) -> NDArray[np.float64]: ...
    @property
    def spans(self) -> list[Span]: ...
    @property
    def words(self) -> list[str]: ...
    @property
    def log_z(self) -> float: ...
    @property
    def entropy(self) -> float: ...
    @property
    def margin(self) -> float: ...
    def log_probability(self, y: Sequence[str] | None = None) -> float: ...
    def nbest(self, n: int) -> list[tuple[list[str], float]]: ...
    def _repr_html_(self) -> str: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> str: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[str]: ...
    def __iter__(self) -> Iterator[str]: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class GridTagger:
    def __new__(cls, model: Model) -> GridTagger: ...
    def labels(
        self, x: Sequence[_GridInput], *, decode: str | None = None, threads: int | None = None
    ) -> list[NDArray[np.uint16]]: ...
    def marginals(self, x: Sequence[_GridInput], *, threads: int | None = None) -> list[_Array]: ...
    @property
    def values(self) -> list[int]: ...

@final
class GraphTagger:
    def __new__(cls, model: Model) -> GraphTagger: ...
    def labels(
        self, x: Sequence[_GraphInput], *, decode: str | None = None, threads: int | None = None
    ) -> list[NDArray[np.int64]]: ...
    def marginals(self, x: Sequence[_GraphInput], *, threads: int | None = None) -> list[_Array]: ...
    @property
    def types(self) -> tuple[list[tuple[str, list[str]]], list[tuple[str, list[str]]]]: ...

@final
class FactorialTagger:
    def __new__(cls, model: Model) -> FactorialTagger: ...
    def labels(self, x: Iterable[Any], *, threads: int | None = None) -> list[list[list[str]]]: ...
    def marginals(self, x: Iterable[Any], *, threads: int | None = None) -> list[list[_Array]]: ...
    @property
    def names(self) -> list[list[str]]: ...

@final
class TrainingObjective:
    @property
    def dim(self) -> int: ...
    @property
    def examples(self) -> int: ...
    def value_and_grad(self, theta: _Array, batch: NDArray[np.int64] | None = None) -> tuple[float, _Array]: ...
    def hess_vec(self, theta: _Array, v: _Array, batch: NDArray[np.int64] | None = None) -> _Array: ...
    def model(self, theta: _Array) -> Model: ...

def empty_crfsuite() -> bytes: ...
def write_file(path: str | PathLike[str], data: bytes) -> None: ...
def model_from_bytes(data: bytes) -> Model: ...
def train(
    x: Iterable[Any],
    y: Iterable[Any],
    settings: str,
    reading: dict[str, Any] | None = None,
    *,
    dev: tuple[Any, Any] | None = None,
    start: Model | None = None,
    go_on: bool = False,
    labels: list[str] | None = None,
    threads: int | None = None,
    callback: _Callback | None = None,
) -> dict[str, Any]: ...
def train_grid(
    x: Sequence[_GridInput],
    y: Sequence[NDArray[np.uint16]],
    layout: _GridLayout,
    settings: str,
    *,
    weights: dict[str, Any] | None = None,
    dev: tuple[Sequence[_GridInput], Sequence[NDArray[np.uint16]]] | None = None,
    start: Model | None = None,
    threads: int | None = None,
    callback: _Callback | None = None,
) -> dict[str, Any]: ...
def train_graph(
    x: Sequence[_GraphInput],
    types: _Types,
    settings: str,
    *,
    weights: dict[str, Any] | None = None,
    dev: Sequence[_GraphInput] | None = None,
    start: Model | None = None,
    threads: int | None = None,
    callback: _Callback | None = None,
) -> dict[str, Any]: ...
def train_factorial(
    x: Iterable[Any],
    y: Sequence[Sequence[Sequence[str]]],
    settings: str,
    reading: dict[str, Any],
    *,
    dev: tuple[Any, Sequence[Sequence[Sequence[str]]]] | None = None,
    start: Model | None = None,
    threads: int | None = None,
    callback: _Callback | None = None,
) -> dict[str, Any]: ...
def train_empirical(
    x: Iterable[Any],
    y: Iterable[Any],
    settings: str,
    *,
    held_out: tuple[Any, Any] | None = None,
    start: Model | None = None,
) -> Model: ...
def chain_objective(
    x: Iterable[Any], y: Iterable[Any], settings: str, reading: dict[str, Any], *, threads: int | None = None
) -> TrainingObjective: ...
def grid_objective(
    x: Sequence[_GridInput],
    y: Sequence[NDArray[np.uint16]],
    layout: _GridLayout,
    settings: str,
    *,
    weights: dict[str, Any] | None = None,
    threads: int | None = None,
) -> TrainingObjective: ...
def graph_objective(
    x: Sequence[_GraphInput],
    types: _Types,
    settings: str,
    *,
    weights: dict[str, Any] | None = None,
    threads: int | None = None,
) -> TrainingObjective: ...
