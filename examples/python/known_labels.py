"""Labels that are known or forbidden, and why a token has its label."""

import crfkit

X = [["2", "cups", "flour"], ["1", "red", "onion"], ["3", "eggs"]]
y = [["QTY", "UNIT", "NAME"], ["QTY", "NAME", "NAME"], ["QTY", "NAME"]]
model = crfkit.ChainCRF(template="default").fit(X, y).model_

tagger = model.tagger(constraint="forbid UNIT end", at_most_once=["QTY"])
line = ["4", "small", "cups"]
print(tagger.tag(line).labels)
for labels, probability in tagger.tag(line, allowed={1: "NAME"}).nbest(2):
    print(labels, round(probability, 3))
for part in model.tagger().explain(line, 2)[0].contributions[:3]:
    print(f"{part.amount:+.2f}", part.feature, part.labels, "rather than", part.rival_labels)
print(model.evaluate(X, y).accuracy, "% of the labels are right")
