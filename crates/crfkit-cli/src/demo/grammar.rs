//! The rules of the demo's corpus: how an ingredient line is put together.
//!
//! A rule has a name and alternatives separated by `|`. Early alternatives are more likely than late ones. The
//! notation:
//!
//! - `<name>` stands for an alternative of that rule or a word of that list, `<name+s>` for its plural;
//! - `{30 text}` appears in 30 of a hundred cases (options do not nest);
//! - `[QTY text]` is a chunk of that kind; text outside chunks is labelled `O`.

/// Name and alternatives of every rule. A line is drawn from the rule `line`.
pub const RULES: &[(&str, &str)] = &[
    (
        "line",
        "<dry-line>|<vegetable-line>|<liquid-line>|<spice-line>|<bare-line>|<meat-line>|<herb-line>
        |<taste-line>|<clove-line>|<butter-line>|<tinned-line>|<nut-line>|<cheese-line>|<name-first-line>
        |<greens-line>|<fruit-line>|<egg-line>",
    ),
    (
        "dry-line",
        "<measure> {20 [PREP <ready-dry>]} {20 [NOTE <quality>]} [NAME <dry>] {40 <after-dry>}
        |<weighed> [NAME <dry>] {25 <after-dry>}
        |<cups> ([QTY <hundreds>] [UNIT <gram>]) [NAME <dry>] {30 <after-dry>}
        |<boxed> [NAME <dry>] {20 <note>}
        |<measure> plus <measure> [NAME <dry>] {30 <after-dry>}
        |<measure> [NAME <dry>] or [NAME <dry>] {20 <note>}",
    ),
    (
        "vegetable-line",
        "[QTY <few>] {45 [SIZE <size>]} [NAME <vegetable+s>] <after-cut>
        |[QTY <one>] {45 [SIZE <size>]} {20 [NOTE <quality>]} [NAME <vegetable>] <after-cut>
        |<measure> [PREP <cut>] [NAME <vegetable>] {25 <note>}
        |<weighed> {20 [SIZE <size>]} [NAME <vegetable+s>] {70 <after-cut>}
        |[QTY <few>] {20 [SIZE <size>]} [NAME <vegetable+s>] or [NAME <vegetable+s>] {50 <after-cut>}
        |[QTY <few>] [PREP <chop>] [NAME <vegetable+s>] {30 <note>}
        |[QTY <one>] [NAME <vegetable>] ([SIZE <size>]) {50 <after-cut>}",
    ),
    (
        "fruit-line",
        "[QTY <few>] {30 [SIZE <size>]} {20 [NOTE <quality>]} [NAME <fruit+s>] {70 <after-cut>}
        |[PREP <juice>] of [QTY <one>] {20 [SIZE <size>]} [NAME <citrus>]
        |[QTY <one>] {30 [SIZE <size>]} [NAME <citrus>] {70 <after-citrus>}
        |[QTY <one>] {30 [SIZE <size>]} [NAME <fruit>] {70 <after-cut>}
        |[QTY <few>] [NAME apples], [NOTE such as <variety> or <variety>]
        |[PREP <juice>] of [QTY <few>] [NAME <citrus+s>]
        |<measure> [NAME <fruit> slices] {30 <note>}",
    ),
    (
        "greens-line",
        "[QTY <single>] {20 [SIZE <size>]} [UNIT <head>] {15 of} [NAME <greens>] <after-cut>
        |<measure> [PREP <cut>] [NAME <greens>] {15 <note>}
        |<weighed> [NAME {25 fresh} <greens>] <after-cut>
        |[QTY <few>] [UNIT <head+s>] {15 of} [NAME <greens>] <after-cut>
        |<boxed> [NAME frozen <greens>] {50 , [PREP thawed]}",
    ),
    (
        "herb-line",
        "<measure> [PREP <snipped>] [NAME {60 fresh} <herb>] {15 , [PREP packed]} {10 <note>}
        |<measure> [NAME <state> <herb>] {35 <after-herb>}
        |[QTY <part>] [PREP <packed>] [UNIT <volume>] {20 of} [NAME {40 fresh} <herb>] {35 <after-herb>}
        |[QTY <few>] [UNIT <bundle+s>] {15 of} [NAME {50 fresh} <herb>] {50 <after-herb>}
        |[QTY <single>] {20 [SIZE <size>]} [UNIT <bundle>] {20 of} [NAME {40 fresh} <herb>] {50 <after-herb>}
        |[QTY <few>] [NAME {30 fresh} <herb>] [UNIT <bundle+s>] {50 <after-herb>}
        |<measure> [NAME {50 fresh} <herb> leaves] {50 <after-herb>}
        |[QTY <few>] [UNIT leaves] {20 of} [NAME <herb>] {40 <after-herb>}
        |<measure> [PREP <snip>] [NAME fresh <herb>] or <spooned> [NAME dried <herb>]
        |[NAME {30 fresh} <herb> leaves] <for>",
    ),
    (
        "spice-line",
        "<spooned> [NAME ground <spice>] {15 <note>}
        |<spooned> [NAME <seasoning>] {20 <note>}
        |<pinch> [NAME <seasoning>] {15 <note>}
        |<spooned> [PREP freshly <grind>] [NAME <pepper>] {15 <note>}
        |<spooned> [NAME <spice> seeds] {50 , [PREP <grinding>]}
        |<pinch> [NAME ground <spice>] {15 <note>}
        |[QTY <few>] [NAME {60 whole} <pod+s>] {30 , [PREP <grinding>]}
        |<spooned> [PREP <grinding>] [NAME <spice> seeds] {15 <note>}
        |<spooned> [NAME <seasoning>], plus <spooned> [NAME ground <spice>]
        |<spooned> each [NAME ground <spice>] and [NAME <spice>]
        |[QTY <single>] [NAME {30 whole} <pod>] {30 , [PREP <grinding>]}
        |[QTY <single>] [UNIT stick] {30 of} [NAME cinnamon]",
    ),
    (
        "clove-line",
        "[QTY <few>] {20 [SIZE <size>]} [UNIT cloves] {20 of} [NAME garlic] {80 <after-clove>}
        |[QTY <few>] {25 [SIZE <size>]} [NAME garlic] [UNIT cloves] {80 <after-clove>}
        |[QTY <single>] {20 [SIZE <size>]} [UNIT clove] {20 of} [NAME garlic] {80 <after-clove>}
        |[QTY <single>] {40 [SIZE <inches>]} [UNIT piece] {40 of} [NAME {50 fresh} ginger] <after-clove>
        |[QTY <few>] [UNIT <stalk+s>] {10 of} [NAME celery] <after-cut>
        |[QTY <single>] {20 [SIZE <size>]} [UNIT head] {20 of} [NAME garlic] {50 <after-clove>}
        |[QTY <few>] [NAME celery] [UNIT <stalk+s>] <after-cut>
        |<spooned> [PREP <cut>] [NAME {30 fresh} <root>]
        |[QTY <few>] [NAME cinnamon] [UNIT sticks]",
    ),
    (
        "liquid-line",
        "<measure> {15 [PREP <ready-wet>]} {20 [NOTE <quality>]} [NAME <liquid>] {35 <after-wet>}
        |[QTY <hundreds>] [UNIT ml] [NAME <liquid>] {20 <note>}
        |<splash> [NAME <liquid>] {20 <note>}
        |<cups> ([QTY <hundreds>] [UNIT ml]) {10 [PREP <ready-wet>]} [NAME <liquid>] {30 <note>}
        |<canned> [NAME <liquid>] {15 <note>}
        |<measure> [NAME <liquid>] or [NAME <liquid>] {20 <after-wet>}
        |<measure> plus <measure> [NAME <liquid>] {30 <after-wet>}
        |[QTY <part>] [UNIT cup] [PREP freshly squeezed] [NAME <citrus> juice] {50 <squeezed>}
        |[QTY <some>] [UNIT <volume+s>] [NOTE or so] [NAME <liquid>]
        |[NAME <liquid>] <for>",
    ),
    (
        "butter-line",
        "<measure> [PREP <ready-butter>] [NAME <butter>] {20 <note>}
        |<measure> [NAME <butter>] {60 <after-butter>}
        |[QTY <one>] [UNIT stick] {15 of} [NAME <butter>] {50 <after-butter>}
        |<weighed> [NAME <butter>] {60 <after-butter>}
        |<measure> [NAME <butter>] or [NAME <butter>] {40 <after-butter>}
        |[QTY <some>] [UNIT sticks] {15 of} [NAME <butter>] {50 <after-butter>}
        |[NAME <butter>] <for>",
    ),
    (
        "cheese-line",
        "<measure> [PREP <grated>] [NAME <cheese>] {20 <note>}
        |<weighed> {20 [NOTE <quality>]} [NAME <cheese>] {60 <after-cheese>}
        |<boxed> {20 [PREP <ready-cheese>]} [NAME <cheese>] {30 <note>}
        |<measure> [NAME <cheese>] or [NAME <cheese>] {40 <after-cheese>}
        |[QTY <few>] {15 [SIZE <size>]} [UNIT <slab+s>] {20 of} [NAME <cheese>] {20 <note>}",
    ),
    (
        "meat-line",
        "<weighed> {20 [NOTE <quality>]} [NAME <mince>] {30 <note>}
        |[QTY <few>] {25 [SIZE <size>]} {25 [PREP <ready-meat>]} [NAME <meat+s>] {40 <after-meat>}
        |<weighed> [NAME <roast>] {60 <after-meat>}
        |<weighed> [PREP <ready-meat>] [NAME <meat+s>] {30 <after-meat>}
        |[QTY <few>] {15 [SIZE <size>]} [UNIT <slab+s>] {20 of} [NAME <roast>] {50 <after-meat>}
        |[QTY <single>] ([SIZE <package-size>]) {20 [PREP <ready-meat>]} [NAME <meat>] {40 <after-meat>}
        |<weighed> [PREP <ready-meat>] {20 [NOTE <quality>]} [NAME <roast>] {30 <after-meat>}
        |[QTY <few>] [SIZE <package-dash>] [NAME <meat+s>] {40 <after-meat>}",
    ),
    (
        "nut-line",
        "<measure> [PREP <grinding>] [NAME <nut>] {15 <note>}
        |<measure> [PREP <cut>] [NAME <morsel>] {15 <note>}
        |<measure> [NAME <nut>] {50 <after-nut>}
        |<weighed> [NAME <morsel>] {50 <after-cut>}
        |<measure> [PREP <cut>] [NAME <nut>] {15 <note>}
        |<weighed> [NAME <nut>] {60 <after-nut>}
        |[UNIT handful] of [NAME <nut>] {40 <after-nut>}",
    ),
    (
        "tinned-line",
        "<canned> [NAME <tinned>] {50 <after-tinned>}
        |[QTY <single>] {20 [SIZE <size>]} [UNIT <can>] {15 of} [NAME <tinned>] {50 <after-tinned>}
        |[QTY <few>] [UNIT <can+s>] {15 of} [NAME <tinned>] {50 <after-tinned>}
        |<measure> [NAME canned <tinned>] {50 <after-tinned>}
        |<measure> [NAME <tinned>] {30 <after-tinned>}",
    ),
    (
        "taste-line",
        "[NAME <seasoning>] {80 ,} [NOTE to taste]
        |[NAME salt] and [PREP freshly ground] [NAME <pepper>] {50 ,} [NOTE to taste]
        |[NAME <seasoning>] and [NAME <seasoning>] {50 ,} [NOTE to taste]
        |[PREP freshly ground] [NAME <pepper>] {30 <note>}
        |[NAME <seasoning>] <for>
        |[NAME <seasoning>]",
    ),
    (
        "egg-line",
        "[QTY <few>] {60 [SIZE <size>]} [NAME {10 hard-boiled} <egg+s>] {50 <after-egg>}
        |[QTY <one>] {60 [SIZE <size>]} [NAME <egg>] {50 <after-egg>}
        |[QTY <few>] {30 [SIZE <size>]} [UNIT slices] {20 [NOTE <quality>]} [NAME <bread>] {40 <after-bread>}
        |[QTY <one>] [UNIT loaf] {30 of} {20 [NOTE <quality>]} [NAME <bread>] {40 <after-bread>}
        |[QTY <few>] {30 [SIZE <inches>]} [NAME <wrap+s>] {30 <note>}",
    ),
    (
        "bare-line",
        "[PREP <snipped>] [NAME {30 fresh} <herb>] <for>
        |[NAME <nut>] <for>
        |[NOTE toppings]: [NAME <cheese>], [NAME <vegetable+s>] {50 and [NAME <liquid>]}
        |[NAME <vegetable+s>] {50 <after-cut>}
        |[NOTE for the <course>]: <measure> [NAME <liquid>]
        |[NOTE toppings]: [PREP <chop>] [NAME <vegetable+s>], [PREP <ready-cheese>] [NAME <cheese>]
        |[NOTE a little] [NAME <liquid>] <for>
        |[NAME <bread>] or [NAME <wrap+s>] <for>",
    ),
    (
        "name-first-line",
        "[NAME <dry>] {70 ,} <measure>
        |[NAME <vegetable+s>] {70 ,} [QTY <few>] {30 [SIZE <size>]} {40 <after-cut>}
        |[NAME <liquid>]: <measure>
        |[NAME <cheese>] {70 ,} <weighed> {40 <after-cheese>}
        |[NAME <mince>]: <weighed>",
    ),
    // Quantities.
    ("one", "1|1/2|a|½|one|half a"),
    ("single", "1|a|one"),
    ("few", "2|3|4|6|2-3|8|10|1 1/2|2 to 3|two|1½|12|3-4|three|4 to 5|2 or 3|a few|a dozen|1-2|24"),
    ("part", "1|1/2|1/4|3/4|1/3|½|2/3|a|¼|1/8|¾|one|⅓|.5|half a"),
    ("some", "2|3|1 1/2|4|2 1/2|1½|2-3|1 1/4|2 to 3|6|two|2½|1 3/4|1-2|2 or 3"),
    ("volume", "cup|tablespoon|teaspoon|<odd-volume>"),
    ("volume-short", "c.|fl oz|dl"),
    ("spoon-short", "tsp|tbsp|<odd-spoon>"),
    ("weight", "pound|<odd-weight>"),
    ("weight-short", "oz|lb|<odd-weight-short>"),
    ("gram", "g|grams|gr"),
    ("box", "package|<odd-box>"),
    ("can", "can|<odd-can>"),
    ("size", "large|small|medium|<odd-size>"),
    ("hundreds", "200|500|100|250|400|150|300|50|750|450|120"),
    (
        "measure",
        "{6 about} [QTY <part>] {8 [SIZE <fill>]} [UNIT <volume>]
        |{6 about} [QTY <some>] {8 [SIZE <fill>]} [UNIT <volume+s>]
        |[QTY <part>] {8 [SIZE <fill>]} [UNIT <spoon-short>]
        |[QTY <some>] [UNIT <spoon-short>]
        |[QTY <some>] [UNIT <volume-short>]
        |[QTY <part>]",
    ),
    ("cups", "[QTY <some>] [UNIT cups]|[QTY <part>] [UNIT cup]|[QTY <part>] [UNIT <odd-volume>]"),
    (
        "spooned",
        "[QTY <part>] {8 [SIZE <fill>]} [UNIT <spoon-short>]
        |[QTY <part>] {8 [SIZE <fill>]} [UNIT teaspoon]
        |[QTY <some>] [UNIT <spoon-short>]
        |[QTY <some>] {8 [SIZE <fill>]} [UNIT teaspoons]",
    ),
    (
        "weighed",
        "{6 about} [QTY <some>] [UNIT <weight+s>]
        |{6 about} [QTY <hundreds>] [UNIT <gram>]
        |[QTY <some>] [UNIT <weight-short>]
        |[QTY <part>] [UNIT <weight>]",
    ),
    ("pinch", "[QTY <single>] {15 [SIZE <size>]} [UNIT <little-dry>] {40 of}|[UNIT <little-dry>] {60 of}"),
    ("splash", "[QTY <single>] {15 [SIZE <size>]} [UNIT <little-wet>] {40 of}|[UNIT <little-wet>] {60 of}"),
    (
        "boxed",
        "[QTY <single>] ([SIZE <package-size>]) [UNIT <box>] {10 of}
        |[QTY <single>] [SIZE <package-dash>] [UNIT <box>]
        |[QTY <some>] [UNIT <box+s>] {15 of}
        |[QTY <single>] [UNIT <box>] ([SIZE <package-size>])",
    ),
    (
        "canned",
        "[QTY <single>] ([SIZE <package-size>]) [UNIT <can>] {10 of}
        |[QTY <some>] ([SIZE <package-size>]) [UNIT <can+s>] {10 of}
        |[QTY <some>] [SIZE <package-dash>] [UNIT <can+s>]
        |[QTY <single>] [UNIT <can>] ([SIZE <package-size>])
        |[QTY <single>] [SIZE <package-size>] [UNIT <can>]",
    ),
    ("ounces", "14|15|8|28|16|12|14.5|6|10|32|4"),
    ("package-size", "<ounces> oz|<ounces> ounce|<package-dash>|<hundreds> g|<ounces> oz."),
    ("package-dash", "<ounces>-ounce|<ounces>-oz|<ounces>-oz."),
    ("inches", "2-inch|1-inch|3-inch|1/2-inch|4-inch|6-inch"),
    ("stalk", "stalk|rib|stick"),
    // Foods that are few enough to be learned by heart.
    ("root", "garlic|ginger|horseradish"),
    ("egg", "egg|egg yolk|egg white"),
    ("state", "fresh|dried|frozen"),
    // Preparation.
    ("packed", "packed|loosely packed|firmly packed"),
    ("grind", "ground|crushed|cracked|toasted"),
    ("grinding", "<grind>|<finely> <grind>|toasted and <grind>"),
    ("juice", "juice|zest|grated zest|juice and zest"),
    ("cut", "<chop>|<finely> <chop>|<clean> and <chop>"),
    ("snipped", "<snip>|<finely> <snip>"),
    (
        "cutting",
        "<chop>|<finely> <chop>|<clean> and <chop>|<clean>|cut into <inches> <shape>
        |<clean> and <finely> <chop>|cut into {30 small} <shape>|cut in half
        |<clean> and cut into <shape>|<chop> <finely>",
    ),
    ("clove-cut", "<chop>|<finely> <chop>|peeled and <chop>|peeled|peeled and <finely> <chop>|left whole"),
    ("meat-cut", "cut into <inches> <shape>|cut into <shape>|<finely> sliced|cubed|cut in half"),
    ("bread-cut", "cut into <inches> <shape>|crusts removed|cut into <shape>"),
    ("picking", "<snip>|<finely> <snip>|leaves only|leaves picked|leaves <snip>|stems removed"),
    ("grated", "<ready-cheese>|<finely> <ready-cheese>"),
    ("after-cut", ", [PREP <cutting>]|, [PREP <cutting>] <note>|, [PREP <cutting>], [PREP <cutting>]|<note>"),
    ("after-citrus", ", [PREP juiced]|, [PREP cut into <shape>]|, [PREP zested and juiced]|<note>"),
    ("after-clove", ", [PREP <clove-cut>]|, [PREP <clove-cut>] <note>|<note>"),
    ("after-herb", ", [PREP <picking>]|, [PREP <picking>] <note>|<note>"),
    ("after-dry", ", [PREP <ready-dry>]|<note>|, [PREP <ready-dry>] <note>"),
    ("after-wet", "<note>|, [PREP <ready-wet>]|, [PREP at room temperature]|, [PREP <ready-wet>] <note>"),
    ("after-butter", ", [PREP <ready-butter>]|, [PREP at room temperature]|, [PREP cut into <shape>]|<note>"),
    ("after-cheese", ", [PREP <grated>]|, [PREP cut into <shape>]|<note>|, [PREP <grated>] <note>"),
    (
        "after-meat",
        ", [PREP <treated-meat>]|, [PREP <meat-cut>]|, [PREP <treated-meat> and <meat-cut>]|<note>
        |, [PREP <treated-meat>], [PREP <meat-cut>]",
    ),
    ("after-nut", ", [PREP <finely> <chop>]|, [PREP <grinding>]|<note>|, [PREP toasted and <chop>]"),
    (
        "after-tinned",
        ", [PREP drained]|, [PREP rinsed and drained]|, [PREP undrained]|[NOTE with juice]|<note>",
    ),
    ("after-bread", ", [PREP <bread-cut>]|, [PREP toasted]|<note>"),
    ("after-egg", ", [PREP beaten]|, [PREP at room temperature]|, [PREP separated]|<note>"),
    // Everything else.
    ("course", "sauce|dough|filling|dressing"),
    ("squeezed", "([NOTE from <few> <citrus+s>])|, [NOTE from about <few> <citrus+s>]"),
    ("for", "[NOTE for <purpose>]|, [NOTE for <purpose>]|, [NOTE as needed]"),
    (
        "note",
        ", [NOTE <remark>]
        |([NOTE optional])
        |, [NOTE or to taste]
        |, [NOTE plus more for <purpose>]
        |<for>
        |([NOTE <remark>])
        |([NOTE about <some> cups])
        |, [NOTE divided]
        |[NOTE to taste]
        |, [NOTE or more as needed]
        |, [NOTE plus <part> <volume> for <purpose>]
        |, [NOTE about <some> cups]
        |, [NOTE <quality> if possible]
        |, [NOTE about <few> <size>]",
    ),
];
