//! The word lists of the demo's corpus. All words of a list are equally likely. The last third of each list never
//! occurs in the training set, so that a model is tested on words it has never seen.

/// Name and words of every list. Words are separated by `|`.
pub const LISTS: &[(&str, &str)] = &[
    // Measures and sizes; the most common ones are in the rules.
    ("odd-volume", "quart|pint|liter|cupful|dessertspoon|mugful"),
    ("odd-spoon", "Tbsp|tbsp.|tsp.|T|tbs|Tbs.|tblsp"),
    ("odd-weight", "ounce|kilo|kilogram"),
    ("odd-weight-short", "oz.|lbs|lb.|lbs."),
    ("odd-box", "bag|box|packet|carton|pouch|sachet"),
    ("odd-can", "jar|bottle|tin|carton|tub|flask"),
    ("little-dry", "pinch|dash|sprinkle|touch|smidgen|hint"),
    ("little-wet", "dash|splash|drizzle|drop|squirt|glug"),
    ("bundle", "bunch|sprig|handful|stalk|stem|branch|fistful|twig"),
    ("head", "head|bunch|bag|stalk|ear|crown"),
    ("slab", "slice|piece|strip|chunk|rasher|hunk"),
    ("odd-size", "big|medium-sized|extra-large|thick|heavy|jumbo|tiny|plump|good-sized|hefty"),
    ("fill", "heaping|level|scant|generous|rounded|heaped"),
    // Foods.
    (
        "vegetable",
        "onion|carrot|potato|tomato|zucchini|red onion|shallot|cucumber|red bell pepper|sweet potato
        |leek|eggplant|green bell pepper|orange bell pepper|jalapeño|bell pepper|yellow onion
        |parsnip|turnip|plum tomato|beet|avocado|green onion|artichoke|cherry tomato|scallion
        |mushroom|red potato|radish|serrano pepper|courgette|Yukon Gold potato|rutabaga|celery root
        |spring onion|habanero|aubergine|poblano|kohlrabi|yellow squash|portobello|gherkin
        |Roma tomato|banana shallot|plantain",
    ),
    (
        "fruit",
        "apple|banana|green apple|peach|pear|mango|Granny Smith apple|plum|apricot|fig|nectarine
        |Bosc pear|kiwi|pomegranate|persimmon|quince|papaya|Asian pear",
    ),
    (
        "citrus",
        "lemon|lime|orange|blood orange|grapefruit|navel orange|clementine|tangerine|Meyer lemon
        |key lime|pomelo",
    ),
    ("variety", "Gala|Fuji|Braeburn|Honeycrisp|Pink Lady|Jonagold|Cortland|Winesap"),
    (
        "greens",
        "spinach|cabbage|kale|broccoli|corn|cauliflower|lettuce|arugula|red cabbage|baby spinach
        |green beans|celery|fennel|Swiss chard|brussels sprouts|collard greens|napa cabbage
        |asparagus|bok choy|watercress|okra|romaine|endive|radicchio|snow peas|mustard greens|rapini
        |sorrel",
    ),
    (
        "herb",
        "parsley|basil|cilantro|thyme|mint|rosemary|flat-leaf parsley|dill|oregano|sage|chives
        |tarragon|Thai basil|coriander|marjoram|chervil|curly parsley|lemongrass|lemon thyme|epazote
        |lovage",
    ),
    (
        "spice",
        "cinnamon|cumin|ginger|cloves|nutmeg|coriander|allspice|cardamom|turmeric|white pepper|mace
        |fennel|mustard|sumac|anise|caraway|fenugreek|star anise|juniper|galangal",
    ),
    ("pepper", "black pepper|pepper|white pepper|pink peppercorns|long pepper|grains of paradise"),
    (
        "seasoning",
        "salt|black pepper|kosher salt|paprika|chili powder|cayenne pepper|sea salt|garlic powder
        |smoked paprika|red pepper flakes|curry powder|onion powder|vanilla extract|baking soda
        |Italian seasoning|garlic salt|baking powder|orange zest|saffron|five-spice powder|za'atar
        |garam masala|celery salt|poultry seasoning|mustard powder|cream of tartar|hickory salt
        |ancho chile powder",
    ),
    ("pod", "clove|cardamom pod|bay leaf|vanilla bean|juniper berry|allspice berry|Thai chile|curry leaf"),
    (
        "dry",
        "sugar|all-purpose flour|brown sugar|rice|flour|bread crumbs|cornstarch|white sugar
        |powdered sugar|light brown sugar|rolled oats|whole wheat flour|quinoa|cornmeal
        |long-grain rice|cocoa powder|bread flour|dark brown sugar|basmati rice|panko|couscous
        |00 flour|confectioners' sugar|ground coffee|macaroni|spaghetti|graham cracker crumbs|orzo
        |red lentils|cake flour|dry yeast|shredded coconut|chocolate chips|pearl barley|arborio rice
        |semolina|bulgur|muscovado sugar|egg noodles|farro|buckwheat flour|tapioca|split peas
        |polenta|puffed rice|crushed crackers|masa harina|crushed pretzels",
    ),
    (
        "liquid",
        "water|olive oil|milk|vegetable oil|soy sauce|sour cream|plain yogurt|mayonnaise
        |extra virgin olive oil|lemon juice|chicken broth|honey|white wine|orange juice|heavy cream
        |lime juice|chicken stock|red wine vinegar|cider vinegar|vegetable broth|canola oil|2% milk
        |half and half|fish sauce|coconut milk|buttermilk|maple syrup|Worcestershire sauce
        |dry white wine|sesame oil|toasted sesame oil|whipped cream|hot sauce|balsamic vinegar
        |beef stock|dashi|orange liqueur|rice vinegar|tomato sauce|whole milk|apple juice|molasses
        |peanut oil|sherry|evaporated milk|clam juice|oyster sauce|agave nectar|mirin|grapeseed oil
        |dark rum|pickle brine|red wine|1% milk|almond milk|teriyaki sauce|ponzu|walnut oil|bitters
        |strained tomatoes|whipped topping|clotted cream|verjuice|crème fraîche",
    ),
    (
        "butter",
        "butter|unsalted butter|cream cheese|margarine|salted butter|shortening|goat butter|ghee|lard
        |vegan butter",
    ),
    (
        "cheese",
        "Parmesan cheese|cheddar cheese|mozzarella cheese|feta cheese|Parmesan|goat cheese|cheddar
        |Monterey Jack cheese|sharp cheddar|Swiss cheese|ricotta salata|Gruyère|blue cheese
        |provolone|halloumi|pecorino Romano|queso fresco|fontina|Manchego",
    ),
    (
        "meat",
        "chicken breast|chicken thigh|pork chop|salmon fillet|chicken wing|chicken breast half
        |lamb chop|turkey breast|Italian sausage|chicken drumstick|cod fillet|pork tenderloin
        |lamb shank|tuna steak|beef rib|duck leg|sea scallop|salmon head|catfish fillet|bratwurst
        |swordfish steak",
    ),
    (
        "roast",
        "bacon|shrimp|beef chuck|ham|stewing beef|pork shoulder|salmon|flank steak|prosciutto
        |cooked ham|pancetta|smoked salmon|corned beef|beef brisket|chorizo|cod|crabmeat
        |sliced turkey|calamari|pulled pork|diced ham|mussels|pastrami|monkfish|oxtail|smoked trout",
    ),
    (
        "mince",
        "ground beef|ground pork|ground turkey|lean ground beef|ground lamb|sausage meat|ground veal
        |ground bison|minced mutton",
    ),
    (
        "tinned",
        "crushed tomatoes|black beans|diced tomatoes|tomato paste|chickpeas|tomato sauce|kidney beans
        |coconut milk|tuna|corn|whole peeled tomatoes|pinto beans|chopped green chiles
        |tomatoes with green chiles|sliced olives|tuna in oil|roasted red peppers|crushed pineapple
        |cream of mushroom soup|artichoke hearts|white beans|condensed milk|refried beans
        |sliced water chestnuts|cannellini beans|stewed tomatoes|minced clams|bamboo shoots
        |pumpkin puree|shredded beets|sliced peaches|baby corn|jackfruit|mashed pumpkin
        |tuna in brine|peeled plum tomatoes|roasted chestnuts",
    ),
    (
        "nut",
        "walnuts|almonds|pecans|peanuts|hazelnuts|cashews|pine nuts|sesame seeds|roasted peanuts
        |pistachios|sunflower seeds|toasted coconut|macadamia nuts|pumpkin seeds|Brazil nuts
        |flaxseed|blanched almonds|salted cashews",
    ),
    (
        "morsel",
        "raisins|dried cranberries|dark chocolate|black olives|dried apricots|candied ginger
        |crushed red pepper|dates|kalamata olives|sultanas|sun-dried tomatoes|crystallized ginger",
    ),
    ("bread", "bread|white bread|sourdough bread|rye bread|ciabatta|baguette|brioche|pumpernickel|focaccia"),
    ("wrap", "flour tortilla|corn tortilla|pita bread|hamburger bun|pie crust|English muffin"),
    // Preparation.
    (
        "chop",
        "chopped|minced|diced|sliced|grated|crushed|shredded|cubed|mashed|slivered|julienned|shaved
        |smashed|spiralized|riced",
    ),
    ("clean", "peeled|trimmed|halved|seeded|rinsed|washed|cored|quartered|scrubbed|stemmed|hulled|deseeded"),
    ("snip", "chopped|minced|torn|packed|snipped|shredded|crumbled|picked"),
    ("finely", "finely|thinly|coarsely|roughly|lightly|freshly|very finely|loosely|evenly"),
    ("ready-dry", "sifted|packed|toasted|cooked|rinsed|firmly packed|soaked|tamped|aerated"),
    ("ready-wet", "warm|cold|hot|lukewarm|boiling|chilled|warmed|tepid|scalded"),
    ("ready-butter", "melted|softened|cold|chilled|cubed|browned|clarified|whipped"),
    ("ready-cheese", "grated|shredded|crumbled|sliced|diced|cubed|shaved|curled|flaked"),
    (
        "ready-meat",
        "boneless|skinless|trimmed|cooked|boneless skinless|deveined|bone-in|head-on|deboned|frenched",
    ),
    (
        "treated-meat",
        "trimmed|cut into strips|cubed|patted dry|trimmed of fat|heads removed|cooked and crumbled
        |skin on|pounded thin|deveined|butterflied|bones reserved|shells removed|tied with string
        |brined overnight",
    ),
    ("shape", "pieces|cubes|slices|chunks|strips|wedges|rounds|sticks|rings|matchsticks|batons|ribbons"),
    // Everything else.
    (
        "purpose",
        "serving|garnish|frying|dusting|the pan|greasing|brushing|drizzling|rolling|deep-frying
        |basting",
    ),
    (
        "quality",
        "good-quality|organic|homemade|leftover|store-bought|local|day-old|imported|artisan
        |supermarket",
    ),
    (
        "remark",
        "optional|the best you can find|any kind|if you like|your favorite|see note|homemade is best
        |a good one|whatever is in season|for color",
    ),
];
