"""Compare optimisers: how far each gets in the same number of passes."""

import crfkit

words = "the a cat dog bird sees hears likes big small".split()
tags = dict(zip(words, "D D N N N V V V A A".split()))
X = [[words[(k * 7 + t * t) % 10] for t in range(3 + k % 5)] for k in range(200)]
y = [[tags[word] for word in x] for x in X]

for optimizer in ("auto", "lbfgs", "saga", "sgd", "adagrad", "newton-cg"):
    crf = crfkit.ChainCRF(optimizer=optimizer, template="default", passes=12).fit(X, y)
    print(f"{optimizer:10} objective {crf.objective_:9.4f} after {crf.passes_:5.1f} passes: {crf.stop_reason_}")
