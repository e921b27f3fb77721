//! Secrets on command lines, which follow an option by its name or by what programs agree on.

use super::{MASK, is_secret_name, redact_text};

/// Options whose value is a user with a password behind a colon: curl, many clients of HTTP, and `pass:x` of openssl.
const LOGIN: &[&str] = &["-u", "--user", "-U", "--proxy-user", "-passin", "-passout"];
/// Short options of single programs whose value is a password, as `-p x` or `-px`.
const SHORT: &[(&str, &str)] = &[
    ("ldapadd", "-w"),
    ("ldapmodify", "-w"),
    ("ldapsearch", "-w"),
    ("mosquitto_pub", "-P"),
    ("mosquitto_rr", "-P"),
    ("mosquitto_sub", "-P"),
    ("redis-cli", "-a"),
    ("sshpass", "-p"),
];
/// Programs that take a password as `-px` only: alone, `-p` asks for it.
const GLUED: &[(&str, &str)] =
    &[("mariadb", "-p"), ("mariadb-dump", "-p"), ("mysql", "-p"), ("mysqladmin", "-p"), ("mysqldump", "-p")];

/// What the word after an option is.
enum Next {
    Plain,
    Secret,
    Login,
}

/// A command line, masked word by word: `--password=x`, `--password x`, `-u user:x`, `sshpass -p x`, and in every word what
/// [`redact_text`] finds.
pub fn redact_command(words: Vec<String>) -> Vec<String> {
    let program = words.first().map_or("", |first| first.rsplit('/').next().unwrap_or(first)).to_owned();
    let of_program =
        |table: &[(&str, &'static str)]| table.iter().find(|(name, _)| *name == program).map(|(_, option)| *option);
    let (short, glued) = (of_program(SHORT), of_program(GLUED));
    let mut next = Next::Plain;
    words
        .into_iter()
        .map(|word| {
            let flag = word.starts_with('-');
            match std::mem::replace(&mut next, follows(&word, short)) {
                Next::Secret if !flag => MASK.to_owned(),
                Next::Login if !flag => login(&word).unwrap_or_else(|| redact_text(&word)),
                _ => short
                    .or(glued)
                    .filter(|option| word.len() > option.len() && word.starts_with(option))
                    .map_or_else(|| redact_text(&word), |option| format!("{option}{MASK}")),
            }
        })
        .collect()
}

fn follows(word: &str, short: Option<&str>) -> Next {
    if !word.starts_with('-') || word.contains('=') {
        Next::Plain
    } else if is_secret_name(word.trim_start_matches('-')) || short == Some(word) {
        Next::Secret
    } else if is_login(word) {
        Next::Login
    } else {
        Next::Plain
    }
}

/// Whether the option's value is a user with a password.
pub(super) fn is_login(option: &str) -> bool {
    LOGIN.contains(&option)
}

/// `user:password` or `user%password`, masked; `None` if it is no such thing, like the numbers `1000:1000`.
pub(super) fn login(text: &str) -> Option<String> {
    let at = text.find([':', '%'])?;
    let (user, password) = (&text[..at], &text[at + 1..]);
    let numbers = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if password.is_empty() || password.starts_with("//") || numbers(user) && numbers(password) {
        return None;
    }
    Some(format!("{}{MASK}", &text[..=at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(line: &str) -> String {
        redact_command(line.split(' ').map(str::to_owned).collect()).join(" ")
    }

    #[test]
    fn what_follows_an_option_is_masked_in_words() {
        for (line, shown) in [
            ("db --password=a --password b -v --token --next c", "db --password=M --password M -v --token --next c"),
            ("curl -u admin:hunter2 http://x/", "curl -u admin:M http://x/"),
            ("curl --user admin:hunter2 --proxy-user p:q x", "curl --user admin:M --proxy-user p:M x"),
            ("curl --user=admin:hunter2 -uadmin:hunter2 x", "curl --user=admin:M -uadmin:M x"),
            ("/usr/bin/sshpass -p hunter2 ssh -p 22 pi", "/usr/bin/sshpass -p M ssh -p M pi"),
            ("sshpass -phunter2 ssh pi", "sshpass -pM ssh pi"),
            ("mysql -uroot -phunter2 -p db", "mysql -uroot -pM -p db"),
            ("redis-cli -a hunter2 ping", "redis-cli -a M ping"),
            ("smbclient -U guest%hunter2 //nas/x", "smbclient -U guest%M //nas/x"),
            ("openssl pkcs12 -passin pass:hunter2", "openssl pkcs12 -passin pass:M"),
            // Nothing of the kind.
            ("docker run -u 1000:1000 -p 8080:80 web", "docker run -u 1000:1000 -p 8080:80 web"),
            ("journalctl -u ssh.service -p err", "journalctl -u ssh.service -p err"),
            ("ls -la --color -p", "ls -la --color -p"),
        ] {
            assert_eq!(masked(line), shown.replace('M', MASK), "{line}");
        }
    }

    #[test]
    fn and_inside_one_word() {
        for (word, shown) in [
            ("curl --token hunter2 http://x/", "curl --token M http://x/"),
            ("exec db --password 'my hunter2' -v", "exec db --password 'M' -v"),
            ("curl -u admin:hunter2 x; curl -uadmin:hunter2 y", "curl -u admin:M x; curl -uadmin:M y"),
            ("curl -u 'admin:hunter 2' x", "curl -u 'admin:M' x"),
            ("curl -H 'X-Api-Key: hunter2' x", "curl -H 'X-Api-Key: M' x"),
            ("pass the --token", "pass the --token"),
            ("journalctl -u nginx: nothing", "journalctl -u nginx: nothing"),
            ("tool --token --next c", "tool --token --next c"),
        ] {
            let masked = redact_command(vec!["sh".into(), "-c".into(), word.into()]);
            assert_eq!(masked[2], shown.replace('M', MASK), "{word}");
        }
    }
}
