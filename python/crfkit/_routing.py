"""What scikit-learn passes to the methods of an estimator besides ``X`` and ``y``, without importing scikit-learn."""

from __future__ import annotations

import copy
import inspect
from typing import Any

# The methods that searches and pipelines call.
_METHODS = ("fit", "partial_fit", "predict", "score")


class Routing:
    """Metadata routing: which keywords of its methods an estimator takes from a search or a pipeline."""

    def get_metadata_routing(self) -> Any:
        """The keywords that the methods take from a search or a pipeline, as scikit-learn asks for them."""
        requests = self.__dict__.get("_metadata_request")
        if requests is not None:
            return copy.deepcopy(requests)
        from sklearn.utils.metadata_routing import MetadataRequest

        requests = MetadataRequest(owner=type(self).__name__)
        for method in _METHODS:
            for name in self._keywords(method):
                getattr(requests, method).add_request(param=name, alias=None)
        return requests

    def set_fit_request(self, **requests: bool | str | None) -> Any:
        """Say which keywords of ``fit`` come from a search or a pipeline: ``set_fit_request(sample_weight=True)``."""
        return self._request("fit", requests)

    def set_partial_fit_request(self, **requests: bool | str | None) -> Any:
        """The same for ``partial_fit``."""
        return self._request("partial_fit", requests)

    def set_predict_request(self, **requests: bool | str | None) -> Any:
        """The same for ``predict``."""
        return self._request("predict", requests)

    def set_score_request(self, **requests: bool | str | None) -> Any:
        """The same for ``score``."""
        return self._request("score", requests)

    def _keywords(self, method: str) -> list[str]:
        """The keywords of a method besides ``X`` and ``y``; none if there is no such method."""
        found = getattr(type(self), method, None)
        parameters = list(inspect.signature(found).parameters.values())[1:] if found else []
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        return [parameter.name for parameter in parameters if parameter.kind in kinds and parameter.name not in ("X", "y")]

    def _request(self, method: str, requests: dict[str, bool | str | None]) -> Any:
        from sklearn import get_config

        if not get_config().get("enable_metadata_routing", False):
            raise RuntimeError(f"set_{method}_request needs metadata routing: call sklearn.set_config(enable_metadata_routing=True) first")
        known, changed = self._keywords(method), self.get_metadata_routing()
        for name, alias in requests.items():
            if name not in known:
                raise TypeError(f"{type(self).__name__}.{method} has no keyword {name!r}; it has {', '.join(known) or 'none'}")
            getattr(changed, method).add_request(param=name, alias=alias)
        self._metadata_request = changed
        return self
