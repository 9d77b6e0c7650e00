//! The page as text: a template, a style sheet, the parts of the script, and the data.

use crate::Page;
use std::io::{self, Write};

const TEMPLATE: &str = include_str!("../assets/page.html");
const STYLE: &str = include_str!("../assets/style.css");
/// The script, in the order of its parts.
const SCRIPT: [&str; 6] = [
    include_str!("../assets/dom.js"),
    include_str!("../assets/chart.js"),
    include_str!("../assets/runs.js"),
    include_str!("../assets/model.js"),
    include_str!("../assets/evaluation.js"),
    include_str!("../assets/main.js"),
];

impl Page {
    /// Writes the whole page as one file that needs no other.
    pub fn write_html(&self, out: &mut impl Write) -> io::Result<()> {
        // In JSON, `<` occurs only inside strings, where it may be written as an escape. Then nothing in the data can
        // end the element that holds it, or begin another.
        let data = serde_json::to_string(self)?.replace('<', "\\u003c");
        let script = SCRIPT.concat();
        let connect = if self.live { "'self'" } else { "'none'" };
        let mut rest = TEMPLATE;
        for (mark, text) in
            [("{{connect}}", connect), ("{{style}}", STYLE), ("{{data}}", &data), ("{{script}}", &script)]
        {
            let (before, after) = rest.split_once(mark).expect("the template has every mark, in this order");
            out.write_all(before.as_bytes())?;
            out.write_all(text.as_bytes())?;
            rest = after;
        }
        out.write_all(rest.as_bytes())
    }

    /// Writes the data alone, as JSON. A live page requests this.
    pub fn write_data(&self, out: &mut impl Write) -> io::Result<()> {
        Ok(serde_json::to_writer(out, self)?)
    }
}
