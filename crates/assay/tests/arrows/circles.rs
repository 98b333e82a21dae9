//! Finds out which files of a room use each other in a circle. None of them can then be read, tested or moved without
//! the others, and what they share has no place of its own yet.
//!
//! A file uses another one if a path in its code leads into it: `use crate::a::X`, `super::b::y()`, `child::Z`. A
//! re-export (`pub use a::X` in the module above) is only another name: a path through it leads to the file of `X`, so
//! that a folder's module may offer the content of its files, unless it uses that content itself. A module that *uses*
//! the content of its child lies above it, and then the child may use nothing of the module's own. Test code is not
//! examined: a test may use whatever it tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// How many re-exports a path may pass through.
const RENAMED: usize = 8;

/// A module: its names, starting at the crate.
type Module = Vec<String>;

/// One file: its module, and its code.
struct Source {
    tokens: Vec<String>,
    /// Names that it re-exports, each with the path it stands for.
    offers: BTreeMap<String, Vec<String>>,
}

/// Every file of a room, by its module.
pub struct Room {
    files: BTreeMap<Module, Source>,
}

impl Room {
    /// From the files below `src`, with their text.
    pub fn of(src: &Path, files: Vec<(PathBuf, String)>) -> Room {
        let of = |(path, text): (PathBuf, String)| {
            let module = module(path.strip_prefix(src).unwrap_or(&path));
            let tokens = tokens(&text);
            let offers = offers(&tokens);
            (module, Source { tokens, offers })
        };
        Room { files: files.into_iter().map(of).collect() }
    }

    /// The circles, each as the modules that use each other, directly or through others.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let uses: BTreeMap<&Module, BTreeSet<Module>> =
            self.files.iter().map(|(module, source)| (module, self.uses(module, source))).collect();
        let reached: BTreeMap<&Module, BTreeSet<&Module>> = uses
            .keys()
            .map(|from| {
                let (mut seen, mut open) = (BTreeSet::new(), vec![*from]);
                while let Some(at) = open.pop() {
                    open.extend(uses[at].iter().filter(|to| seen.insert(*to)));
                }
                (*from, seen)
            })
            .collect();
        let mut circles: Vec<Vec<String>> = Vec::new();
        for module in uses.keys().filter(|module| reached[*module].contains(*module)) {
            let circle = reached[module].iter().filter(|other| reached[*other].contains(*module));
            let circle: Vec<String> = circle.map(|other| other.join("::")).collect();
            if !circles.contains(&circle) {
                circles.push(circle);
            }
        }
        circles
    }

    /// The files that a file uses, except itself.
    fn uses(&self, module: &Module, source: &Source) -> BTreeSet<Module> {
        let children: BTreeSet<&str> = (self.files.keys())
            .filter(|other| other.len() == module.len() + 1 && other.starts_with(module))
            .map(|other| other[module.len()].as_str())
            .collect();
        let mut all = paths(&source.tokens, &children);
        let names = names(&source.tokens);
        // If it also uses what it re-exports, it is more than another name.
        all.extend(
            source.offers.iter().filter(|(name, _)| names.contains(name.as_str())).map(|(_, path)| path.clone()),
        );
        let paths = all.into_iter().filter_map(|path| self.leads_to(module, &path, RENAMED));
        paths.filter(|other| other != module).collect()
    }

    /// The file that a path leads to, through at most this many re-exports; `None` for a path that leads out of the
    /// room.
    fn leads_to(&self, from: &Module, path: &[String], names: usize) -> Option<Module> {
        let (mut at, mut rest): (Module, &[String]) = match path.first()?.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" | "super" => (from.clone(), path),
            first => {
                let known = |module: &Module| self.files.contains_key(module);
                let child: Module = from.iter().cloned().chain([first.to_owned()]).collect();
                let offered = self.files.get(from).is_some_and(|source| source.offers.contains_key(first));
                if !known(&child) && !offered {
                    return None;
                }
                (from.clone(), path)
            }
        };
        while let Some(name) = rest.first() {
            rest = &rest[1..];
            match name.as_str() {
                "self" => continue,
                "super" => drop(at.pop()),
                name => {
                    let deeper: Module = at.iter().cloned().chain([name.to_owned()]).collect();
                    if self.files.contains_key(&deeper) {
                        at = deeper;
                    } else if let Some(offered) = self.files.get(&at).and_then(|source| source.offers.get(name)) {
                        return self.leads_to(&at, offered, names.checked_sub(1)?).or(Some(at));
                    } else {
                        break;
                    }
                }
            }
        }
        self.files.contains_key(&at).then_some(at)
    }
}

/// `a/b.rs` and `a/b/mod.rs` are `a::b`; `lib.rs` and `main.rs` are the crate itself.
fn module(path: &Path) -> Module {
    let mut names: Module = path.with_extension("").iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|name| matches!(name.as_str(), "mod" | "lib" | "main")) {
        names.pop();
    }
    names
}

/// Names and signs of the code, without comments, literals and everything after the first test module.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let (mut tokens, mut at): (Vec<String>, usize) = (Vec::new(), 0);
    while at < chars.len() {
        let (c, next) = (chars[at], chars.get(at + 1).copied().unwrap_or(' '));
        let end_of = |from: usize, ends: &dyn Fn(usize) -> bool| (from..chars.len()).find(|at| ends(*at));
        at = match (c, next) {
            ('/', '/') => end_of(at, &|at| chars[at] == '\n').unwrap_or(chars.len()),
            ('/', '*') => {
                end_of(at + 2, &|at| chars[at - 1] == '*' && chars[at] == '/').map_or(chars.len(), |at| at + 1)
            }
            ('r', '#' | '"') if is_raw(&chars[at..]) => after_raw(&chars, at),
            ('"', _) => after_text(&chars, at + 1),
            // A character literal, not a lifetime.
            ('\'', '\\') => end_of(at + 3, &|at| chars[at] == '\'').map_or(chars.len(), |at| at + 1),
            ('\'', _) if chars.get(at + 2) == Some(&'\'') => at + 3,
            (c, _) if c.is_alphanumeric() || c == '_' => {
                let end = end_of(at, &|at| !(chars[at].is_alphanumeric() || chars[at] == '_')).unwrap_or(chars.len());
                tokens.push(chars[at..end].iter().collect());
                end
            }
            (':', ':') => {
                tokens.push("::".to_owned());
                at + 2
            }
            (c, _) => {
                if !c.is_whitespace() {
                    tokens.push(c.to_string());
                }
                at + 1
            }
        };
    }
    let tests = ["#", "[", "cfg", "(", "test", ")", "]"];
    let begin = tokens.windows(tests.len() + 1).position(|window| {
        window[..tests.len()] == tests && (window[tests.len()] == "mod" || window[tests.len()] == "pub")
    });
    // `mod tests;` names a test file beside the module and ends nothing here: such a file is left out by its name.
    if let Some(begin) = begin.filter(|begin| tokens.get(begin + tests.len() + 2).is_some_and(|sign| sign == "{")) {
        tokens.truncate(begin);
    }
    tokens
}

fn is_raw(chars: &[char]) -> bool {
    let sharps = chars[1..].iter().take_while(|c| **c == '#').count();
    chars.get(1 + sharps) == Some(&'"')
}

fn after_raw(chars: &[char], at: usize) -> usize {
    let sharps = chars[at + 1..].iter().take_while(|c| **c == '#').count();
    let ends =
        |end: &usize| chars[*end] == '"' && chars[*end + 1..].iter().take_while(|c| **c == '#').count() >= sharps;
    (at + sharps + 2..chars.len()).find(ends).map_or(chars.len(), |end| end + 1 + sharps)
}

fn after_text(chars: &[char], mut at: usize) -> usize {
    while at < chars.len() && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// What a file re-exports by name.
fn offers(tokens: &[String]) -> BTreeMap<String, Vec<String>> {
    let mut offers = BTreeMap::new();
    for (at, _) in tokens.iter().enumerate().filter(|(at, token)| *token == "use" && is_offered(tokens, *at)) {
        for (name, path) in tree(&tokens[at + 1..]).0 {
            offers.insert(name, path);
        }
    }
    offers
}

/// Whether the `use` at `at` is visible to others.
fn is_offered(tokens: &[String], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map(|at| tokens[at].as_str());
    before(1) == Some("pub") || (before(1) == Some(")") && (2..8).any(|back| before(back) == Some("pub")))
}

/// The paths that lead out of a file: those of its imports and those in its code. Re-exports do not count as uses.
fn paths(tokens: &[String], children: &BTreeSet<&str>) -> Vec<Vec<String>> {
    let (mut paths, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let token = tokens[at].as_str();
        // `use<'a>` in a type is not an import.
        if token == "use" && tokens.get(at + 1).is_some_and(|next| next != "<") {
            let (names, length) = tree(&tokens[at + 1..]);
            if !is_offered(tokens, at) {
                paths.extend(names.into_iter().map(|(_, path)| path));
            }
            at += length + 1;
            continue;
        }
        let begins = matches!(token, "crate" | "super" | "self") || children.contains(token);
        let free = at == 0 || !matches!(tokens[at - 1].as_str(), "::" | "." | "mod");
        if begins && free && tokens.get(at + 1).is_some_and(|next| next == "::") {
            let mut path = vec![token.to_owned()];
            while tokens.get(at + 1).is_some_and(|next| next == "::") && at + 2 < tokens.len() {
                path.push(tokens[at + 2].clone());
                at += 2;
            }
            paths.push(path);
        }
        at += 1;
    }
    paths
}

/// Names that are used in a file outside of its imports, and not as part of a path.
fn names(tokens: &[String]) -> BTreeSet<&str> {
    let (mut names, mut at) = (BTreeSet::new(), 0);
    while at < tokens.len() {
        let token = tokens[at].as_str();
        if token == "use" && tokens.get(at + 1).is_some_and(|next| next != "<") {
            at += 1 + tree(&tokens[at + 1..]).1;
            continue;
        }
        let before = at.checked_sub(1).map_or("", |before| tokens[before].as_str());
        if !matches!(before, "." | "::" | "fn" | "mod") {
            names.insert(token);
        }
        at += 1;
    }
    names
}

/// The names of a `use` up to its semicolon, each with its complete path, and the number of tokens.
fn tree(tokens: &[String]) -> (Vec<(String, Vec<String>)>, usize) {
    let (mut names, mut stack, mut path) = (Vec::new(), Vec::<usize>::new(), Vec::<String>::new());
    let (mut at, mut alias) = (0, None);
    loop {
        let token = tokens.get(at).map_or(";", String::as_str);
        match token {
            "::" => {}
            "{" => stack.push(path.len()),
            "as" => {
                alias = tokens.get(at + 1).cloned();
                at += 1;
            }
            "," | "}" | ";" => {
                let base = stack.last().copied().unwrap_or(0);
                if path.len() > base {
                    let name = alias.take().or_else(|| path.last().cloned()).unwrap_or_default();
                    names.push((name, path.clone()));
                    path.truncate(base);
                }
                if token == "}" {
                    let inner = stack.pop().unwrap_or(0);
                    // The braces belonged to its last name.
                    let outer = stack.last().copied().unwrap_or(0);
                    path.truncate(outer.min(inner));
                }
                if token == ";" {
                    return (names, at + 1);
                }
            }
            name => path.push(name.to_owned()),
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let files = files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
        Room::of(Path::new(""), files).circles()
    }

    #[test]
    fn a_circle_is_found_however_its_files_name_each_other() {
        let circle = |names: &[&str]| vec![names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()];
        for (what, files, expected) in [
            ("one direction", vec![("a.rs", "use crate::b::X;"), ("b.rs", "use std::fmt;")], vec![]),
            ("at once", vec![("a.rs", "use crate::b::X;"), ("b.rs", "fn f() { crate::a::g() }")], circle(&["a", "b"])),
            (
                "by way of a third",
                vec![("a.rs", "use super::b;"), ("b.rs", "use super::c::{X, Y};"), ("c.rs", "type A = super::a::A;")],
                circle(&["a", "b", "c"]),
            ),
            (
                "within braces",
                vec![
                    ("a.rs", "use crate::{c::Z, d::{e, X}};"),
                    ("c.rs", ""),
                    ("d/e.rs", "use crate::a::X;"),
                    ("d/mod.rs", ""),
                ],
                circle(&["a", "d::e"]),
            ),
            (
                "a module that uses its child, which uses the module",
                vec![("a/mod.rs", "mod b; struct X; fn f() { b::g() }"), ("a/b.rs", "use super::X;")],
                circle(&["a", "a::b"]),
            ),
            (
                "a module that offers what its child holds",
                vec![
                    ("a/mod.rs", "mod b; mod c; pub use b::{B, D as E};"),
                    ("a/b.rs", "use super::c::C;"),
                    ("a/c.rs", ""),
                ],
                vec![],
            ),
            (
                "a module that uses what it offers, which uses the module",
                vec![("a/mod.rs", "mod b; pub use b::B; pub struct X(B);"), ("a/b.rs", "use crate::a::X;")],
                circle(&["a", "a::b"]),
            ),
            (
                "another name leads where the thing is",
                vec![
                    ("a/mod.rs", "mod b; pub(crate) use b::{B, D as E};"),
                    ("a/b.rs", "use crate::c::C;"),
                    ("c.rs", "use crate::a::E;"),
                ],
                circle(&["a::b", "c"]),
            ),
            (
                "what is written about is not used",
                vec![
                    ("a.rs", "use crate::b::X;"),
                    (
                        "b.rs",
                        "// crate::a::X\n/* super::a */ const A: &str = \"crate::a::\\\"X\"; const B: &str = r#\"super::a::\"x\"#; const C: char = '\"';",
                    ),
                ],
                vec![],
            ),
            (
                "tests may use anything",
                vec![("a.rs", "use crate::b::X;"), ("b.rs", "struct X; #[cfg(test)] mod tests { use crate::a::Y; }")],
                vec![],
            ),
        ] {
            assert_eq!(room(&files), expected, "{what}");
        }
    }
}
