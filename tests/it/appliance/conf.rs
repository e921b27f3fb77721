//! What was prepared, as both halves read it: after the image, before the site.

use super::{Machine, token};
use contract::{
    config::{Places, Sources, load, load_agent, recovers},
    meta::Role,
};
use std::fs;

fn sources(machine: &Machine) -> Sources {
    let places = Places::below(machine.home.path());
    for folder in [&places.image_dir, &places.site_dir] {
        fs::create_dir_all(folder).unwrap();
    }
    Sources::new(places, Vec::new())
}

#[test]
fn an_appliance_listens_with_its_key_before_anybody_owns_it_and_says_that_nobody_does() {
    let machine = Machine::with(&[]);
    machine.starts();
    let settings = load(&sources(&machine)).unwrap();
    assert!(settings.unclaimed && settings.tls.enabled);
    assert_eq!(settings.http.listen.to_string(), "[::]:8443");
    assert_eq!(settings.tls.key, machine.folder().path().join("tls.key"));
    assert!(load_agent(&sources(&machine)).unwrap().unclaimed);
    // Any other machine is as it was.
    let other = Machine::with(&[]);
    let settings = load(&sources(&other)).unwrap();
    assert!(!settings.unclaimed && !settings.tls.enabled && settings.http.listen.ip().is_loopback());
}

#[test]
fn the_owners_file_is_read_by_both_halves_and_the_site_has_the_last_word() {
    let (_, lines) = token("laptop", Role::Admin);
    let root = String::from_utf8(crate::update::a_root()).unwrap();
    let update = format!("[update]\nchannel = \"beta\"\nurl = \"https://one.example/pi\"\ntrust = '''\n{root}'''\n");
    let text = format!("name = \"porch\"\n{update}{lines}");
    let machine = Machine::with(&[("raspi-mcp.toml", text.as_bytes())]);
    machine.starts();
    let sources = sources(&machine);
    fs::write(sources.places.image_dir.join("a.toml"), "[update]\nchannel = \"stable\"\nring = \"early\"\n").unwrap();
    for settings in [load(&sources).unwrap(), load_agent(&sources).unwrap()] {
        assert!(!settings.unclaimed);
        assert_eq!((settings.update.channel.as_str(), settings.update.ring.as_str()), ("beta", "early"));
        assert_eq!(settings.http.allowed_hosts, ["porch", "porch.local"]);
        assert_eq!(settings.access.tokens[0].name, "laptop");
        // Where the agent's chain of trust begins.
        assert_eq!(fs::read_to_string(&settings.update.trust).unwrap(), root);
    }
    fs::write(
        sources.places.site_dir.join("a.toml"),
        "[update]\nchannel = \"nightly\"\n[http]\nlisten = \"127.0.0.1:1\"\n",
    )
    .unwrap();
    for settings in [load(&sources).unwrap(), load_agent(&sources).unwrap()] {
        assert_eq!(settings.update.channel, "nightly");
        assert_eq!(settings.http.listen.port(), 1);
        assert_eq!(settings.update.url, "https://one.example/pi");
    }
}

#[test]
fn a_folder_that_is_broken_opens_nothing() {
    let machine = Machine::with(&[]);
    machine.starts();
    for bad in ["", "{}", "{\"claimed\":\"no\"}"] {
        machine.puts("run/raspi-mcp-identity/state.json", bad);
        // Nobody could be known, and that is refused.
        assert!(load(&sources(&machine)).is_err(), "{bad:?}");
    }
}

#[test]
fn a_file_of_a_version_to_come_restricts_an_appliance_and_keeps_neither_half_from_starting() {
    let machine = Machine::with(&[]);
    machine.starts();
    let sources = sources(&machine);
    let write = |name: &str, text: &str| fs::write(sources.places.site_dir.join(name), text).unwrap();
    write("10-mine.toml", "[update]\nchannel = \"nightly\"\n");
    for (text, why) in [
        ("[update]\nring = \"early\"\nwhat_comes_next = 1\n", "unknown key"),
        ("nonsense", "60-next.toml"),
        ("[http]\nlisten = \"everywhere\"\n", "http.listen"),
        ("[places]\nstate_dir = \"/tmp/elsewhere\"\n", "its image's"),
    ] {
        write("60-next.toml", text);
        for settings in [load(&sources).unwrap(), load_agent(&sources).unwrap()] {
            assert!(settings.is_restricted() && settings.restricted[0].contains(why), "{:?}", settings.restricted);
            // All of a section or nothing of it, and the other files count.
            assert_eq!((settings.update.channel.as_str(), settings.update.ring.as_str()), ("nightly", ""));
            assert_eq!(settings.http.listen.port(), 8443);
        }
    }
    // Of a file with faults in some sections the others count: without them the device could not be reached any more.
    let mixed =
        "[log]\nlevel = \"debug\"\nwhat_comes_next = 1\n[http]\nlisten = \"[::]:9443\"\n[voice]\nlanguage = \"en\"\n";
    write("60-next.toml", mixed);
    for settings in [load(&sources).unwrap(), load_agent(&sources).unwrap()] {
        assert!(settings.recovers && settings.restricted.len() == 2, "{:?}", settings.restricted);
        assert!(recovers(settings.restricted.iter().map(String::as_str)), "as whoever asks the server judges");
        assert!(settings.restricted[0].contains("log.what_comes_next"), "{:?}", settings.restricted);
        assert_eq!((settings.http.listen.port(), settings.update.channel.as_str()), (9443, "nightly"));
    }
    // What may have said no, also under a mistyped name, keeps the device as it is.
    for refusing in
        ["[update]\nwhat_comes_next = 1\n", "[polcy]\n\"manage.rollback\" = \"deny\"\n", "enviroment = \"lab\"\n"]
    {
        write("60-next.toml", refusing);
        for settings in [load(&sources).unwrap(), load_agent(&sources).unwrap()] {
            assert!(settings.is_restricted() && !settings.recovers, "{refusing}: {:?}", settings.restricted);
            assert!(!recovers(settings.restricted.iter().map(String::as_str)), "{refusing}: {:?}", settings.restricted);
        }
    }
    // Unless they do not go together without them.
    write("60-next.toml", "[http]\nlisten = \"[::]:9443\"\n[tls]\nenabled = false\n[voice]\nlanguage = \"en\"\n");
    for settings in [load(&sources).unwrap(), load_agent(&sources).unwrap()] {
        assert!(settings.is_restricted() && !settings.recovers, "{:?}", settings.restricted);
        assert_eq!(settings.http.listen.port(), 8443);
    }
    fs::remove_file(sources.places.site_dir.join("60-next.toml")).unwrap();
    assert!(!load(&sources).unwrap().is_restricted());
    // Where nothing else reads it, a mistake is to be mended before anything starts.
    write("60-next.toml", "nonsense");
    fs::remove_dir_all(machine.folder().path()).unwrap();
    assert!(load(&sources).is_err() && load_agent(&sources).is_err());
}

#[test]
fn tokens_beside_a_section_that_is_not_understood_stay_valid_while_the_server_runs() {
    let machine = Machine::with(&[]);
    machine.starts();
    let sources = sources(&machine);
    let (_, lines) = token("laptop", Role::Admin);
    let write = |text: &str| fs::write(sources.places.site_dir.join("60-next.toml"), text).unwrap();
    for section in ["[voice]\nlanguage = \"en\"\n", "[polcy]\n\"manage.rollback\" = \"deny\"\n"] {
        write(&format!("{section}{lines}"));
        let settings = load(&sources).unwrap();
        assert_eq!((settings.restricted.len(), settings.access.tokens.len()), (1, 1), "{:?}", settings.restricted);
        let kept = settings.token_files.read(&settings.restricted).unwrap();
        assert_eq!(kept.iter().map(|kept| kept.setting.name.as_str()).collect::<Vec<_>>(), ["laptop"]);
        assert!(!kept[0].alone, "the file has a section that nobody here understands");
        // Revoked, and written wrongly: then nobody knows which tokens are meant.
        write(section);
        assert!(settings.token_files.read(&settings.restricted).unwrap().is_empty());
        write(&format!("{section}{lines}what_comes_next = 1\n"));
        assert!(settings.token_files.read(&settings.restricted).is_err());
    }
}
