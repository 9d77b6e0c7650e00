# Words.
U:w[-2]=%x[-2,0]
U:w[-1]=%x[-1,0]
U:w[0]=%x[0,0]
U:w[1]=%x[1,0]
U:w[2]=%x[2,0]
U:w[-1,0]=%x[-1,0]/%x[0,0]
U:w[0,1]=%x[0,0]/%x[1,0]
U:lower[0]=%X[0,0]
# All lower-cased suffixes of one to four letters: -s, -ed, -ly, -ing, -ogy, -ion, -ity, -ies, -tion are among them.
# Empty where the word is shorter.
U:suffix1=%M[0,0,".$"]
U:suffix2=%M[0,0,"..$"]
U:suffix3=%M[0,0,"...$"]
U:suffix4=%M[0,0,"....$"]
U:prefix1=%M[0,0,"^."]
U:prefix2=%M[0,0,"^.."]
U:prefix3=%M[0,0,"^..."]
U:prefix4=%M[0,0,"^...."]
U:suffix3[-1]=%M[-1,0,"...$"]
U:suffix3[1]=%M[1,0,"...$"]
# Spelling.
U:starts-digit=%t[0,0,"^\d"]
U:starts-capital=%t[0,0,"^\u"]
U:hyphen=%t[0,0,"-"]
U:digit=%t[0,0,"\d"]
U:capitals=%t[0,0,"^\u\u*$"]
U:marks=%t[0,0,"^\p\p*$"]
# A capital at the start of a sentence says less.
U:capital[-1,0]=%m[-1,0,"^_B-1$"]/%t[0,0,"^\u"]
# Label pairs.
B
