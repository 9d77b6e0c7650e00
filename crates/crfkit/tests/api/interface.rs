//! Reads the sources and lists what they promise: public items that a user can reach and that are not `#[doc(hidden)]`.
//!
//! It relies on the format that rustfmt gives: items begin in the first column, their members in the fifth.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// An item of a file, or a member of one.
#[derive(Clone, Debug, Default)]
struct Declared {
    /// Its lines, joined, without attributes, comments and body.
    head: String,
    hidden: bool,
    open: bool,
    members: Vec<Declared>,
}

#[derive(Default)]
struct Module {
    items: Vec<Declared>,
    /// Names made available by `use`: name, path, and whether it is public and not hidden.
    uses: Vec<(String, Vec<String>, bool)>,
    /// Reachable by its own path.
    visible: bool,
}

/// A place in the tree of modules, as `["infer", "engine"]`.
type ModulePath = Vec<String>;

struct Tree(BTreeMap<ModulePath, Module>);

/// Every promised item and member, a line each: the path by which a user reaches it, and its declaration.
pub fn promised(source: &Path) -> Vec<String> {
    let mut tree = Tree(BTreeMap::new());
    tree.read(source, &source.join("lib.rs"), Vec::new(), true);
    let mut paths: BTreeMap<(ModulePath, String), BTreeSet<String>> = BTreeMap::new();
    for (path, module) in tree.0.iter().filter(|(_, module)| module.visible) {
        for item in &module.items {
            if let (true, false, Some(name)) = (item.head.starts_with("pub "), item.hidden, name(&item.head))
            {
                paths.entry((path.clone(), name.clone())).or_default().insert(joined(path, &name));
            }
        }
        for (name, target, _) in module.uses.iter().filter(|(.., promised)| *promised) {
            if let Some(place) = tree.definition(path, target, 0) {
                paths.entry(place).or_default().insert(joined(path, name));
            }
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for ((path, item_name), reached) in &paths {
        let shown = reached.iter().min_by_key(|path| (path.matches("::").count(), path.as_str())).unwrap();
        for item in &tree.0[path].items {
            if name(&item.head).as_ref() == Some(item_name) && item.head.starts_with("pub ") {
                lines.push(format!("{shown}: {}", item.head.trim_start_matches("pub ")));
                lines.extend(members(item).map(|member| format!("{shown}: {member}")));
            }
        }
        lines.extend(reached.iter().filter(|path| *path != shown).map(|path| format!("{path}: as {shown}")));
        for implementation in tree.implementations(path, item_name) {
            lines.extend(members(implementation).map(|member| format!("{shown}: {member}")));
        }
    }
    for (path, module) in &tree.0 {
        if module.visible && !path.is_empty() {
            lines.push(format!("{}: mod", path.join("::")));
        }
    }
    lines.sort();
    lines
}

fn joined(path: &[String], name: &str) -> String {
    path.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("::")
}

/// The members of an item that are promised with it.
fn members(item: &Declared) -> impl Iterator<Item = String> {
    let all = item.head.starts_with("pub trait") || item.head.starts_with("pub enum");
    let promised =
        item.members.iter().filter(move |member| !member.hidden && (all || member.head.starts_with("pub ")));
    promised.map(|member| {
        let fields: Vec<&str> = match member.head.starts_with(char::is_uppercase) {
            true => member.members.iter().map(|field| field.head.as_str()).collect(),
            false => Vec::new(),
        };
        let head = member.head.trim_start_matches("pub ");
        if fields.is_empty() { head.to_owned() } else { format!("{head} {{ {} }}", fields.join(", ")) }
    })
}

/// The name that a declaration gives.
fn name(head: &str) -> Option<String> {
    let mut words = head.trim_start_matches("pub ").split(' ');
    while let Some(word) = words.next() {
        if matches!(word, "fn" | "struct" | "enum" | "trait" | "type" | "static")
            || word == "const" && !head.contains("const fn")
        {
            let name = words.next()?;
            let end = name.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(name.len());
            return Some(name[..end].to_owned());
        }
    }
    None
}

impl Tree {
    fn read(&mut self, source: &Path, file: &Path, path: ModulePath, visible: bool) {
        let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let end = text.find("\n#[cfg(test)]\nmod tests").unwrap_or(text.len());
        let items = declarations(text[..end].lines(), "");
        let mut module = Module { visible, ..Module::default() };
        for item in &items {
            let head = item.head.trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ");
            let public = head.starts_with("pub ") && !item.hidden;
            let head = head.trim_start_matches("pub ");
            if let Some(used) = head.strip_prefix("use ") {
                use_tree(used, &mut Vec::new(), &mut |name, path| module.uses.push((name, path, public)));
            } else if let Some(child) = head.strip_prefix("mod ").filter(|_| !item.open) {
                let mut inner = path.clone();
                inner.push(child.to_owned());
                let folder = path.iter().fold(source.to_owned(), |folder, name| folder.join(name));
                let files = [folder.join(format!("{child}.rs")), folder.join(child).join("mod.rs")];
                if let Some(file) = files.iter().find(|file| file.exists()) {
                    self.read(source, file, inner, visible && public);
                }
            }
        }
        module.items = items;
        self.0.insert(path, module);
    }

    /// The module and the name under which a path, as seen from a module, is defined.
    fn definition(&self, from: &[String], target: &[String], depth: usize) -> Option<(ModulePath, String)> {
        let (last, before) = target.split_last()?;
        let mut at: ModulePath = match before.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("super") => from[..from.len() - 1].to_vec(),
            _ => from.to_vec(),
        };
        for step in before.iter().filter(|step| !matches!(step.as_str(), "crate" | "super" | "self")) {
            at.push(step.clone());
            if !self.0.contains_key(&at) {
                at.pop();
                let (.., inner, _) = self.0.get(&at)?.uses.iter().find(|(name, ..)| name == step)?;
                let (mut module, name) = self.definition(&at, inner, depth + 1)?;
                module.push(name);
                at = module;
            }
        }
        let module = self.0.get(&at)?;
        if module.items.iter().any(|item| name(&item.head).as_ref() == Some(last)) {
            return Some((at, last.clone()));
        }
        let (_, path, _) = module.uses.iter().find(|(name, ..)| name == last)?;
        (depth < 8).then(|| self.definition(&at, path, depth + 1))?
    }

    /// The blocks `impl NAME` of a type, wherever they are.
    fn implementations<'a>(&'a self, path: &'a [String], wanted: &'a str) -> Vec<&'a Declared> {
        let mut found = Vec::new();
        for (home, module) in &self.0 {
            for item in module.items.iter().filter(|item| !item.hidden) {
                let Some(of) = implemented(&item.head) else { continue };
                let place = self.definition(home, &[of.to_owned()], 0);
                if place.is_some_and(|(module, name)| module == path && name == wanted) {
                    found.push(item);
                }
            }
        }
        found
    }
}

/// The type of `impl<…> Type<…>`; none if a trait is implemented.
fn implemented(head: &str) -> Option<&str> {
    let rest = head.strip_prefix("impl")?;
    if rest.contains(" for ") && !rest.contains("for<") {
        return None;
    }
    let mut depth = 0;
    let start = if rest.starts_with('<') {
        let end = rest.char_indices().find(|&(at, c)| {
            depth += i32::from(c == '<') - i32::from(c == '>' && !rest[..at].ends_with('-'));
            depth == 0
        });
        end?.0 + 1
    } else {
        0
    };
    let rest = rest[start..].trim_start();
    let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}

/// The names of `a::b::{C, d as E}` with their paths.
fn use_tree(text: &str, before: &mut Vec<String>, found: &mut impl FnMut(String, Vec<String>)) {
    let text = text.trim();
    if let Some((first, rest)) = text.split_once("::").filter(|(first, _)| !first.contains(['{', ','])) {
        before.push(first.to_owned());
        use_tree(rest, before, found);
        before.pop();
    } else if let Some(list) = text.strip_prefix('{') {
        let (mut depth, mut start) = (0, 0);
        let list = &list[..list.rfind('}').unwrap()];
        for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
            depth += i32::from(c == '{') - i32::from(c == '}');
            if c == ',' && depth == 0 {
                use_tree(&list[start..at], before, found);
                start = at + 1;
            }
        }
    } else if !text.is_empty() {
        let (name, alias) = text.split_once(" as ").unwrap_or((text, text));
        let mut path = before.clone();
        if name != "self" {
            path.push(name.to_owned());
        }
        let alias =
            if alias == "self" { before.last().cloned().unwrap_or_default() } else { alias.to_owned() };
        found(alias, path);
    }
}

/// The declarations of a text whose lines begin with so much space, with their members.
fn declarations<'a>(lines: impl Iterator<Item = &'a str>, space: &str) -> Vec<Declared> {
    let (mut found, mut lines, mut next) = (Vec::new(), lines.peekable(), Declared::default());
    let mut open_ended = String::new();
    while let Some(line) = lines.next() {
        let Some(text) = line.strip_prefix(space) else { continue };
        if text.starts_with("#[") || !open_ended.is_empty() {
            // An attribute may have several lines.
            open_ended += text.split("//").next().unwrap();
            if open_ended.matches('[').count() == open_ended.matches(']').count() {
                open_ended.clear();
            }
            next.hidden |= text.starts_with("#[doc(hidden)]");
            if text.starts_with("#[non_exhaustive]") || text.starts_with("#[derive(") {
                next.head += text;
            }
            continue;
        }
        if text.is_empty() || text.starts_with([' ', '/', '}', ')']) || text.starts_with("#![") {
            continue;
        }
        let attributes = std::mem::take(&mut next.head);
        let mut head = text.split(" // ").next().unwrap().to_owned();
        let complete = |head: &str| {
            head.ends_with([';', '{', '}', ',']) && head.matches('(').count() == head.matches(')').count()
        };
        let plain = |head: &str| head.trim_start_matches("pub ").starts_with("use ");
        while !complete(&head) || plain(&head) && !head.ends_with(';') {
            let Some(more) = lines.next() else { break };
            let more = more.trim();
            if !more.starts_with("//") {
                head += if head.ends_with('(') || more.starts_with([')', '}', '{']) && plain(&head) {
                    ""
                } else {
                    " "
                };
                head += more;
            }
        }
        next.open = head.ends_with('{');
        if next.open {
            let mut body = Vec::new();
            let ends = [format!("{space}}}"), format!("{space}}},")];
            while let Some(line) = lines.next_if(|line| !ends.iter().any(|end| line == end)) {
                body.push(line);
            }
            next.members = declarations(body.into_iter(), &format!("{space}    "));
        }
        next.head =
            shortened(&head, plain(&head)) + if attributes.is_empty() { "" } else { " " } + &attributes;
        found.push(std::mem::take(&mut next));
    }
    found
}

/// A declaration without its body or value.
fn shortened(head: &str, is_use: bool) -> String {
    let valued =
        ["const ", "static ", "type "].iter().any(|word| head.trim_start_matches("pub ").starts_with(word));
    let value = if valued && !head.contains(" fn ") { head.find(" = ") } else { None };
    let end = if is_use { None } else { head.find(" {").into_iter().chain(value).min() };
    let head = head[..end.unwrap_or(head.len())].trim_end_matches([';', ',', '{']).trim_end();
    head.replace(", )", ")").replace(", >", ">")
}
