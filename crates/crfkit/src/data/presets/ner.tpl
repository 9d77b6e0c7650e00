# Words as they are written, and the word's pairs with its neighbours.
U:w[-2]=%x[-2,0]
U:w[-1]=%x[-1,0]
U:w[0]=%x[0,0]
U:w[1]=%x[1,0]
U:w[2]=%x[2,0]
U:w[-1,0]=%x[-1,0]/%x[0,0]
U:w[0,1]=%x[0,0]/%x[1,0]
# Words in lower case, without punctuation marks at their ends.
U:lower[-2]=%Strip[-2,0]
U:lower[-1]=%Strip[-1,0]
U:lower[0]=%Strip[0,0]
U:lower[1]=%Strip[1,0]
U:lower[2]=%Strip[2,0]
# Prefixes and suffixes, as written and in lower case, and all parts of three and four characters.
U:prefix[0]=%prefix[0,0,2-4]
U:suffix[0]=%suffix[0,0,2-4]
U:lower-prefix[-1]=%Prefix[-1,0,1-2]
U:lower-prefix[0]=%Prefix[0,0,1-4]
U:lower-prefix[1]=%Prefix[1,0,1-2]
U:lower-suffix[-1]=%Suffix[-1,0,1-2]
U:lower-suffix[0]=%Suffix[0,0,1-4]
U:lower-suffix[1]=%Suffix[1,0,1-2]
U:ngrams[0]=%Ngrams[0,0,3-4]
# Shapes: capitals, small letters, digits and marks, with runs of one and of up to two.
U:shape[-2]=%shape[-2,0]
U:shape[-1]=%shape[-1,0]
U:shape[0]=%shape[0,0]
U:shape[1]=%shape[1,0]
U:shape[2]=%shape[2,0]
U:shape2[0]=%shape[0,0,2]
U:shape[-1,0]=%shape[-1,0]/%shape[0,0]
U:shape[0,1]=%shape[0,0]/%shape[1,0]
U:shape[-1,0,1]=%shape[-1,0]/%shape[0,0]/%shape[1,0]
# Marks at the ends of words, where they are not tokens of their own.
U:head[0]=%head[0,0]
U:tail[-1]=%tail[-1,0]
U:tail[0]=%tail[0,0]
U:tail[1]=%tail[1,0]
# The place in the sequence.
U:edge=%edge[0]
U:part=%part[0,4]
# Label pairs.
B
