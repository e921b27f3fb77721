//! The header as lines of text: odd contacts left, even ones right, as on the board.

use super::{ContactStyle, HeaderContact, HeaderDrawing};
use hw::line::Level;
use std::fmt::Write;

/// The texts beside a contact, from the middle outwards: name, state, holder.
fn columns(cell: &HeaderContact) -> [String; 3] {
    [cell.name.clone(), cell.state(), cell.holder()]
}

/// The width of each column, in characters.
fn widths<'a>(cells: impl Iterator<Item = &'a HeaderContact>) -> [usize; 3] {
    cells.fold([0; 3], |widest, cell| {
        let own = columns(cell).map(|text| text.chars().count());
        std::array::from_fn(|column| widest[column].max(own[column]))
    })
}

/// The picture as text; with `colour`, ANSI escape codes also show the state.
pub fn terminal(picture: &HeaderDrawing, colour: bool) -> String {
    let [name_w, state_w, holder_w] = widths(picture.rows().map(|(odd, _)| odd));
    let [other_name_w, other_state_w, _] = widths(picture.rows().map(|(_, even)| even));
    let mut out = format!("{}\n{}\n\n", title(picture), picture.source);
    for (odd, even) in picture.rows() {
        let ([name, state, holder], [other_name, other_state, other_holder]) = (columns(odd), columns(even));
        let line = format!(
            "{holder:>holder_w$}  {}  {name:>name_w$}  {:>2} {}{} {:<2}  {other_name:<other_name_w$}  {}  {other_holder}",
            painted(colour, odd.look, &format!("{state:>state_w$}")),
            odd.contact,
            painted(colour, odd.look, mark(odd.look)),
            painted(colour, even.look, mark(even.look)),
            even.contact,
            painted(colour, even.look, &format!("{other_state:<other_state_w$}")),
        );
        out.push_str(line.trim_end());
        out.push('\n');
    }
    // Formatting into a String cannot fail.
    let _ = writeln!(out, "\n{}", legend(colour));
    out
}

/// The board's name, and whether it is simulated.
pub(super) fn title(picture: &HeaderDrawing) -> String {
    let marked = picture.simulated && !picture.board.contains("simulated");
    format!("{}{}", super::cut(&picture.board, 80), if marked { " (simulated)" } else { "" })
}

/// One letter for each contact: capital or filled means high.
const fn mark(look: ContactStyle) -> &'static str {
    match look {
        ContactStyle::Power => "+",
        ContactStyle::Ground => "-",
        ContactStyle::Output(Some(Level::High)) => "O",
        ContactStyle::Output(_) => "o",
        ContactStyle::Input(Some(Level::High)) => "I",
        ContactStyle::Input(_) => "i",
        ContactStyle::Function => "F",
        ContactStyle::Unknown => "?",
    }
}

/// ANSI colours (ECMA-48, 8.3.117): the nearest of sixteen to those of the SVG.
fn painted(colour: bool, look: ContactStyle, text: &str) -> String {
    let code = match look {
        ContactStyle::Power => "31",
        ContactStyle::Ground => "90",
        ContactStyle::Output(Some(Level::High)) => "1;33",
        ContactStyle::Output(_) => "33",
        ContactStyle::Input(Some(Level::High)) => "1;36",
        ContactStyle::Input(_) => "36",
        ContactStyle::Function => "32",
        ContactStyle::Unknown => "2",
    };
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

fn legend(colour: bool) -> String {
    let entries = [
        (ContactStyle::Output(Some(Level::High)), "output high"),
        (ContactStyle::Output(Some(Level::Low)), "low"),
        (ContactStyle::Input(Some(Level::High)), "input high"),
        (ContactStyle::Input(Some(Level::Low)), "low"),
        (ContactStyle::Function, "other function"),
        (ContactStyle::Power, "power"),
        (ContactStyle::Ground, "ground"),
        (ContactStyle::Unknown, "not told"),
    ];
    let words: Vec<String> =
        entries.iter().map(|(look, words)| format!("{} {words}", painted(colour, *look, mark(*look)))).collect();
    words.join("   ")
}

#[cfg(test)]
mod tests {
    use super::super::{PinEntry, PinFunction};
    use super::*;

    fn picture() -> HeaderDrawing {
        let entry = |pin, mode, value| PinEntry {
            pin,
            mode,
            value,
            allowed: true,
            pull: None,
            pwm: None,
            function: None,
            consumer: Some("fan".into()),
            lease: None,
        };
        let entries =
            [entry(17, PinFunction::Output, Some(Level::High)), entry(18, PinFunction::Input, Some(Level::Low))];
        HeaderDrawing::new("Raspberry Pi 4 Model B", true, "test", &entries)
    }

    #[test]
    fn one_line_a_pair_with_all_there_is_to_say() {
        let text = terminal(&picture(), false);
        assert!(!text.contains('\x1b'));
        assert!(text.starts_with("Raspberry Pi 4 Model B (simulated)\n"), "{text}");
        assert!(text.contains("fan   out high  GPIO17  11 Oi 12  GPIO18  in low     fan\n"), "{text}");
        assert!(text.contains("  3V3   1 ++ 2   5V\n"), "{text}");
        assert_eq!(text.lines().count(), 2 + 1 + 20 + 2);
    }

    #[test]
    fn colours_change_no_letter() {
        let coloured = terminal(&picture(), true);
        assert!(coloured.contains("\x1b[1;33mO\x1b[0m"));
        let mut plain = String::new();
        for (at, part) in coloured.split("\x1b[").enumerate() {
            plain.push_str(if at == 0 { part } else { part.split_once('m').unwrap().1 });
        }
        let ends = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
        assert_eq!(ends(&plain), ends(&terminal(&picture(), false)));
    }
}
