//! Text to statements. A script with a syntax error is not run at all, as on a router.

use std::{iter::Peekable, str::Chars};

/// One statement of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// `:do { ... } on-error={ ... }`
    Do {
        body: Vec<Statement>,
        on_error: Option<Vec<Statement>>,
    },
    /// `:log info "text"`, `:put "text"`
    Builtin {
        name: String,
        arguments: Vec<Expression>,
    },
    Command(Command),
}

/// `/ip/address/add address=192.0.2.1/24`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// `ip/address/add`; empty in front of `find` in brackets: that of the command around it.
    pub path: String,
    /// Arguments with their names, or without one.
    pub arguments: Vec<(Option<String>, Expression)>,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    Text(Vec<Piece>),
    /// `[find name=x]`
    Command(Box<Command>),
}

/// A part of a text: what stands there, or what takes the place of `$name` and `$[command]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Literal(String),
    Variable(String),
    Command(Box<Command>),
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    /// How deep it is in blocks and brackets.
    depth: u32,
}

/// The statements of a script.
///
/// # Errors
/// What is wrong, as `syntax error: ...` or `expected ...`.
pub fn parse(text: &str) -> Result<Vec<Statement>, String> {
    let mut parser = Parser { rest: text.chars().peekable(), depth: 0 };
    let statements = parser.block(None)?;
    Ok(statements)
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, ';' | '{' | '}' | '[' | ']' | '(' | ')' | '"')
}

impl Parser<'_> {
    fn block(&mut self, end: Option<char>) -> Result<Vec<Statement>, String> {
        self.depth += 1;
        if self.depth > 50 {
            return Err("syntax error: nested too deep".into());
        }
        let mut statements = Vec::new();
        loop {
            while self.rest.next_if(|c| c.is_whitespace() || *c == ';').is_some() {}
            match self.rest.peek() {
                None if end.is_none() => break,
                None => return Err("expected closing brace".into()),
                Some(c) if Some(*c) == end => {
                    self.rest.next();
                    break;
                }
                Some('#') => while self.rest.next_if(|c| *c != '\n').is_some() {},
                Some(_) => statements.push(self.statement()?),
            }
        }
        self.depth -= 1;
        Ok(statements)
    }

    fn statement(&mut self) -> Result<Statement, String> {
        if self.rest.next_if_eq(&':').is_none() {
            return Ok(Statement::Command(self.command()?));
        }
        let name = self.word();
        match name.as_str() {
            "do" => {
                self.expects('{')?;
                let body = self.block(Some('}'))?;
                self.blanks();
                let mut on_error = None;
                if self.rest.peek() == Some(&'o') {
                    let word = self.word_until('=');
                    if word != "on-error" {
                        return Err(format!("syntax error: {word}"));
                    }
                    self.expects('=')?;
                    self.expects('{')?;
                    on_error = Some(self.block(Some('}'))?);
                }
                Ok(Statement::Do { body, on_error })
            }
            "log" | "put" | "error" => {
                let mut arguments = Vec::new();
                while !self.at_end() {
                    arguments.push(self.value()?);
                }
                Ok(Statement::Builtin { name, arguments })
            }
            _ => Err(format!("syntax error: :{name} is not simulated")),
        }
    }

    fn command(&mut self) -> Result<Command, String> {
        let mut command = Command::default();
        let mut in_path = true;
        while !self.at_end() {
            let starts_value = matches!(self.rest.peek(), Some('[' | '"' | '*' | '$' | '('));
            let word = if starts_value { String::new() } else { self.word_until('=') };
            if !word.is_empty() && self.rest.next_if_eq(&'=').is_some() {
                in_path = false;
                let value = if self.at_end() { Expression::Text(Vec::new()) } else { self.value()? };
                command.arguments.push((Some(word), value));
            } else if starts_value {
                in_path = false;
                command.arguments.push((None, self.value()?));
            } else if word.is_empty() {
                let c = self.rest.peek().copied().unwrap_or_default();
                return Err(format!("syntax error: unexpected {c:?}"));
            } else if in_path {
                if !command.path.is_empty() {
                    command.path.push('/');
                }
                command.path.push_str(word.trim_matches('/'));
            } else {
                command.arguments.push((None, Expression::Text(vec![Piece::Literal(word)])));
            }
        }
        if command.path.is_empty() { Err("syntax error: expected command name".into()) } else { Ok(command) }
    }

    /// Whether the statement ends here.
    fn at_end(&mut self) -> bool {
        self.blanks();
        matches!(self.rest.peek(), None | Some(';' | '\n' | '\r' | '}' | ']'))
    }

    fn blanks(&mut self) {
        while self.rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
    }

    fn expects(&mut self, c: char) -> Result<(), String> {
        self.blanks();
        if self.rest.next_if_eq(&c).is_some() { Ok(()) } else { Err(format!("syntax error: expected {c:?}")) }
    }

    fn word(&mut self) -> String {
        self.word_until(' ')
    }

    fn word_until(&mut self, end: char) -> String {
        let mut word = String::new();
        while let Some(c) = self.rest.next_if(|c| !ends_word(*c) && *c != end) {
            word.push(c);
        }
        word
    }

    fn value(&mut self) -> Result<Expression, String> {
        match self.rest.peek() {
            Some('"') => Ok(Expression::Text(self.quoted()?)),
            Some('[') => Ok(Expression::Command(Box::new(self.bracket()?))),
            Some('(') => Err("syntax error: expressions are not simulated".into()),
            _ => {
                let mut pieces = Vec::new();
                let mut literal = String::new();
                while let Some(c) = self.rest.next_if(|c| !ends_word(*c)) {
                    if c == '$' {
                        flush(&mut pieces, &mut literal);
                        pieces.push(self.substitution()?);
                    } else {
                        literal.push(c);
                    }
                }
                flush(&mut pieces, &mut literal);
                if pieces.is_empty() {
                    Err("syntax error: expected value".into())
                } else {
                    Ok(Expression::Text(pieces))
                }
            }
        }
    }

    fn bracket(&mut self) -> Result<Command, String> {
        self.expects('[')?;
        self.depth += 1;
        if self.depth > 50 {
            return Err("syntax error: nested too deep".into());
        }
        let command = self.command()?;
        self.depth -= 1;
        self.expects(']')?;
        Ok(command)
    }

    /// A text in quotation marks: `\"`, `\\`, `\$`, `\n`, `\r`, `\t`, `\_`, `\?` and `\1F` are characters, `$` takes in a value.
    fn quoted(&mut self) -> Result<Vec<Piece>, String> {
        self.rest.next();
        let (mut pieces, mut bytes) = (Vec::new(), Vec::new());
        loop {
            match self.rest.next().ok_or("expected end of string")? {
                '"' => break,
                '$' => {
                    flush_bytes(&mut pieces, &mut bytes);
                    pieces.push(self.substitution()?);
                }
                // Bytes, of which some may be one character of UTF-8.
                '\\' => bytes.push(self.escape()?),
                c => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
        flush_bytes(&mut pieces, &mut bytes);
        Ok(pieces)
    }

    fn escape(&mut self) -> Result<u8, String> {
        let c = self.rest.next().ok_or("expected end of string")?;
        Ok(match c {
            '"' => b'"',
            '\\' => b'\\',
            '$' => b'$',
            '?' => b'?',
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'a' => 0x07,
            'b' => 0x08,
            'f' => 0x0c,
            'v' => 0x0b,
            '_' => b' ',
            first if first.is_ascii_hexdigit() && !first.is_ascii_lowercase() => {
                let second = self
                    .rest
                    .next_if(|c| c.is_ascii_hexdigit() && !c.is_ascii_lowercase())
                    .ok_or("syntax error: bad escape")?;
                u8::from_str_radix(&format!("{first}{second}"), 16).map_err(|_| "syntax error: bad escape")?
            }
            _ => return Err("syntax error: bad escape".into()),
        })
    }

    /// What follows `$`.
    fn substitution(&mut self) -> Result<Piece, String> {
        if self.rest.peek() == Some(&'[') {
            return Ok(Piece::Command(Box::new(self.bracket()?)));
        }
        let mut name = String::new();
        while let Some(c) = self.rest.next_if(char::is_ascii_alphanumeric) {
            name.push(c);
        }
        if name.is_empty() { Err("syntax error: expected variable name".into()) } else { Ok(Piece::Variable(name)) }
    }
}

fn flush(pieces: &mut Vec<Piece>, literal: &mut String) {
    if !literal.is_empty() {
        pieces.push(Piece::Literal(std::mem::take(literal)));
    }
}

fn flush_bytes(pieces: &mut Vec<Piece>, bytes: &mut Vec<u8>) {
    if !bytes.is_empty() {
        pieces.push(Piece::Literal(String::from_utf8_lossy(&std::mem::take(bytes)).into_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comment(text: &str) -> Vec<Piece> {
        let statements = parse(text).expect("a script");
        let [Statement::Command(command)] = &statements[..] else { panic!("{statements:?}") };
        let Some((_, Expression::Text(pieces))) = command.arguments.last() else { panic!("{command:?}") };
        pieces.clone()
    }

    #[test]
    fn quoting_keeps_what_is_special() {
        let literal = |text: &str| vec![Piece::Literal(text.to_owned())];
        assert_eq!(
            comment(r#"/ip/address/set *1 comment="a \"b\" \\ \$c \n \1B;[x]""#),
            literal("a \"b\" \\ $c \n \x1b;[x]")
        );
        assert_eq!(comment(r#"/ip/address/set *1 comment="$x""#), [Piece::Variable("x".into())]);
        assert!(matches!(&comment(r#"/ip/address/set *1 comment="$[/system/reboot]""#)[..], [Piece::Command(_)]));
    }

    #[test]
    fn what_is_not_simulated_is_a_syntax_error() {
        for bad in [
            ":if (1) do={}",
            "/ip/address/add comment=\"open",
            ":do { /ip/address/print",
            ":do {} on-error",
            "/",
            "/ip/address/set [find",
            ":local x 1",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn both_ways_to_write_a_path_are_one() {
        let by_slashes = parse("/ip/address/remove [find comment=x]").expect("a script");
        assert_eq!(by_slashes, parse("/ip address remove [ find comment=x ]\n# and no more").expect("a script"));
    }
}
