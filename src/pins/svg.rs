//! The header as SVG: one self-contained file for light and dark pages, in colour and in words.

use super::{ContactStyle, HeaderContact, HeaderDrawing, terminal::title};
use hw::line::Level;
use std::fmt::Write;

/// Lengths are in user units: as wide as the column of a page.
const WIDTH: u32 = 840;
const TOP: u32 = 84;
const ROW: u32 = 26;
const LEGEND: u32 = 70;
/// Between the two rows of contacts.
const MIDDLE: u32 = WIDTH / 2;

/// Styles that do not depend on the colour scheme.
const STYLE: &str = "\
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.title{font-size:17px;font-weight:600}.name{font-weight:600}.number{font-size:11px;text-anchor:middle}.left{text-anchor:end}
.board{fill:none}.mark{stroke-width:2}.unknown .mark{stroke-dasharray:3 2}
";

/// The colours for one colour scheme. Distinguishable with the common colour blindnesses (after Okabe and Ito); shapes
/// and words show the same.
struct Colours {
    paper: &'static str,
    ink: &'static str,
    quiet: &'static str,
    line: &'static str,
    output: &'static str,
    input: &'static str,
    function: &'static str,
    power: &'static str,
}

const LIGHT: Colours = Colours {
    paper: "#fff",
    ink: "#1b1f24",
    quiet: "#59636e",
    line: "#d1d9e0",
    output: "#b34700",
    input: "#0062a3",
    function: "#00704f",
    power: "#b3003c",
};
const DARK: Colours = Colours {
    paper: "#0d1117",
    ink: "#e6edf3",
    quiet: "#9198a1",
    line: "#3d444d",
    output: "#ff9a52",
    input: "#6cb6ff",
    function: "#3ddbab",
    power: "#ff7b9c",
};

impl Colours {
    /// As rules in plain CSS that simple viewers support too.
    fn rules(&self) -> String {
        let Self { paper, ink, quiet, line, output, input, function, power } = self;
        let mut out = format!(
            "text{{fill:{ink}}}.quiet,.holder{{fill:{quiet}}}.paper,.mark{{fill:{paper}}}.board{{stroke:{line}}}\n"
        );
        for (class, colour) in
            [("out", output), ("in", input), ("alt", function), ("power", power), ("ground", quiet), ("unknown", quiet)]
        {
            // Formatting into a String cannot fail, here and below.
            let _ =
                writeln!(out, ".{class} .mark{{stroke:{colour}}}.{class} .state,.{class}.full .mark{{fill:{colour}}}");
        }
        let _ = writeln!(out, ".full .number{{fill:{paper}}}");
        out
    }
}

/// The picture as an SVG 1.1 document.
pub fn svg(picture: &HeaderDrawing) -> String {
    let rows = u32::try_from(picture.rows().count()).unwrap_or(u32::MAX);
    let bottom = TOP + rows * ROW;
    let height = bottom + LEGEND;
    let mut out = String::with_capacity(16 * 1024);
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" aria-labelledby=\"title\">\n<title id=\"title\">The 40-pin header of {name}: {source}</title>\n\
         <style>\n{STYLE}{light}@media (prefers-color-scheme:dark){{\n{dark}}}\n</style>\n<rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\" rx=\"8\"/>\n\
         <text class=\"title\" x=\"24\" y=\"36\">{name}</text>\n<text class=\"quiet\" x=\"24\" y=\"58\">{source}</text>\n\
         <rect class=\"board\" x=\"{x}\" y=\"{y}\" width=\"64\" height=\"{long}\" rx=\"6\"/>",
        light = LIGHT.rules(),
        dark = DARK.rules(),
        name = escaped(&title(picture)),
        source = escaped(&picture.source),
        x = MIDDLE - 32,
        y = TOP - 6,
        long = rows * ROW + 6,
    );
    for (row, (odd, even)) in (0..).zip(picture.rows()) {
        let y = TOP + row * ROW + ROW / 2 - 3;
        cell(&mut out, odd, y, true);
        cell(&mut out, even, y, false);
    }
    legend(&mut out, bottom + 26);
    out.push_str("</svg>\n");
    out
}

/// One contact: its mark and number in the middle; outwards from it name, state and holder.
fn cell(out: &mut String, cell: &HeaderContact, y: u32, left: bool) {
    let (side, away): (&str, fn(u32) -> u32) = if left { (" left", |by| MIDDLE - by) } else { ("", |by| MIDDLE + by) };
    let text = y + 5;
    let _ = writeln!(out, "<g class=\"{}\">", class(cell.look));
    mark(out, cell.look, away(15), y);
    let _ = writeln!(out, "<text class=\"number\" x=\"{}\" y=\"{}\">{}</text>", away(15), y + 4, cell.contact);
    let state = cell.state();
    // A wave's state is longer than others: what follows stands behind it, at 8 units a character.
    let state_end = 120 + 8 * u32::try_from(state.chars().count()).unwrap_or_default();
    for (kind, at, words) in
        [("name", 42, cell.name.clone()), ("state", 110, state), ("holder", state_end.max(210), cell.holder())]
    {
        if !words.is_empty() {
            let words = escaped(&words);
            let _ = writeln!(out, "<text class=\"{kind}{side}\" x=\"{}\" y=\"{text}\">{words}</text>", away(at));
        }
    }
    out.push_str("</g>\n");
}

/// A square for outputs and power, a circle for inputs, a diamond for other functions.
fn mark(out: &mut String, look: ContactStyle, x: u32, y: u32) {
    let _ = match look {
        ContactStyle::Output(_) | ContactStyle::Power | ContactStyle::Ground => writeln!(
            out,
            "<rect class=\"mark\" x=\"{}\" y=\"{}\" width=\"20\" height=\"20\" rx=\"3\"/>",
            x - 10,
            y - 10
        ),
        ContactStyle::Input(_) | ContactStyle::Unknown => {
            writeln!(out, "<circle class=\"mark\" cx=\"{x}\" cy=\"{y}\" r=\"10\"/>")
        }
        ContactStyle::Function => {
            writeln!(out, "<path class=\"mark\" d=\"M{x} {}L{} {y}L{x} {}L{} {y}Z\"/>", y - 12, x + 12, y + 12, x - 12)
        }
    };
}

const fn class(look: ContactStyle) -> &'static str {
    match look {
        ContactStyle::Power => "power full",
        ContactStyle::Ground => "ground full",
        ContactStyle::Output(Some(Level::High)) => "out full",
        ContactStyle::Output(_) => "out",
        ContactStyle::Input(Some(Level::High)) => "in full",
        ContactStyle::Input(_) => "in",
        ContactStyle::Function => "alt",
        ContactStyle::Unknown => "unknown",
    }
}

fn legend(out: &mut String, y: u32) {
    let (high, low) = (Some(Level::High), Some(Level::Low));
    let entries = [
        (ContactStyle::Output(high), "output, high", 24),
        (ContactStyle::Output(low), "output, low", 24),
        (ContactStyle::Input(high), "input, high", 200),
        (ContactStyle::Input(low), "input, low", 200),
        (ContactStyle::Function, "other function", 376),
        (ContactStyle::Unknown, "not told to tools", 376),
        (ContactStyle::Power, "power", 580),
        (ContactStyle::Ground, "ground", 580),
    ];
    for (index, (look, words, x)) in entries.into_iter().enumerate() {
        let y = if index % 2 == 0 { y } else { y + 26 };
        let _ = writeln!(out, "<g class=\"{}\">", class(look));
        mark(out, look, x + 12, y);
        let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{words}</text>\n</g>", x + 32, y + 5);
    }
}

/// Escaped as XML text; characters that XML cannot represent were replaced before (`super::shown`).
fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::super::{PinEntry, PinFunction};
    use super::*;

    #[test]
    fn a_name_stays_a_name() {
        let entry = PinEntry {
            pin: 17,
            mode: PinFunction::Output,
            value: Some(Level::High),
            allowed: true,
            pull: None,
            pwm: None,
            function: None,
            consumer: Some("<script>\"&'".into()),
            lease: None,
        };
        let drawn = svg(&HeaderDrawing::new("<b>\u{0}", false, "a & b", &[entry]));
        assert!(drawn.contains("&lt;script&gt;&quot;&amp;'</text>"));
        assert!(!drawn.contains("<script") && !drawn.contains("<b>") && !drawn.contains('\u{0}'));
        assert!(drawn.contains("a &amp; b"));
    }

    #[test]
    fn every_contact_and_every_look_is_in_it() {
        let drawn = svg(&HeaderDrawing::new("board", true, "test", &[]));
        for contact in 1..=40 {
            assert!(drawn.contains(&format!(">{contact}</text>")), "{contact}");
        }
        for class in ["out full", "out", "in full", "in", "alt", "unknown", "power full", "ground full"] {
            assert!(drawn.contains(&format!("<g class=\"{class}\">")), "{class}");
        }
        assert_eq!(drawn.matches("<g ").count(), drawn.matches("</g>").count());
    }
}
