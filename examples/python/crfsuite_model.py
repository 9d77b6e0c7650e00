"""A model file of CRFsuite: made by any of its programs, or here; labelled with, looked into, and written again."""

import os
import tempfile

import crfkit
from crfkit.compat import pycrfsuite

# A program that uses python-crfsuite would make the same kind of file. If you have one of your own, start at "Open it".
trainer = pycrfsuite.Trainer("pa", {"max_iterations": 20}, verbose=False)
for words, labels in [
    (["Ada", "Lovelace", "wrote", "notes"], ["B-PER", "I-PER", "O", "O"]),
    (["Rome", "is", "old"], ["B-LOC", "O", "O"]),
    (["She", "saw", "Rome"], ["O", "O", "B-LOC"]),
]:
    trainer.append([{"word": word.lower(), "upper": word[0].isupper()} for word in words], labels)
path = os.path.join(tempfile.mkdtemp(), "names.crfsuite")
trainer.train(path)

# Open it: labels, probabilities and the n best labellings.
model = crfkit.Model.load(path)
tagged = model.tagger().tag([{"word": "rome", "upper": True}, {"word": "wrote"}, {"word": "notes"}])
print(list(tagged), [round(float(p), 3) for p in tagged.marginals.max(axis=1)])
for labels, probability in tagged.nbest(2):
    print(f"{probability:.3f}", labels)

# Look into it.
names, rows, columns, values = model.coefficients()
heaviest = max(zip(values, rows, columns))
print("heaviest:", names[heaviest[2]], model.labels[heaviest[1]], round(float(heaviest[0]), 3))

# In crfkit's own format, which has a checksum and loads without a copy, and back again.
model.save(path + ".crfkit")
with open(path, "rb") as file:
    assert crfkit.Model.load(path + ".crfkit").to_crfsuite() == file.read()
