"""Topics of pages that link to each other: a graph whose nodes have named features, with a page that nobody has labelled."""

import crfkit

# The words of each page, and the links between them.
pages = [{"title": "bread", "flour": 3, "oven": 1}, {"title": "cakes", "flour": 1}, {"title": "trains", "ticket": 2}, {"title": "hotels"}]
links = [[0, 1], [2, 3], [0, 3]]
of_links = [["same site"], ["same site"], ["advertisement"]]
topics = ["cooking", "cooking", "travel", None]

crf = crfkit.GraphCRF(table="potts", inference="exact").fit([(pages, links, of_links)], [topics])
for page, topic, sure in zip(pages, crf.predict([(pages, links, of_links)])[0], crf.predict_marginals([(pages, links, of_links)])[0]):
    print(f"{page['title']}: {topic} ({sure.max():.2f})")
