//! Where things are: the system's folders on an appliance, the user's own on a PC.

use contract::config::Places;
use std::path::PathBuf;

const PASSWD: &str =
    "root:x:0:0::/root:/bin/sh\nraspi-mcp:x:990:990::/:/bin/false\nmira:x:1000:1000::/home/mira:/bin/sh\nbroken\n";

fn places(uid: u32, variables: &[(&str, &str)]) -> Result<Places, String> {
    let find = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, path)| PathBuf::from(path));
    Places::for_user(uid, PASSWD, find).map_err(|faults| faults.to_string())
}

#[test]
fn root_and_the_service_user_have_the_systems_places() {
    let session = [("HOME", "/home/admin"), ("XDG_CONFIG_HOME", "/home/admin/.config")];
    assert_eq!(places(0, &session), Ok(Places::system()));
    assert_eq!(places(990, &session), Ok(Places::system()));
}

#[test]
fn anybody_else_has_the_xdg_folders() {
    let mine =
        places(1000, &[("XDG_RUNTIME_DIR", "/run/user/1000"), ("XDG_STATE_HOME", "/data/state")]).expect("places");
    assert_eq!(mine.site_dir, PathBuf::from("/home/mira/.config/raspi-mcp"));
    assert_eq!(mine.state_dir, PathBuf::from("/data/state/raspi-mcp"));
    assert_eq!(mine.runtime_dir, PathBuf::from("/run/user/1000/raspi-mcp"));
    assert_eq!(mine.agent_socket, PathBuf::from("/run/user/1000/raspi-mcp/agent.sock"));
    assert_eq!(mine.agent_state_dir, PathBuf::from("/data/state/raspi-mcp/agent"));
    assert_eq!(mine.policy_owner, None);
}

#[test]
fn without_a_session_the_sockets_live_with_the_state() {
    let mine = places(1000, &[("XDG_RUNTIME_DIR", "relative/is/ignored")]).expect("places");
    assert_eq!(mine.runtime_dir, PathBuf::from("/home/mira/.local/state/raspi-mcp/run"));
}

#[test]
fn a_user_without_a_home_is_told_what_to_set() {
    assert_eq!(
        places(4711, &[]),
        Err("XDG_STATE_HOME: user 4711 has no home folder to find .local/state in; set XDG_STATE_HOME or HOME to a full path"
            .into())
    );
    assert!(places(4711, &[("HOME", "/tmp/home")]).is_ok());
}
