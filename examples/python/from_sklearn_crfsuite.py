"""Move from sklearn-crfsuite: change the import first, and the estimator when you like."""

# Was: import sklearn_crfsuite
from crfkit import ChainCRF
from crfkit.compat import sklearn_crfsuite
from crfkit.compat.sklearn_crfsuite import metrics


def features(words, t):
    token = {"bias": 1.0, "word": words[t].lower(), "suffix": words[t][-2:], "title": words[t].istitle()}
    if t > 0:
        token["before"] = words[t - 1].lower()
    else:
        token["first"] = True
    return token


def sequence(text):
    words = text.split()
    return [features(words, t) for t in range(len(words))]


X = [sequence(text) for text in ("Anna baked bread", "the bread rose", "Otto ate the bread", "nobody saw Anna")]
y = [labels.split() for labels in ("NAME VERB NOUN", "DET NOUN VERB", "NAME VERB DET NOUN", "NOUN VERB NAME")]

# The same program as before.
old = sklearn_crfsuite.CRF(algorithm="lbfgs", c1=0.01, c2=0.1, max_iterations=100, all_possible_transitions=True)
old.fit(X, y)
print("as before:", metrics.flat_accuracy_score(y, old.predict(X)), old.classes_)

# The estimator of crfkit: c1 is l1, and c2 is 1/(2 sigma²).
new = ChainCRF(optimizer="lbfgs", l1=0.01, sigma=(2 * 0.1) ** -0.5, passes=100, transitions="all").fit(X, y)
print("as new:   ", new.score(X, y), [str(label) for label in new.classes_])
assert [list(labels) for labels in old.predict(X)] == [list(labels) for labels in new.predict(X)]

print("probabilities of the first token:", new.predict_marginals(X[:1])[0][0].round(3))
