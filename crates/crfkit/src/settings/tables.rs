//! The methods and objectives as tables, for the documentation.

use super::{Criterion, Declaration, Method};

/// Two tables in Markdown: the methods with their parameters, and which method minimises which objective on chains.
pub fn tables() -> String {
    let mut text = String::from("| method | what it is | parameters |\n|---|---|---|\n");
    for Declaration { name, about, parameters } in Method::ALL.map(Method::declaration) {
        let parameters: Vec<String> = parameters.iter().map(|name| format!("`--{name}`")).collect();
        text += &format!("| `{name}` | {about} | {} |\n", parameters.join(" "));
    }
    text += "\n| |";
    for criterion in Criterion::ALL {
        text += &format!(" {} |", criterion.name());
    }
    text += "\n|---|";
    text += &"---|".repeat(Criterion::ALL.len());
    for method in Method::ALL {
        text += &format!("\n| `{}` |", method.name());
        for criterion in Criterion::ALL {
            text += if method.supports(criterion) { " ✓ |" } else { " – |" };
        }
    }
    text + "\n"
}
