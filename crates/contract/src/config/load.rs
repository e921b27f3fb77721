//! Loads the settings: the order of the sources, their precedence, and the effect of a fault in each.

use super::{
    PlaceSettings, Places, Settings, Sources,
    assignment::{Assignment, PREFIX, from_text},
    draft::SettingsDraft,
    explain::SettingSources,
    fault::{ConfigError, Faults, Origin},
    fragment::{self, Fragment},
    keys,
    prepared::PreparedFolder,
    together,
    token_files::TokenFiles,
};
use base::nearest::nearest;
use std::path::{Path, PathBuf};

/// The settings of `raspi-mcp serve`, and of all commands that a person runs.
///
/// # Errors
/// All faults in the image, the site, the environment and the flags; nothing should start then.
pub fn load(sources: &Sources) -> Result<Settings, Faults> {
    loaded(sources).map(|(settings, _)| Settings {
        token_files: TokenFiles::of(sources),
        sources: SettingSources::of(sources),
        ..settings
    })
}

/// The settings, and the draft with the origins.
pub(super) fn loaded(sources: &Sources) -> Result<(Settings, SettingsDraft), Faults> {
    let mut faults = Vec::new();
    let shared = is_shared(sources);
    let base = base(sources, shared, None, &mut faults);
    let over = overrides(sources, true, &mut faults);
    let mut draft = laid(sources, &base, &over, &mut faults)?;
    let mut aside = if shared { owners(sources, None, &mut draft) } else { SetAside::default() };
    if faults.is_empty() {
        let state = folder(&draft, |places| places.state_dir.join("conf.d"))?;
        for fragment in fragment::read_dir(&state, None, &sources.tools) {
            match narrowed(&draft, &fragment, sources) {
                Ok(next) => draft = next,
                Err(reasons) => aside.file(&reasons),
            }
        }
    }
    finish(draft, &over, aside, faults)
}

/// The settings of `raspi-mcp agent`: image, site, the agent's own folder, and the flags of its command line. It reads
/// nothing that the server can write, and nothing from the environment; its caller reports variables that would set one
/// of the places ([`place_of`]).
///
/// In its own folder every key except the places is accepted; the places are not, because the server does not read that
/// folder. What is not understood there is set aside, a section or a whole file, and the settings are restricted: the agent must then
/// refuse what changes the machine, except for what an update needs if only sections are concerned.
///
/// # Errors
/// As [`load`]; also a file that another user than [`Places::policy_owner`] could have written.
pub fn load_agent(sources: &Sources) -> Result<Settings, Faults> {
    let mut faults = Vec::new();
    let owner = sources.places.policy_owner;
    let shared = is_shared(sources);
    let base = base(sources, shared, owner, &mut faults);
    let over = overrides(sources, false, &mut faults);
    let mut draft = laid(sources, &base, &over, &mut faults)?;
    let mut aside = if shared { owners(sources, owner, &mut draft) } else { SetAside::default() };
    if faults.is_empty() {
        let own = folder(&draft, |places| places.agent_state_dir.join("conf.d"))?;
        for fragment in fragment::read_dir(&own, owner, &sources.tools) {
            aside.what_is_not_understood(&mut draft, &fragment, extended);
        }
    }
    finish(draft, &over, aside, faults).map(|(settings, _)| settings)
}

/// The place that an environment variable of this name sets, such as `places.agent_socket`.
pub fn place_of(variable: &str) -> Option<String> {
    let key = variable.strip_prefix(PREFIX)?.to_lowercase().replace("__", ".");
    key.starts_with("places.").then_some(key)
}

/// Whether the site folder is an appliance's: both of its systems read the same files there, and one of them may be
/// older than the files, so what it does not understand is set aside.
pub fn is_shared(sources: &Sources) -> bool {
    sources.file.is_none() && !matches!(PreparedFolder::at(&sources.places.identity_dir).standing(), Ok(None))
}

/// Applies the owner's fragments of an appliance over image and identity. What this version does not understand never
/// keeps it from starting, since it may be for a newer version: it is set aside, and the settings are restricted.
fn owners(sources: &Sources, owner: Option<u32>, draft: &mut SettingsDraft) -> SetAside {
    let mut aside = SetAside::default();
    for fragment in site(sources, owner) {
        aside.what_is_not_understood(draft, &fragment, |draft, fragment| {
            tried(draft, fragment, |next, assignment| match assignment.key.name.starts_with("places.") {
                true => Err(ConfigError::new(assignment.origin.clone(), "the places of an appliance are its image's")),
                false => next.apply(assignment),
            })
        });
    }
    aside
}

/// How a reason begins for which a section was set aside, and not the whole file.
const SECTION_ASIDE: &str = "set aside with its section: ";
/// How a reason begins for which a section of [`REFUSING`] was set aside.
const REFUSING_SECTION_ASIDE: &str = "set aside with a section that may refuse: ";

/// Whether [`RECOVERY`](super::RECOVERY) runs on a device that is restricted for these reasons ([`Settings::restricted`]): only sections were
/// set aside, and none that may say no. Also for what another process reports.
pub fn recovers<'a>(reasons: impl IntoIterator<Item = &'a str>) -> bool {
    let mut reasons = reasons.into_iter().peekable();
    reasons.peek().is_some() && reasons.all(|reason| reason.starts_with(SECTION_ASIDE))
}

/// Whether one of these reasons says that sections of the file `path` were set aside, and its others count.
pub(super) fn lost_sections(reasons: &[String], path: &Path) -> bool {
    let start = format!("{}:", path.display());
    let of_section = |reason: &String| {
        let fault = reason.strip_prefix(SECTION_ASIDE).or_else(|| reason.strip_prefix(REFUSING_SECTION_ASIDE));
        fault.is_some_and(|fault| fault.starts_with(&start))
    };
    reasons.iter().any(of_section)
}

/// Sections that may say no to an update, a rollback or a restart, or to who orders one. Without one of them nothing runs that changes the
/// machine.
const REFUSING: [&str; 8] = ["access", "approval", "claim", "halt", "jwt", "policy", "tools", "update"];

/// Whether a section, or a key of the top level, may be one of [`REFUSING`]: also a mistyped one. Keys of the top level concern everything.
fn may_refuse(name: &str) -> bool {
    let top = keys::KEYS.iter().map(|key| key.name).filter(|name| !name.contains('.'));
    REFUSING.contains(&name) || !keys::is_section(name) && nearest(name, REFUSING.into_iter().chain(top)).is_some()
}

/// Why something was set aside of the fragments.
#[derive(Default)]
struct SetAside {
    reasons: Vec<String>,
}

impl SetAside {
    fn file(&mut self, reasons: &[ConfigError]) {
        self.reasons.extend(reasons.iter().map(|fault| format!("set aside: {fault}")));
    }

    /// Applies a fragment to `draft` with `apply`, and keeps what is not understood: a section, if the rest of the file can be applied,
    /// otherwise the file. Never a single key: what narrows another setting of its section must not be missing alone.
    fn what_is_not_understood(
        &mut self,
        draft: &mut SettingsDraft,
        fragment: &Fragment,
        apply: impl Fn(&SettingsDraft, &Fragment) -> Result<SettingsDraft, Vec<ConfigError>>,
    ) {
        match (apply(draft, fragment), fragment.understood().map(|rest| apply(draft, &rest))) {
            (Ok(next), _) => *draft = next,
            (Err(_), Some(Ok(next))) => {
                *draft = next;
                let mut sections = fragment.faulty_sections.iter().flatten();
                let start = match sections.any(|name| may_refuse(name)) {
                    true => REFUSING_SECTION_ASIDE,
                    false => SECTION_ASIDE,
                };
                self.reasons.extend(fragment.faults.iter().map(|fault| format!("{start}{fault}")));
            }
            (Err(reasons), _) => self.file(&reasons),
        }
    }
}

fn site(sources: &Sources, owner: Option<u32>) -> Vec<Fragment> {
    fragment::read_dir_with(&sources.places.site_dir, owner, &sources.tools, sources.instead.as_ref())
}

/// The assignments of image, identity and site, in that order; a `shared` site is applied later, by [`owners`].
fn base(sources: &Sources, shared: bool, owner: Option<u32>, faults: &mut Vec<ConfigError>) -> Vec<Assignment> {
    let mut fragments = fragment::read_dir(&sources.places.image_dir, owner, &sources.tools);
    let identity = PreparedFolder::at(&sources.places.identity_dir).fragments();
    fragments.extend(fragment::read_dir(&identity, owner, &sources.tools));
    match &sources.file {
        Some(file) => fragments.push(fragment::read_file(file, owner, &sources.tools)),
        None if shared => {}
        None => fragments.extend(site(sources, owner)),
    }
    let mut assignments = Vec::new();
    for fragment in fragments {
        assignments.extend(fragment.assignments);
        faults.extend(fragment.faults);
    }
    assignments
}

/// The assignments of variables and flags, in that order.
fn overrides(sources: &Sources, environment: bool, faults: &mut Vec<ConfigError>) -> Vec<Assignment> {
    let variables = sources.env.iter().filter(|_| environment).filter_map(|(variable, text)| {
        let name = variable.strip_prefix(PREFIX)?.to_lowercase().replace("__", ".");
        Some((name, text, Origin::Variable(variable.clone())))
    });
    let flags = sources.flags.iter().map(|flag| (flag.key.clone(), &flag.value, Origin::Flag(flag.flag.clone())));
    let mut assignments = Vec::new();
    for (name, text, origin) in variables.chain(flags) {
        let (more, wrong) = from_text(&name, text, origin, &sources.tools);
        assignments.extend(more);
        faults.extend(wrong);
    }
    assignments
}

/// The defaults with image and site applied. The folders are determined first, with the last value from any source,
/// because other defaults depend on them.
fn laid(
    sources: &Sources,
    base: &[Assignment],
    over: &[Assignment],
    faults: &mut Vec<ConfigError>,
) -> Result<SettingsDraft, Faults> {
    let start = |places| SettingsDraft::new(places).map_err(|fault| Faults(vec![fault]));
    let mut folders = start(&sources.places)?;
    for assignment in base.iter().chain(over).filter(|assignment| assignment.key.name.starts_with("places.")) {
        faults.extend(folders.apply(assignment).err());
    }
    let set = folders.settings().map_err(|fault| Faults(vec![fault]))?.places;
    let mut draft = start(&Places {
        state_dir: set.state_dir,
        runtime_dir: set.runtime_dir,
        agent_state_dir: set.agent_state_dir,
        agent_socket: set.agent_socket,
        ..sources.places.clone()
    })?;
    if let Some(file) = &sources.file {
        draft.reads(file.clone());
    }
    for assignment in base {
        faults.extend(draft.apply(assignment).err());
    }
    Ok(draft)
}

fn folder(draft: &SettingsDraft, of: impl Fn(&PlaceSettings) -> PathBuf) -> Result<PathBuf, Faults> {
    draft.settings().map(|settings| of(&settings.places)).map_err(|fault| Faults(vec![fault]))
}

/// The draft with one state fragment applied, or why the fragment is not accepted.
fn narrowed(draft: &SettingsDraft, fragment: &Fragment, sources: &Sources) -> Result<SettingsDraft, Vec<ConfigError>> {
    let site = sources.file.as_ref().unwrap_or(&sources.places.site_dir).display().to_string();
    tried(draft, fragment, |next, assignment| next.narrow(assignment, &sources.tools, &site))
}

/// The draft with one fragment of the agent's own folder applied, or why the fragment is not accepted.
fn extended(draft: &SettingsDraft, fragment: &Fragment) -> Result<SettingsDraft, Vec<ConfigError>> {
    tried(draft, fragment, |next, assignment| {
        if assignment.key.name.starts_with("places.") {
            let message = "the server does not read this file, and both halves have to agree on the places; set them in the \
                           site configuration";
            return Err(ConfigError::new(assignment.origin.clone(), message));
        }
        next.apply(assignment)
    })
}

/// Applies all of a fragment or nothing of it.
fn tried(
    draft: &SettingsDraft,
    fragment: &Fragment,
    mut lay: impl FnMut(&mut SettingsDraft, &Assignment) -> Result<(), ConfigError>,
) -> Result<SettingsDraft, Vec<ConfigError>> {
    let mut faults = fragment.faults.clone();
    let mut next = draft.clone();
    for assignment in &fragment.assignments {
        faults.extend(lay(&mut next, assignment).err());
    }
    if faults.is_empty() {
        match next.settings() {
            Ok(settings) => faults.extend(together::check(&next, &settings)),
            Err(fault) => faults.push(fault),
        }
        // Conflicts that existed before are not caused by this fragment; a variable or flag may still resolve them.
        if let Ok(settings) = draft.settings() {
            let before = together::check(draft, &settings);
            faults.retain(|fault| !before.iter().any(|old| old.message == fault.message));
        }
    }
    if faults.is_empty() { Ok(next) } else { Err(faults) }
}

fn finish(
    mut draft: SettingsDraft,
    over: &[Assignment],
    aside: SetAside,
    mut faults: Vec<ConfigError>,
) -> Result<(Settings, SettingsDraft), Faults> {
    for assignment in over {
        faults.extend(draft.apply(assignment).err());
    }
    match draft.settings() {
        Ok(mut settings) => {
            faults.extend(together::check(&draft, &settings));
            settings.recovers = recovers(aside.reasons.iter().map(String::as_str));
            settings.restricted = aside.reasons;
            if faults.is_empty() { Ok((settings, draft)) } else { Err(Faults(faults)) }
        }
        Err(fault) => {
            faults.push(fault);
            Err(Faults(faults))
        }
    }
}
