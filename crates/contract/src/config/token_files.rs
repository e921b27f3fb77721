//! The files with tokens: a running server reads them again when one changes, and `raspi-mcp token` writes them.

use super::{
    Sources,
    fault::{ConfigError, Faults, Origin},
    fragment,
    kind::{KnownTools, SettingKind},
    load,
    prepared::PreparedFolder,
    token::TokenSetting,
    tokens::TOKENS,
};
use crate::meta::Mode;
use std::path::{Path, PathBuf};

/// The section of the tokens.
const ACCESS: &str = "access";

/// The sources of one server's tokens, in this order. Empty if its settings came from no files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenFiles {
    /// Folders of fragments: image, identity, site.
    folders: Vec<PathBuf>,
    /// `--config FILE`, in place of the site folder.
    file: Option<PathBuf>,
    tools: Vec<(&'static str, Mode)>,
}

/// A token and its file.
#[derive(Clone, Debug)]
pub struct KeptToken {
    pub setting: TokenSetting,
    pub file: PathBuf,
    /// Whether the file has nothing else.
    pub alone: bool,
}

impl TokenFiles {
    pub fn of(sources: &Sources) -> Self {
        let mut folders =
            vec![sources.places.image_dir.clone(), PreparedFolder::at(&sources.places.identity_dir).fragments()];
        if sources.file.is_none() {
            folders.push(sources.places.site_dir.clone());
        }
        Self { folders, file: sources.file.clone(), tools: sources.tools.clone() }
    }

    /// The folders to watch for changes of tokens. The site's may be created later; those of image and identity exist
    /// before the server starts, or never on this machine.
    pub fn watched(&self) -> Vec<PathBuf> {
        let site = match &self.file {
            // A bare file name is relative to the folder that the server was started in.
            Some(file) => file.parent().map(|at| if at.as_os_str().is_empty() { Path::new(".") } else { at }),
            None => self.folders.last().map(PathBuf::as_path),
        };
        let others = self.folders.iter().filter(|folder| Some(folder.as_path()) != site && folder.is_dir());
        others.cloned().chain(site.map(Path::to_owned)).collect()
    }

    /// The tokens as they are in the files now. Rules between keys are not checked: a removed token is invalid at once,
    /// even if the next start would require one. `set_aside` are the lines of [`super::Settings::restricted`]; the
    /// files they name were ignored at the start and still are; of a file that lost only sections, the others count as they did then.
    ///
    /// # Errors
    /// All faults of all files, because the intended tokens are then unknown.
    pub fn read(&self, set_aside: &[String]) -> Result<Vec<KeptToken>, Faults> {
        let (mut found, mut faults) = (Vec::<KeptToken>::new(), Vec::new());
        let tools: &KnownTools = &self.tools;
        let read = self.folders.iter().flat_map(|folder| fragment::read_dir(folder, None, tools));
        let fragments = read.chain(self.file.as_ref().map(|file| fragment::read_file(file, None, tools)));
        let was_set_aside = |origin: &Origin| match origin {
            Origin::File { path, .. } => {
                let start = format!("set aside: {}:", path.display());
                set_aside.iter().any(|line| line.starts_with(&start))
            }
            _ => false,
        };
        for fragment in fragments {
            let alone = fragment.assignments.len() == 1 && fragment.faults.is_empty();
            let fragment = match fragment.faults.first().map(|fault| &fault.origin) {
                Some(Origin::File { path, .. })
                    if load::lost_sections(set_aside, path) && !fragment.is_faulty(ACCESS) =>
                {
                    fragment.understood().unwrap_or(fragment)
                }
                _ => fragment,
            };
            faults.extend(fragment.faults.into_iter().filter(|fault| !was_set_aside(&fault.origin)));
            for assignment in &fragment.assignments {
                if assignment.key.kind != SettingKind::Tables(&TOKENS) || was_set_aside(&assignment.origin) {
                    continue;
                }
                let Origin::File { path, .. } = &assignment.origin else { continue };
                let fault = |message: String| ConfigError::new(assignment.origin.clone(), message);
                match serde_json::from_value::<Vec<TokenSetting>>(assignment.value.clone()) {
                    Ok(settings) => {
                        let alone = alone && settings.len() == 1;
                        for setting in settings {
                            match found.iter().find(|one| is_same(&one.setting, &setting)) {
                                Some(one) => faults.push(fault(format!(
                                    "the tokens {} and {} have one name or one secret; make each its own",
                                    one.setting.name, setting.name
                                ))),
                                None => found.push(KeptToken { setting, file: path.to_path_buf(), alone }),
                            }
                        }
                    }
                    Err(error) => faults.push(fault(format!("access.tokens cannot be read: {error}"))),
                }
            }
        }
        if faults.is_empty() { Ok(found) } else { Err(Faults(faults)) }
    }
}

fn is_same(one: &TokenSetting, other: &TokenSetting) -> bool {
    one.name == other.name || one.sha256 == other.sha256
}
