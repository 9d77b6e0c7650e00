"""Find names in sentences: a model of words in twenty lines."""

import crfkit

sentences = [
    ("Ada Lovelace wrote to Charles Babbage .", "B-NAME I-NAME O O B-NAME I-NAME O"),
    ("The engine impressed Mary Somerville .", "O O O B-NAME I-NAME O"),
    ("Babbage lived in London .", "B-NAME O O B-PLACE O"),
    ("They met in Turin .", "O O O B-PLACE O"),
    ("Luigi Menabrea came from Turin .", "B-NAME I-NAME O O B-PLACE O"),
]
X = [words.split() for words, _ in sentences]
y = [labels.split() for _, labels in sentences]

crf = crfkit.ChainCRF(template="ner", sigma=5.0).fit(X, y)

words = "Mary Lovelace came from London .".split()
tagged = crf.tagger_.tag(words)
for word, label, probabilities in zip(words, tagged, tagged.marginals):
    print(f"{word:10} {label:8} {probabilities.max():.3f}")
