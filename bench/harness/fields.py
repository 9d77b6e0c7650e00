"""Generated records whose fields are to be found: citations, addresses, ingredients, names of people and lines of a log.

Words are made of syllables, with the endings that their kind has in life, and most are rare: a model meets many of them for the first time.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

Token = tuple[str, str]

START = "b br c ch cl d dr f fr g gr h j k kl l m n p pr r s sch st t tr v w z".split()
MIDDLE = "a e i o u ai ea ie oo ou ä ö é".split()
END = "ck ft l ld ll m n nd nk nt r rd rn s ss st t x".split()

TOPIC = "learning networks systems models data search inference parsing planning logic vision speech agents graphs memory control".split()
QUALITY = "fast robust optimal parallel neural probabilistic incremental efficient adaptive distributed statistical hidden large sparse".split()
LINK = "for of in with and from using on by under".split()
FOOD = "flour sugar butter milk onion garlic rice pepper oil salt cream lemon basil beans tomatoes chicken".split()
UNITS = "cup cups tbsp tsp g kg ml oz pound pounds can cans clove cloves pinch slice slices".split()
STATES = "AL AK CA CO FL GA IL MA MI NJ NY OH OR PA TX WA".split()
MONTHS = "January February March April May June July August September October November December".split()


def word(random: Random, syllables: int = 2) -> str:
    return "".join(random.choice(START) + random.choice(MIDDLE) for _ in range(syllables)) + random.choice(END)


def rare(random: Random, common: list[str], ending: str = "") -> str:
    """A common word, or one that hardly comes again."""
    return random.choice(common) if random.random() < 0.5 else word(random, random.choice((1, 2))) + ending


def surname(random: Random) -> str:
    return word(random, random.choice((1, 2))).capitalize() + random.choice(["", "", "son", "mann", "ez", "ov", "ski"])


def first_name(random: Random) -> str:
    return word(random, 1).capitalize() + random.choice(["a", "e", "y", "", "o"])


def city(random: Random) -> list[str]:
    name = word(random, 1).capitalize() + random.choice(["ville", "burg", "ton", "ford", "", "stadt"])
    return [random.choice(["New", "San", "Bad", "Port"]), name] if random.random() < 0.2 else [name]


def number(random: Random, digits: int) -> str:
    return str(random.randrange(10 ** (digits - 1), 10**digits))


def field(label: str, words: list[str], behind: str = "", before: str = "") -> list[Token]:
    """The tokens of a field, with marks at its ends."""
    words = list(words)
    words[0] = before + words[0]
    words[-1] += behind
    return [(text, ("B-" if k == 0 else "I-") + label) for k, text in enumerate(words)]


def person(random: Random, style: int) -> list[str]:
    initial = random.choice("ABCDEFGHJKLMNPRSTW") + "."
    if style == 0:
        return [surname(random) + ",", initial]
    if style == 1:
        return [initial, surname(random)]
    return [first_name(random), surname(random)]


def people(random: Random, style: int) -> list[str]:
    all_of_them = [person(random, style) for _ in range(random.choice((1, 1, 2, 2, 3, 4)))]
    words: list[str] = []
    for k, one in enumerate(all_of_them):
        if k + 1 < len(all_of_them):
            one[-1] += "," if k + 2 < len(all_of_them) or random.random() < 0.5 else ""
        elif k:
            words.append(random.choice(["and", "&"]))
        words += one
    return words


def phrase(random: Random, longest: int) -> list[str]:
    words: list[str] = []
    for _ in range(random.randrange(1, longest)):
        words += [rare(random, QUALITY), rare(random, TOPIC), random.choice(LINK)]
    return words[:-1]


def capitalised(words: list[str]) -> list[str]:
    return [text if text in LINK else text.capitalize() for text in words]


def citation(random: Random) -> list[Token]:
    """A reference with up to 13 fields, in one of several styles."""
    style, year = random.randrange(3), str(random.randrange(1955, 2005))
    tokens = field("author", people(random, style), random.choice([".", ",", ""]))
    early = random.random() < 0.4
    if early:
        tokens += field("date", [year], random.choice([").", "),"]), "(") if random.random() < 0.6 else field("date", [year], ".")
    title = phrase(random, 4)
    title = capitalised(title) if random.random() < 0.4 else [title[0].capitalize(), *title[1:]]
    quoted = random.random() < 0.3
    tokens += field("title", title, ',"' if quoted else random.choice([".", ",", "."]), '"' if quoted else "")
    place = city(random)
    kind = random.randrange(5)
    pages = f"{number(random, random.choice((1, 2, 3)))}{random.choice(['-', '--'])}{number(random, 3)}"
    if kind < 2:
        journal = [random.choice(["Journal", "Transactions", "Annals"]), "of", rare(random, TOPIC).capitalize()]
        journal = journal if random.random() < 0.6 else [word(random).capitalize(), random.choice(["Letters", "Review", "Science"])]
        tokens += field("journal", journal, ",")
        volume = number(random, random.choice((1, 2)))
        tokens += field("volume", [f"{volume}({number(random, 1)}):" + pages], ",") if random.random() < 0.3 else (
            field("volume", [volume] if random.random() < 0.5 else ["vol.", volume], ",")
            + field("pages", [pages] if random.random() < 0.5 else ["pp.", pages], ","))
    elif kind == 2:
        book = ["Proceedings", "of", "the", *capitalised(phrase(random, 2)), random.choice(["Conference", "Workshop", "Symposium"])]
        tokens += field("booktitle", ["In", *book], ",")
        if random.random() < 0.4:
            tokens += field("editor", [*people(random, style), random.choice(["(Ed.)", "editors", "eds."])], ",")
        tokens += field("pages", ["pages", pages], ",")
        if random.random() < 0.6:
            tokens += field("location", [*place[:-1], place[-1] + ",", random.choice(STATES)], ".")
    elif kind == 3:
        tokens += field("tech", ["Technical", "Report", number(random, 3)] if random.random() < 0.6 else [f"TR-{number(random, 2)}-{number(random, 3)}"], ",")
        tokens += field("institution", [random.choice(["University", "Institute"]), "of", *place] if random.random() < 0.7 else [surname(random), "University"], ",")
    else:
        tokens += field("publisher", [surname(random), random.choice(["Press", "Publishers", "&", "Verlag"]), *([surname(random)] if random.random() < 0.3 else [])], ",")
        tokens += field("location", place, ",")
    if not early:
        date = [year] if random.random() < 0.7 else [random.choice(MONTHS), year]
        tokens += field("date", date, ".")
    if random.random() < 0.15:
        tokens += field("note", random.choice([["To", "appear"], ["Submitted"], ["(in", "press)"], ["Ph.D.", "thesis"]]), ".")
    return tokens


def address(random: Random) -> list[Token]:
    """An address of one of four countries, with marks attached or not."""
    street = [word(random, random.choice((1, 2))).capitalize() for _ in range(random.choice((1, 1, 2)))]
    house = number(random, random.choice((1, 2, 3, 4))) + random.choice(["", "", "", "a", "B"])
    kind = random.randrange(4)
    tokens: list[Token] = []
    if random.random() < 0.3:
        tokens += field("name", [first_name(random), surname(random)], ",")
    elif random.random() < 0.3:
        tokens += field("name", [surname(random), random.choice(["Inc.", "Ltd", "GmbH", "&"]), *([surname(random)] if random.random() < 0.2 else [])], ",")
    place = city(random)
    if kind == 0:
        tokens += field("number", [house]) + field("street", [*street, random.choice(["St", "St.", "Ave", "Road", "Blvd", "Lane"])], ",")
        if random.random() < 0.4:
            tokens += field("unit", [random.choice(["Apt", "Suite", "#", "Unit"]), number(random, 2)], ",")
        tokens += field("city", place, ",") + field("state", [random.choice(STATES)])
        tokens += field("postcode", [number(random, 5) + random.choice(["", "-" + number(random, 4)])])
    elif kind == 1:
        tokens += field("street", [street[0] + random.choice(["straße", "str.", "weg", "platz"])]) + field("number", [house], ",")
        tokens += field("postcode", [number(random, 5)]) + field("city", place)
    elif kind == 2:
        code = f"{random.choice('ABCDEGLMNSW')}{random.choice('ABCDEGLMNSW')}{number(random, 1)}"
        tokens += field("number", [house]) + field("street", [*street, random.choice(["Road", "Close", "Street"])], ",")
        tokens += field("city", place, ",") + field("postcode", [code, f"{number(random, 1)}{random.choice('ABDEFG')}{random.choice('ABDEFG')}"])
    else:
        tokens += field("number", [house], random.choice([",", ""])) + field("street", [random.choice(["rue", "avenue", "place"]), random.choice(["de", "du", "des"]), *street], ",")
        tokens += field("postcode", [number(random, 5)]) + field("city", place)
    if random.random() < 0.3:
        tokens[-1] = (tokens[-1][0] + ",", tokens[-1][1])
        tokens += field("country", [random.choice(["USA", "Germany", "France", "UK", word(random).capitalize() + "ia"])])
    return tokens


def ingredient(random: Random) -> list[Token]:
    """A line of a recipe; marks are tokens of their own."""
    amount = random.choice([[number(random, 1)], [number(random, 3)], ["1/2"], [number(random, 1), "1/2"], ["½"], [f"{number(random, 1)}-{number(random, 1)}"]])
    tokens: list[Token] = field("quantity", amount)
    if random.random() < 0.7:
        tokens += field("unit", [random.choice(UNITS)])
    if random.random() < 0.15:
        tokens += [("(", "O")] + field("size", [number(random, 2), random.choice(["oz", "ounce", "g"])]) + [(")", "O")]
    if random.random() < 0.2:
        tokens += [("of", "O")]
    name = [rare(random, ["fresh", "dried", "ground", "large", "whole"], random.choice(["ed", "y"]))] if random.random() < 0.4 else []
    tokens += field("name", [*name, rare(random, FOOD, random.choice(["", "s"]))])
    if random.random() < 0.4:
        comment = [random.choice(["finely", "roughly", "freshly", "well"]), rare(random, ["chopped", "sliced", "beaten", "ground"], "ed")]
        tokens += [(",", "O")] + field("comment", comment[random.randrange(2):])
    if random.random() < 0.1:
        tokens += [("(", "O")] + field("comment", ["optional"]) + [(")", "O")]
    return tokens


def log_line(random: Random) -> list[Token]:
    """A line of a log: time, host, process, number, level, user, path, address."""
    stamp = [random.choice(MONTHS)[:3], number(random, 2), f"{random.randrange(24):02}:{random.randrange(60):02}:{random.randrange(60):02}"]
    iso = [f"20{number(random, 2)}-0{number(random, 1)}-1{number(random, 1)}T{random.randrange(10, 24)}:{random.randrange(10, 60)}:00Z"]
    tokens = field("time", stamp if random.random() < 0.5 else iso)
    tokens += field("host", [word(random, 1) + random.choice(["", "-", "."]) + number(random, 1)])
    tokens += field("process", [word(random, 1) + f"[{number(random, 4)}]:"])
    if random.random() < 0.5:
        tokens += field("level", [random.choice(["ERROR", "warning:", "INFO", "debug"])])
    for _ in range(random.randrange(1, 4)):
        kind = random.randrange(4)
        if kind == 0:
            tokens += [("user", "O")] + field("user", [word(random, random.choice((1, 2))) + random.choice(["", number(random, 2)])])
        elif kind == 1:
            tokens += [("from", "O")] + field("address", [".".join(number(random, random.choice((1, 2, 3))) for _ in range(4))])
        elif kind == 2:
            tokens += field("path", ["/" + "/".join(word(random, 1) for _ in range(random.randrange(1, 4)))])
        tokens += [(text, "O") for text in random.choice([["failed"], ["connection", "closed"], ["took", number(random, 2) + "ms"], [word(random)]])]
    return tokens


def full_name(random: Random) -> list[Token]:
    """The name of a person, with titles, initials and suffixes, in either order."""
    first, last = field("first", [first_name(random)]), [surname(random)]
    last = [random.choice(["van", "de", "von", "O'"]), *last] if random.random() < 0.15 else last
    title = field("title", [random.choice(["Dr.", "Mr", "Mrs.", "Prof.", "Sir"])]) if random.random() < 0.4 else []
    middle = field("middle", [random.choice("ABCDEFGHJKLM") + random.choice([".", ""])] if random.random() < 0.6 else [first_name(random)])
    middle = middle if random.random() < 0.5 else []
    suffix = field("suffix", [random.choice(["Jr.", "Sr.", "III", "PhD", "M.D."])]) if random.random() < 0.25 else []
    if random.random() < 0.35:
        return field("last", last, ",") + title + first + middle + suffix
    return title + first + middle + field("last", last, "," if suffix else "") + suffix


KINDS: dict[str, Callable[[Random], list[Token]]] = {
    "citations": citation,
    "addresses": address,
    "ingredients": ingredient,
    "logs": log_line,
    "people": full_name,
}


def careless(random: Random, tokens: list[Token]) -> list[Token]:
    """What people make of a record: marks left out, everything in capitals or small letters, letters swapped, words missing."""
    marks, case = random.random() < 0.4, random.choice([str, str, str, str.lower, str.upper])
    kept = []
    for text, label in tokens:
        text = case(text)
        if marks and random.random() < 0.7:
            text = text.strip(",.;:\"()") or text
        if len(text) > 4 and random.random() < 0.05:
            at = random.randrange(1, len(text) - 1)
            text = text[:at] + text[at + 1] + text[at] + text[at + 2:]
        if random.random() > 0.03 or label.startswith("B-"):
            kept.append((text, label))
    return kept


def records(kind: str, count: int, seed: int) -> str:
    """Records as a column file."""
    random = Random(f"{kind} {seed}")
    made = (careless(random, KINDS[kind](random)) for _ in range(count))
    return "".join("".join(f"{text}\t{label}\n" for text, label in tokens) + "\n" for tokens in made)
