"""The estimator for graphs."""

from __future__ import annotations

from os import PathLike
from typing import Any, Callable, Iterable, Mapping, Sequence

import numpy as np

from crfkit import _crfkit
from crfkit._base import check_lengths, each_of, floats, is_list, object_array, real_array, unmasked, weights_of
from crfkit._fit import Trained, development, label_weights_of, text_of
from crfkit.errors import DataError, SettingError

_NODE, _EDGE = "node", "edge"


class GraphCRF(Trained[_crfkit.GraphTagger]):
    """A conditional random field for graphs, with any types of nodes and of factors.

    ``X`` is a list of graphs. A graph is a tuple of arrays: the numbers of nodes (nodes, numbers), edges (edges, 2) that
    name the nodes they join, and, if edges have numbers too, these (edges, numbers). ``y`` is a list of arrays with the label of each node.

    Instead of an array of numbers, nodes and edges may have named features: a list with a dict, or a list of names, for each, as tokens of
    ``ChainCRF`` have them. A tuple ``(features, array)`` has both.

    A graph with several types is a dict: ``nodes`` has an array for each type of nodes, and ``factors`` has for each type of factors its
    members (factors, nodes), counted within their types, or a tuple of them and an array of numbers. ``y`` is then a list of
    dicts with the labels of each type. The keyword ``factors`` names the types of the nodes that each type of factors is over.

    Parameters
    ----------
    objective, optimizer, sigma, l1, passes, seed, threads, patience, warm_start, progress, callback, checkpoint, params
        As for ``ChainCRF``.
    factors : dict or None
        For each type of factors the types of its nodes, such as ``{"likes": ["person", "film"]}``. Where there is only one type
        of nodes, it is not needed.
    table : str or dict
        The form of the tables of factors: ``full`` has a weight for each combination of labels, ``potts`` one weight for equal labels, ``ising`` one for the
        product of two labels −1 and +1. A dict has one for each type of factors.
    unlabelled : object
        The value in ``y`` of nodes whose label is not known; ``None`` by default. A set in place of a label means that it is one of these.
    min_count : int
        Named features that occur fewer than this many times are ignored.
    class_weight : dict or None
        Weights of labels, which the weights of their nodes are multiplied by, for the same objectives as ``node_weight`` of ``fit``.
    inference : str or None
        The engine for marginals: ``loopy-bp`` (the default), ``exact``, ``trw``, ``mean-field``, ...
    decode : str or None
        How labels are chosen; see ``GridCRF``.

    Examples
    --------
    >>> import numpy as np
    >>> from crfkit import GraphCRF
    >>> triangle = (np.array([[0.1], [0.9], [0.8]]), np.array([[0, 1], [1, 2], [0, 2]]))
    >>> crf = GraphCRF(inference="exact").fit([triangle], [["low", "high", "high"]])
    >>> crf.predict([triangle])[0].tolist()
    ['low', 'high', 'high']
    >>> crf.predict_marginals([triangle])[0].shape
    (3, 2)
    >>> [labels.tolist() for labels, probability in crf.nbest([triangle], 2)[0]]
    [['low', 'high', 'high'], ['high', 'high', 'high']]
    >>> pages = ([{"word": "flour", "links": 2}, {"word": "oven"}], [[0, 1]])
    >>> GraphCRF(table="potts").fit([pages], [["cooking", "travel"]]).predict([pages])[0].tolist()
    ['cooking', 'travel']
    """

    factors: Mapping[str, Sequence[str]] | None
    table: str | Mapping[str, str]
    unlabelled: Any
    min_count: int
    class_weight: Mapping[Any, float] | None
    inference: str | None
    decode: str | None
    # The labels of each type of nodes.
    _labels: dict[str, np.ndarray]

    def __init__(
        self,
        *,
        objective: str = "likelihood",
        optimizer: str = "auto",
        sigma: float | str | None = 1.0,
        l1: float | str = 0.0,
        factors: Mapping[str, Sequence[str]] | None = None,
        table: str | Mapping[str, str] = "full",
        unlabelled: Any = None,
        min_count: int = 1,
        class_weight: Mapping[Any, float] | None = None,
        inference: str | None = None,
        decode: str | None = None,
        passes: int | None = None,
        seed: int = 1,
        threads: int | None = None,
        patience: int = 5,
        warm_start: bool = False,
        progress: bool | str = "auto",
        callback: Callable[[dict[str, Any]], Any] | None = None,
        checkpoint: str | bytes | PathLike[str] | PathLike[bytes] | None = None,
        params: dict[str, Any] | None = None,
    ) -> None:
        self._store(locals())

    @classmethod
    def from_model(cls, model: _crfkit.Model, **params: Any) -> GraphCRF:
        """A fitted estimator of a model that was loaded. Its labels are strings."""
        estimator = super().from_model(model, **params)
        estimator._labels = {name: np.array(labels) for name, labels in estimator.tagger_.types[0]}
        return estimator

    def _worker(self, model: _crfkit.Model) -> _crfkit.GraphTagger:
        return _crfkit.GraphTagger(model)

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        X_dev: Sequence[Any] | None = None,
        y_dev: Sequence[Any] | None = None,
        sample_weight: Iterable[float] | None = None,
        node_weight: Sequence[Any] | None = None,
    ) -> GraphCRF:
        """Train on graphs and the labels of their nodes. ``X_dev``, ``y_dev`` and ``sample_weight`` are as for ``ChainCRF.fit``.

        ``node_weight`` has the weights of the nodes of each graph, in the form of ``y``. It is for ``pseudolikelihood``, ``piecewise-pseudo`` and
        ``marginal``, which multiply a node's term by it, and for ``softmax-margin`` and ``max-margin``, for which it is the cost of a wrong label.
        """
        labels, graphs, types = self._data(X, y, node_weight)
        dev = development(X_dev, y_dev)
        developed = None
        if dev is not None:
            developed = [
                _numbered(_graph(x, f"X_dev[{k}]"), of, labels, self.unlabelled, f"y_dev[{k}]")
                for k, (x, of) in enumerate(zip(*dev))
            ]
        weights, start, checkpoint = self._weights(X, sample_weight), self._start(), self._checkpoint()
        more = {"weights": weights, "dev": developed, "start": start, "checkpoint": checkpoint}
        return self._run(_crfkit.train_graph, graphs, types, self._settings(), keep={"_labels": labels}, **more)

    def _settings(self, **more: Any) -> str:
        return super()._settings(inference=self.inference, min_count=self.min_count, **more)

    def _weights(self, X: Any, sample_weight: Any) -> dict[str, Any]:
        """The weights of graphs and labels."""
        return {"examples": weights_of(sample_weight, X, "graphs"), "labels": label_weights_of(self.class_weight)}

    def _data(self, X: Any, y: Any, node_weight: Any = None) -> tuple[dict[str, np.ndarray], list[Any], Any]:
        """The labels of each type, the graphs with numbers of labels, and the declarations of the types."""
        check_lengths(X, y)
        if node_weight is not None:
            node_weight = each_of(node_weight, "node_weight", "weights, in the form of y")
            if len(node_weight) != len(X):
                raise DataError(f"X has {len(X)} graphs, but node_weight has {len(node_weight)}: give weights for each of them")
        given = [_graph(x, f"X[{k}]") for k, x in enumerate(X)]
        seen: dict[str, list[Any]] = {}
        for k, (graph, of) in enumerate(zip(given, y)):
            for name, values in _labels_of(graph, of, f"y[{k}]").items():
                seen.setdefault(name, []).extend(one for value in values for one in _one_of(value, self.unlabelled))
        labels = {}
        for name, values in seen.items():
            if not values:
                raise DataError(f"no node of type {name!r} has a label")
            labels[name] = _distinct(values, name)
        graphs = []
        for k, (graph, of) in enumerate(zip(given, y)):
            weights = None if node_weight is None else _of_nodes(graph, node_weight[k], f"node_weight[{k}]", "weights")
            graphs.append(_numbered(graph, of, labels, self.unlabelled, f"y[{k}]", weights))
        return labels, graphs, self._types(given, labels)

    def _types(self, graphs: list[Any], labels: dict[str, np.ndarray]) -> Any:
        if not isinstance(self.factors, (Mapping, type(None))):
            raise TypeError(f"factors is {self.factors!r:.60}: give a dict from types of factors to lists of types of nodes, or None")
        if not isinstance(self.table, (str, Mapping)):
            raise TypeError(f"table is {self.table!r:.60}: give the form of the tables, or a dict with one for each type of factors")
        widths: dict[str, int] = {}
        arity: dict[str, int] = {}
        for nodes, factors in graphs:
            for name, (numbers, _) in nodes:
                _same(widths, name, numbers.shape[1], "numbers")
            for name, members, (numbers, _) in factors:
                _same(widths, name, numbers.shape[1], "numbers")
                _same(arity, name, members.shape[1], "nodes")
        node_types = [(name, [str(value) for value in values], widths[name]) for name, values in labels.items()]
        factor_types = []
        for name, count in arity.items():
            over = list((self.factors or {}).get(name, list(labels) * count if len(labels) == 1 else []))
            if len(over) != count:
                raise SettingError(f"factors has {over} for {name!r}, whose members have {count} nodes: name the type of each")
            table = self.table if isinstance(self.table, str) else text_of(f"table[{name!r}]", self.table.get(name, "full"))
            factor_types.append((name, over, table, widths[name]))
        return node_types, factor_types

    def predict(self, X: Sequence[Any], *, allowed: Sequence[Any] | None = None) -> np.ndarray:
        """The labels of the nodes of graphs: a 1-D array with an array for each graph, or a dict of arrays where there are types.

        ``allowed`` restricts labels, in the form of ``y``: ``None`` is any label, a label is fixed, and a set is one of several.
        """
        tagger, X = self.tagger_, each_of(X, "X", "graphs")
        graphs = [_graph(x, f"X[{k}]") for k, x in enumerate(X)]
        found = tagger.labels(self._restricted(graphs, allowed), decode=text_of("decode", self.decode), threads=self.threads)
        return object_array([self._named(x, graph, numbers) for x, graph, numbers in zip(X, graphs, found)])

    def _named(self, x: Any, graph: Any, numbers: np.ndarray) -> Any:
        """The labels of the nodes of a graph: an array, or a dict of arrays where there are types."""
        parts, start = {}, 0
        for name, (features, _) in graph[0]:
            parts[name] = self._labels[name][numbers[start : start + len(features)]]
            start += len(features)
        return parts if isinstance(x, Mapping) else parts[_NODE]

    def predict_marginals(self, X: Sequence[Any], *, allowed: Sequence[Any] | None = None) -> list[Any]:
        """The probability of each label of each node: for each graph an array (nodes, labels), or a dict of them.

        With ``allowed``, as for ``predict``, they are conditional on it.
        """
        tagger, X = self.tagger_, each_of(X, "X", "graphs")
        graphs = [_graph(x, f"X[{k}]") for k, x in enumerate(X)]
        answers = []
        found = tagger.marginals(self._restricted(graphs, allowed), threads=self.threads)
        for x, (nodes, _), values in zip(X, graphs, found):
            parts, start = {}, 0
            for name, (features, _) in nodes:
                shape = (len(features), len(self._labels[name]))
                parts[name] = values[start : start + shape[0] * shape[1]].reshape(shape)
                start += shape[0] * shape[1]
            answers.append(parts if isinstance(x, Mapping) else parts[_NODE])
        return answers

    def nbest(self, X: Sequence[Any], n: int, *, allowed: Sequence[Any] | None = None) -> list[list[tuple[Any, float]]]:
        """The ``n`` best labellings of each graph, in the form of ``predict``, with their probabilities, best first; fewer where there are fewer.

        Probabilities of whole labellings need exact inference (``inference="exact"``); with other engines it is an error. With
        ``allowed``, as for ``predict``, they are conditional on it.
        """
        tagger, X = self.tagger_, each_of(X, "X", "graphs")
        graphs = [_graph(x, f"X[{k}]") for k, x in enumerate(X)]
        found = tagger.nbest(self._restricted(graphs, allowed), n, threads=self.threads)
        return [[(self._named(x, graph, numbers), p) for numbers, p in ranked] for x, graph, ranked in zip(X, graphs, found)]

    def log_probability(
        self, X: Sequence[Any], y: Sequence[Any] | None = None, *, allowed: Sequence[Any] | None = None
    ) -> np.ndarray:
        """The log-probability of a labelling of each graph, by default of the best one. It needs exact inference, as ``nbest`` does."""
        tagger, X = self.tagger_, each_of(X, "X", "graphs")
        graphs = [_graph(x, f"X[{k}]") for k, x in enumerate(X)]
        given = None
        if y is not None:
            check_lengths(X, y)
            given = [self._numbers(graph, of, f"y[{k}]") for k, (graph, of) in enumerate(zip(graphs, y))]
        return np.array(tagger.log_probability(self._restricted(graphs, allowed), given, threads=self.threads))

    def entropy(self, X: Sequence[Any], *, allowed: Sequence[Any] | None = None) -> np.ndarray:
        """How unsure the model is of the labelling of each graph: its entropy in nats, 0 if only one is possible.

        It needs exact inference, as ``nbest`` does.
        """
        tagger, X = self.tagger_, each_of(X, "X", "graphs")
        graphs = [_graph(x, f"X[{k}]") for k, x in enumerate(X)]
        return np.array(tagger.entropy(self._restricted(graphs, allowed), threads=self.threads))

    def _numbers(self, graph: Any, of: Any, name: str) -> np.ndarray:
        """The numbers of the labels of all nodes, type by type, each of which must have one."""
        given = _labels_of(graph, of, name)
        numbers: list[int] = []
        for kind, _ in graph[0]:
            sets = _sets(given[kind], self._labels[kind], self.unlabelled, name)
            if len(sets) != len(given[kind]) or any(len(several) != 1 for _, several in sets):
                raise DataError(f"{name} has nodes of type {kind!r} without a label, or with several: give each of them one label here")
            numbers.extend(several[0] for _, several in sets)
        return np.array(numbers, dtype=np.int64)

    def _restricted(self, graphs: list[Any], allowed: Any) -> list[Any]:
        """Graphs without labels, whose nodes may be restricted to some."""
        if allowed is None:
            return [([(of, features, None, None, []) for of, features in nodes], factors) for nodes, factors in graphs]
        check_lengths(graphs, allowed, ("X", "allowed"))
        found = []
        for k, (graph, of) in enumerate(zip(graphs, allowed)):
            name, nodes = f"allowed[{k}]", []
            given = _of_nodes(graph, of, name, "labels")
            for kind, features in graph[0]:
                nodes.append((kind, features, None, None, _sets(given[kind], self._labels[kind], self.unlabelled, name)))
            found.append((nodes, graph[1]))
        return found

    def score(self, X: Sequence[Any], y: Sequence[Any], sample_weight: Iterable[float] | None = None) -> float:
        """The share of nodes whose label is right. ``sample_weight`` has a number for each graph.

        Nodes without a label do not count, and one of several is right if it is among them.
        """
        check_lengths(X, y)
        weights = weights_of(sample_weight, X, "graphs") or [1.0] * len(X)
        right = total = 0.0
        for k, (x, found, gold) in enumerate(zip(X, self.predict(X), y)):
            answers = found if isinstance(found, Mapping) else {_NODE: found}
            for name, values in _labels_of(_graph(x, f"X[{k}]"), gold, f"y[{k}]").items():
                known = [(a, b) for a, b in zip(answers[name], values) if not _is_unknown(b, self.unlabelled)]
                right += weights[k] * sum(a in b if isinstance(b, (set, frozenset)) else a == b for a, b in known)
                total += weights[k] * len(known)
        return right / total if total else 1.0

    @property
    def classes_(self) -> Any:
        """The labels in the order of ``predict_marginals``: an array, or a dict of arrays where there are types."""
        self._check_is_fitted()
        return self._labels[_NODE] if list(self._labels) == [_NODE] else dict(self._labels)


def _distinct(values: list[Any], name: str) -> np.ndarray:
    """The different labels of a type of nodes, in order."""
    kinds = {"text" if isinstance(v, str) else "number" if isinstance(v, (bool, int, float, np.number, np.bool_)) else "other" for v in values}
    if len(kinds) > 1 or "other" in kinds:
        wrong = next((v for v in values if not isinstance(v, (str, bool, int, float, np.number, np.bool_))), values[0])
        raise TypeError(f"nodes of type {name!r} have labels such as {wrong!r} ({type(wrong).__name__}): give all strings, or all numbers")
    _check_names([value for value in values if isinstance(value, str)], f"nodes of type {name!r} have the label")
    if any(_is_nan(value) for value in values):
        raise DataError(f"nodes of type {name!r} have the label nan: give None where a label is not known, or set unlabelled=nan")
    return np.unique(np.asarray(values))


def _check_names(names: Iterable[Any], what: str) -> None:
    """Raise an error unless all are strings that can be written in UTF-8."""
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{what} {name!r} ({type(name).__name__}), which is not a string")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise DataError(f"{what} {name!r}, which is not text in UTF-8") from None


def _is_nan(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _one_of(value: Any, unlabelled: Any) -> list[Any]:
    """The labels that a node may have, as far as its label is known; none if nothing is known."""
    if isinstance(value, (set, frozenset)):
        # A set has no order of its own.
        return sorted((getattr(one, "item", lambda one=one: one)() for one in value), key=repr)
    return [] if _is_unknown(value, unlabelled) else [value]


def _is_unknown(value: Any, unlabelled: Any) -> bool:
    if isinstance(value, (set, frozenset)):
        return False
    return value is None or (unlabelled is not None and value == unlabelled) or (_is_nan(unlabelled) and _is_nan(value))


def _same(known: dict[str, int], name: str, found: int, what: str) -> None:
    if known.setdefault(name, found) != found:
        raise DataError(f"{name!r} has {known[name]} {what} in one graph and {found} in another: give all the same")


def _array(values: Any, name: str, kind: type) -> np.ndarray:
    """A matrix."""
    unmasked(values, name)
    if kind is np.int64:
        try:
            given = np.asarray(values)
        except ValueError as error:
            raise TypeError(f"{name} are not an array: {error}") from None
        if given.size and given.dtype.kind not in "iu":
            raise TypeError(f"{name} are of type {given.dtype}: give the numbers of nodes, which are whole numbers")
        array = np.ascontiguousarray(given, dtype=np.int64)
    else:
        array = real_array(values, name)
    if array.size == 0 and array.ndim == 1:
        array = array.reshape(0, 2)
    if array.ndim != 2:
        raise DataError(f"{name} has the shape {array.shape}: give an array with two axes")
    if kind is np.float64 and not np.isfinite(array).all():
        raise DataError(f"{name} has numbers that are not finite")
    return array


def _is_named(values: Any) -> bool:
    """Whether it is a list of dicts, or of lists of names."""
    if not isinstance(values, (list, tuple)):
        return False
    names = (list, tuple, set, frozenset)
    return any(isinstance(v, Mapping) or (isinstance(v, names) and any(isinstance(n, (str, bytes)) for n in v)) for v in values)


def _features(values: Any, name: str, count: int | None = None) -> tuple[np.ndarray, Any]:
    """The numbers of nodes or factors, and their named features if they have such; ``count`` rows without columns where there is nothing."""
    named = None
    if isinstance(values, tuple) and len(values) == 2 and _is_named(values[0]) and not _is_named(values):
        named, values = values
    elif _is_named(values):
        named, values = values, np.zeros((len(values), 0))
    numbers = np.zeros((count, 0)) if values is None and count is not None else _array(values, name, np.float64)
    if count is not None and len(numbers) != count:
        raise DataError(f"{name} has {len(numbers)} rows, but there are {count} factors")
    if named is not None and len(named) != len(numbers):
        raise DataError(f"{name} has {len(named)} sets of named features, but {len(numbers)} rows of numbers")
    return numbers, named


def _graph(x: Any, name: str) -> Any:
    """The nodes of each type with their features, and the factors of each type with their members and features."""
    if isinstance(x, Mapping):
        unknown = [key for key in x if key not in ("nodes", "factors")]
        if unknown or "nodes" not in x:
            raise DataError(f"{name} has {list(x)}: give nodes and factors")
        for part, of_types in x.items():
            if not isinstance(of_types, Mapping):
                raise TypeError(f"{name}[{part!r}] is {type(of_types).__name__}: give a dict from the names of types")
            _check_names(of_types, f"{name}[{part!r}] has the type")
        nodes = [(of, _features(numbers, f"{name}['nodes'][{of!r}]")) for of, numbers in x["nodes"].items()]
        given = {of: (v if isinstance(v, tuple) else (v, None)) for of, v in x.get("factors", {}).items()}
    elif isinstance(x, tuple) and len(x) in (2, 3):
        nodes = [(_NODE, _features(x[0], f"{name}[0]"))]
        given = {_EDGE: (x[1], x[2] if len(x) == 3 else None)}
    else:
        raise TypeError(f"{name} is {type(x).__name__}: give a tuple of nodes, edges and their numbers, or a dict of nodes and factors")
    factors = []
    for of, (members, features) in given.items():
        found = _array(members, f"{name}: the members of {of!r}", np.int64)
        factors.append((of, found, _features(features, f"{name}: {of!r}", len(found))))
    return nodes, factors


def _of_nodes(graph: Any, given: Any, name: str, what: str) -> dict[str, Any]:
    """What is given for each node of each type."""
    nodes, _ = graph
    found = dict(given) if isinstance(given, Mapping) else {_NODE: given}
    for part in found.values():
        if not is_list(part) or not hasattr(part, "__len__"):
            raise TypeError(f"{name} is {given!r:.60}: give a list with one for each node, or a dict of such lists where nodes have types")
    extra = [of for of in found if of not in dict(nodes)]
    if extra:
        raise DataError(f"{name} has {what} of type {extra[0]!r}, but its graph has no nodes of this type")
    for of, (numbers, _) in nodes:
        if of not in found:
            raise DataError(f"{name} has no {what} of type {of!r}")
        if len(found[of]) != len(numbers):
            raise DataError(f"{name} has {what} of length {len(found[of])} for nodes of type {of!r}, of which its graph has {len(numbers)}")
    return found


def _labels_of(graph: Any, y: Any, name: str) -> dict[str, Any]:
    """The labels of each type of nodes; ``None`` for those that NumPy masks."""
    found = _of_nodes(graph, y, name, "labels")
    return {of: [None if label is np.ma.masked else label for label in labels] for of, labels in found.items()}


def _numbered(
    graph: Any, y: Any, labels: dict[str, np.ndarray], unlabelled: Any, name: str, weights: dict[str, Any] | None = None
) -> Any:
    """The graph with the numbers of its labels, and the weights of its nodes."""
    nodes, factors = graph
    given = _labels_of(graph, y, name)
    numbered = []
    for of, features in nodes:
        sets = _sets(given[of], labels[of], unlabelled, name)
        numbers = np.full(len(given[of]), -1, dtype=np.int64)
        for node, several in sets:
            numbers[node] = several[0] if len(several) == 1 else -1
        sets = [(node, several) for node, several in sets if len(several) > 1]
        of_nodes = None if weights is None else np.array(floats(weights[of], "node_weight" + name.removeprefix("y")))
        numbered.append((of, features, numbers, of_nodes, sets))
    return numbered, factors


def _sets(given: Any, labels: np.ndarray, unlabelled: Any, name: str) -> list[tuple[int, list[int]]]:
    """The nodes whose labels are known, or known to be one of several, with the numbers of these labels."""
    known = {value: number for number, value in enumerate(labels.tolist())}
    sets = []
    for node, value in enumerate(given):
        several = _one_of(getattr(value, "item", lambda value=value: value)(), unlabelled)
        if isinstance(value, (set, frozenset)) and not several:
            raise DataError(f"{name} has an empty set of labels: give None where a label is not known")
        unknown = [one for one in several if one not in known]
        if unknown:
            raise DataError(f"{name} has the label {unknown[0]!r}, which no node of the training data has")
        if several:
            sets.append((node, [known[one] for one in several]))
    return sets
