//! What a page draws beneath the operations, read back from its text.

use std::collections::BTreeMap;

/// Charts by their titles: the number of points of each line, by its name.
pub struct Drawn(BTreeMap<String, BTreeMap<String, usize>>);

impl Drawn {
    /// All charts of the section, which must have the same time axis.
    pub fn of(page: &str) -> Drawn {
        let section = between(page, "-beneath\">Beneath</h3>", "</section>");
        let figures: Vec<&str> = section.split("<figure class=\"beneath\">").skip(1).collect();
        let axis = |figure: &&str| -> Vec<String> {
            let is_of_time = |rule: &&str| rule.contains('V');
            figure.split("<path class=\"rule\" d=\"").skip(1).filter(is_of_time).map(|it| quoted(it).into()).collect()
        };
        for figure in &figures {
            assert!(figure.contains(">measured time (h:mm:ss)</text>"), "{figure}");
            assert_eq!(axis(figure), axis(&figures[0]), "all have one time axis");
        }
        Drawn(figures.iter().map(|it| (between(it, "<figcaption>", "</figcaption>").into(), lines(it))).collect())
    }

    /// Asserts that a chart has a line of more than one point for each name.
    pub fn has(&self, title: &str, names: &[&str]) {
        let lines = self.0.get(title).unwrap_or_else(|| panic!("{title} is not among {:?}", self.0.keys()));
        for name in names {
            assert!(lines.get(*name).is_some_and(|points| *points > 1), "{title} lacks {name}: {lines:?}");
        }
    }
}

/// Points of each line, by its name in the list of colours.
fn lines(figure: &str) -> BTreeMap<String, usize> {
    let paths: Vec<&str> = figure.split("<path class=\"line ").skip(1).collect();
    let points = |class: &str| -> usize {
        let own = paths.iter().filter(|path| quoted(path) == class);
        own.map(|path| between(path, " d=\"", "\"").matches(['M', 'L']).count()).sum()
    };
    let keys = between(figure, "<ul class=\"keys\"", "</ul>").split("<li>").skip(1);
    keys.map(|key| (between(key, "</svg>", "</li>").to_owned(), points(between(key, "class=\"", "\"")))).collect()
}

/// The text up to the next quotation mark.
fn quoted(text: &str) -> &str {
    text.split('"').next().unwrap()
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("there is no {before}")).1;
    rest.split_once(after).unwrap_or_else(|| panic!("there is no {after}")).0
}
