//! Settings for what a test wants to call.

use contract::{
    config::{FileRoot, Settings},
    meta::Mode,
};
use raspi_mcp::{registry::Registry, routeros::table};
use serde_json::json;

/// A photo that [`allow_everything`] puts into the camera's folder, dated so far ahead that it is not deleted for its age.
pub const PHOTO: &str = "29991231T235959999Z-0123abcd.jpg";

/// Every tool on, and nobody asked: what policy denies is refused before its arguments are looked at.
pub fn allow_everything(settings: &mut Settings) {
    for entry in Registry::new(raspi_mcp::tools::NAMESPACES).rows() {
        settings.tools.enable.insert(entry.meta.namespace().to_owned());
        settings.policy.insert(entry.name().to_owned(), Mode::Allow);
    }
    settings.tools.enable.insert("routeros".into());
    settings.policy.extend(table::all().map(|tool| (tool.name.to_owned(), Mode::Allow)));
    std::fs::create_dir_all(&settings.camera.dir).unwrap();
    std::fs::write(settings.camera.dir.join(PHOTO), "a photo").unwrap();
    // A folder with the file that the samples name.
    let path = settings.places.state_dir.with_file_name("files");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("a"), "").unwrap();
    settings.files.roots =
        vec![FileRoot { name: "data".into(), path, writable: true, max_bytes: 1 << 20, index: true }];
    let echo = json!({"name": "echo", "program": "/bin/echo"});
    settings.exec.commands.push(serde_json::from_value(echo).unwrap());
}
