//! The location of a panic, which the caught payload does not contain.

use std::{
    panic::{self, PanicHookInfo},
    sync::{Mutex, Once, PoisonError},
    thread,
};

/// Longest message kept, in characters.
const LONGEST: usize = 200;
/// Path components kept of a source file: the others depend on the build machine.
const FOLDERS: usize = 4;

/// One panic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Panic {
    /// File and line, like `src/tools/gpio/read_pin.rs:57`.
    pub place: String,
    /// The thread's name.
    pub thread: String,
    /// Its message, shortened to one line.
    pub said: String,
}

static NEWEST: Mutex<Option<Panic>> = Mutex::new(None);

/// Records the newest panic of this process from now on, in addition to the existing hook. Idempotent.
pub fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            *NEWEST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Panic::of(info));
            before(info);
        }));
    });
}

/// Takes the newest panic, for the code that caught it. Panics are rare and caught at once, so it is the right one.
pub fn take() -> Option<Panic> {
    NEWEST.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl Panic {
    fn of(info: &PanicHookInfo<'_>) -> Self {
        let payload = info.payload();
        let said = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref().map(String::as_str));
        Self {
            place: info.location().map_or_else(String::new, |at| format!("{}:{}", short(at.file()), at.line())),
            thread: thread::current().name().unwrap_or("unnamed").to_owned(),
            said: said
                .unwrap_or_default()
                .chars()
                .take(LONGEST)
                .map(|c| if c.is_control() { ' ' } else { c })
                .collect(),
        }
    }
}

/// The end of a path.
fn short(path: &str) -> &str {
    path.rmatch_indices('/').nth(FOLDERS).map_or(path, |(at, _)| &path[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_nothing_of_the_machine_it_was_built_on() {
        assert_eq!(short("src/tools/gpio/read_pin.rs"), "src/tools/gpio/read_pin.rs");
        assert_eq!(
            short("/home/me/.cargo/registry/src/index-1/zbus-6.2.1/src/a.rs"),
            "src/index-1/zbus-6.2.1/src/a.rs"
        );
    }
}
