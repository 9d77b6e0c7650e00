# The preset default before November 2026, to compare with.
# Words and lower-cased words.
U:w[-2]=%x[-2,0]
U:w[-1]=%x[-1,0]
U:w[0]=%x[0,0]
U:w[1]=%x[1,0]
U:w[2]=%x[2,0]
U:w[-1,0]=%x[-1,0]/%x[0,0]
U:w[0,1]=%x[0,0]/%x[1,0]
U:lower[-1]=%X[-1,0]
U:lower[0]=%X[0,0]
U:lower[1]=%X[1,0]
# Lower-cased prefixes and suffixes; empty where the word is shorter.
U:prefix1=%M[0,0,"^."]
U:prefix2=%M[0,0,"^.."]
U:prefix3=%M[0,0,"^..."]
U:suffix1=%M[0,0,".$"]
U:suffix2=%M[0,0,"..$"]
U:suffix3=%M[0,0,"...$"]
# The shape of each word as one observation: capital, all capitals, a digit, digits only, a hyphen, marks only.
U:shape[-1]=%t[-1,0,"^\u"]/%t[-1,0,"^\u\u*$"]/%t[-1,0,"\d"]/%t[-1,0,"^\d\d*$"]/%t[-1,0,"-"]/%t[-1,0,"^\p\p*$"]
U:shape[0]=%t[0,0,"^\u"]/%t[0,0,"^\u\u*$"]/%t[0,0,"\d"]/%t[0,0,"^\d\d*$"]/%t[0,0,"-"]/%t[0,0,"^\p\p*$"]
U:shape[1]=%t[1,0,"^\u"]/%t[1,0,"^\u\u*$"]/%t[1,0,"\d"]/%t[1,0,"^\d\d*$"]/%t[1,0,"-"]/%t[1,0,"^\p\p*$"]
# Label pairs.
B
