//! The index as a whole: what is found, what is not, and what is left after changes.
#![expect(clippy::unwrap_used, reason = "a test")]

use search::{Corpus, Document, Found, MAX_CHUNKS, PutOutcome, SearchIndex, SearchQuery, Stamp, chunks, words};

fn put(index: &mut SearchIndex, corpus: Corpus, namespace: &str, path: &str, text: &str) -> PutOutcome {
    let chunks = chunks(text, path.ends_with(".md"));
    let stamp = Stamp { size: text.len() as i64, ..Stamp::default() };
    index
        .put(corpus, &Document { namespace, path, stamp, etag: "e", lang: search::language(path), chunks: &chunks })
        .unwrap()
}

fn find(index: &SearchIndex, corpus: Corpus, namespaces: &[&str], prefix: Option<&str>, question: &str) -> Vec<Found> {
    let namespaces: Vec<String> = namespaces.iter().map(|name| (*name).to_owned()).collect();
    let reading = index.read(corpus, question).unwrap();
    index
        .find(SearchQuery { corpus, namespaces: &namespaces, path_prefix: prefix, lang: None, top_k: 10 }, &reading)
        .unwrap()
}

fn paths(found: &[Found]) -> Vec<&str> {
    found.iter().map(|one| one.path.as_str()).collect()
}

fn garden() -> SearchIndex {
    let mut index = SearchIndex::in_memory().unwrap();
    for (path, text) in [
        ("diary/pump.md", "# The pump\n\nIt crashed when the valve closed.\nReplace the valve first.\n"),
        ("diary/light.md", "# Light\n\nThe lamps are on in the evening.\n"),
        ("log.txt", "pump started\npump stopped\n"),
    ] {
        assert_eq!(put(&mut index, Corpus::Files, "garden", path, text), PutOutcome::Indexed);
    }
    put(&mut index, Corpus::Files, "house", "heating.md", "# Heating\n\nThe pump of the heating is loud.\n");
    put(&mut index, Corpus::Manual, "manual", "gpio.md", "# Pins\n\nA pump hangs on a pin.\n");
    index
}

#[test]
fn stems_headings_and_misspelled_words_are_found_with_true_line_numbers() {
    let index = garden();
    let all = ["garden", "house"];
    let found = find(&index, Corpus::Files, &all, None, "crashing valves");
    assert_eq!(paths(&found), ["diary/pump.md"]);
    assert_eq!((found[0].snippet.line_start, found[0].snippet.line_end), (3, 4));
    assert!(found[0].score > 0.0 && found[0].score < 1.0 && found[0].etag == "e");
    assert_eq!(paths(&find(&index, Corpus::Files, &all, None, "the heatign"))[0], "heating.md");
    let reading = index.read(Corpus::Files, "qwzxv heatign").unwrap();
    assert_eq!(reading.corrected, [("heatign".to_owned(), "heating".to_owned())]);
    assert_eq!(reading.unknown, ["qwzxv"]);
    assert_eq!(paths(&find(&index, Corpus::Files, &all, None, "evenings lamp")), ["diary/light.md"]);
    for nothing in ["", "?!", "\"", "NOT", "qwzxv", "title:pump*^"] {
        let found = find(&index, Corpus::Files, &all, None, nothing);
        assert!(found.is_empty() || nothing.contains("pump"), "{nothing}: {found:?}");
    }
}

#[test]
fn conditions_hold_before_the_best_are_chosen() {
    let mut index = garden();
    for number in 0..200 {
        put(&mut index, Corpus::Files, "garden", &format!("pumps/{number}.txt"), "pump pump pump pump\n");
    }
    put(&mut index, Corpus::Files, "garden", "rare/one.txt", "words about many things, among them a pump, once\n");
    let rare = find(&index, Corpus::Files, &["garden"], Some("rare/"), "pump");
    assert_eq!(paths(&rare), ["rare/one.txt"]);
    assert_eq!(paths(&find(&index, Corpus::Files, &["house"], None, "pump")), ["heating.md"]);
    assert!(find(&index, Corpus::Files, &[], None, "pump").is_empty());
    assert!(find(&index, Corpus::Files, &["garden"], Some("rare/%"), "pump").is_empty(), "a prefix is no pattern");
    assert_eq!(find(&index, Corpus::Files, &["garden"], None, "pump").len(), 10);
    assert_eq!(paths(&find(&index, Corpus::Manual, &["manual"], None, "pump")), ["gpio.md"]);
}

#[test]
fn documents_of_one_corpus_do_not_change_scores_of_the_other() {
    let mut index = garden();
    let before = find(&index, Corpus::Manual, &["manual"], None, "pump on a pin");
    for number in 0..50 {
        put(&mut index, Corpus::Files, "garden", &format!("secret{number}.txt"), "pump pin heatpump\n");
    }
    assert_eq!(find(&index, Corpus::Manual, &["manual"], None, "pump on a pin"), before);
    assert!(index.read(Corpus::Manual, "heatpumq").unwrap().corrected.is_empty(), "nor is their spelling known there");
}

#[test]
fn what_is_changed_or_removed_is_not_found_any_more_nor_its_words() {
    let mut index = garden();
    put(&mut index, Corpus::Files, "garden", "log.txt", "nothing happened\n");
    index.remove(Corpus::Files, "garden", "diary/pump.md").unwrap();
    index.remove(Corpus::Files, "garden", "never.md").unwrap();
    assert_eq!(paths(&find(&index, Corpus::Files, &["garden", "house"], None, "pump valve")), ["heating.md"]);
    assert!(index.read(Corpus::Files, "valvs").unwrap().corrected.is_empty());
    index.keep_only(Corpus::Files, &["house"].into()).unwrap();
    let left = index.namespaces(Corpus::Files).unwrap();
    assert_eq!(left.keys().collect::<Vec<_>>(), ["house"]);
    assert_eq!(index.known(Corpus::Files, "house", "").unwrap().len(), 1);
    assert_eq!(index.known(Corpus::Files, "house", "other/").unwrap().len(), 0);
}

#[test]
fn it_is_kept_in_a_file_and_a_damaged_one_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("search.db");
    {
        let mut index = SearchIndex::open(&path).unwrap();
        put(&mut index, Corpus::Files, "garden", "a.txt", "pump\n");
    }
    let index = SearchIndex::open(&path).unwrap();
    assert_eq!(find(&index, Corpus::Files, &["garden"], None, "pump").len(), 1);
    drop(index);
    std::fs::write(&path, "this is no database, and longer than a header of one: ".repeat(100)).unwrap();
    let index = SearchIndex::open(&path).unwrap();
    assert!(find(&index, Corpus::Files, &["garden"], None, "pump").is_empty());
}

#[test]
fn nobody_but_its_owner_reads_it() {
    use std::{fs, os::unix::fs::PermissionsExt};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("search.db");
    let modes = || -> Vec<u32> {
        let all = fs::read_dir(folder.path()).unwrap();
        all.map(|entry| entry.unwrap().metadata().unwrap().permissions().mode() & 0o777).collect()
    };
    let mut index = SearchIndex::open(&path).unwrap();
    put(&mut index, Corpus::Files, "garden", "a.txt", "pump\n");
    assert_eq!(modes(), [0o600; 3], "with the log and its index");
    // One of an earlier version, and what a killed server left beside it.
    drop(index);
    for name in ["search.db", "search.db-wal", "search.db-shm"] {
        fs::OpenOptions::new().append(true).create(true).open(folder.path().join(name)).unwrap();
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    let index = SearchIndex::open(&path).unwrap();
    assert_eq!(find(&index, Corpus::Files, &["garden"], None, "pump").len(), 1);
    assert!(modes().iter().all(|mode| *mode == 0o600), "{:?}", modes());
}

#[test]
fn it_has_an_end_and_says_so() {
    let mut index = SearchIndex::in_memory().unwrap();
    let text: String = (0..400_000).map(|number| format!("{} ", number % 10)).collect::<String>();
    let lines: String =
        text.as_bytes().chunks(360).map(|line| String::from_utf8_lossy(line).into_owned() + "\n").collect();
    let mut full = 0;
    for number in 0..20 {
        match put(&mut index, Corpus::Files, "garden", &format!("{number}.txt"), &lines) {
            PutOutcome::Indexed => assert_eq!(full, 0),
            PutOutcome::Full => full += 1,
        }
    }
    let counts = index.namespaces(Corpus::Files).unwrap()["garden"];
    assert!(full > 0 && counts.chunks <= MAX_CHUNKS && counts.documents == 20 - full, "{counts:?}");
    assert_eq!(words("Größe_3, a-b").collect::<Vec<_>>(), ["größe", "3", "a", "b"]);
}

#[test]
fn a_beginning_counts_more_and_a_word_of_many_passages_ranks_and_does_not_choose() {
    let mut index = SearchIndex::in_memory().unwrap();
    let text = |words: &str| format!("{words}\n");
    // Two passages of the same length and words: the end of one document, and the whole of another.
    let (filled, passage) =
        ("a line of some other words\n".repeat(30), text("valve") + &"a line of some other words\n".repeat(29));
    put(&mut index, Corpus::Files, "garden", "end.txt", &(filled + &passage));
    put(&mut index, Corpus::Files, "garden", "whole.txt", &passage);
    for number in 0..2100 {
        put(&mut index, Corpus::Files, "garden", &format!("{number}.txt"), &text("pump pump pump"));
    }
    put(&mut index, Corpus::Files, "garden", "both.txt", &text("valve of a pump, with some more words here"));
    put(&mut index, Corpus::Files, "garden", "rust.txt", &text("rust"));
    assert_eq!(paths(&find(&index, Corpus::Files, &["garden"], None, "valve")), ["both.txt", "whole.txt", "end.txt"]);
    let found = find(&index, Corpus::Files, &["garden"], None, "pump valve rust");
    assert_eq!(found.len(), 4, "{:?}", paths(&found));
    assert!(paths(&found)[..2].contains(&"both.txt") && !paths(&found).contains(&"7.txt"), "{:?}", paths(&found));
    // Alone it is searched for like any other.
    assert_eq!(find(&index, Corpus::Files, &["garden"], None, "pump").len(), 10);
}

#[test]
fn a_slip_in_the_first_letter_is_corrected_too() {
    let index = garden();
    for (slip, meant) in [("eheating", "heating"), ("avlve", "valve"), ("balve", "valve"), ("lams", "lamps")] {
        let reading = index.read(Corpus::Files, slip).unwrap();
        assert_eq!(reading.corrected, [(slip.to_owned(), meant.to_owned())]);
    }
    assert_eq!(index.read(Corpus::Files, "dumq").unwrap().unknown, ["dumq"]);
}

#[test]
fn a_second_passage_of_a_document_gives_way_to_another_document() {
    let mut index = SearchIndex::in_memory().unwrap();
    let passage = |words: &str| format!("{words}\n") + &"a line of some other words\n".repeat(29);
    let three = passage("valve valve valve of other words");
    put(&mut index, Corpus::Files, "garden", "a.txt", &three.repeat(2));
    let two = passage("valve valve some of other words");
    put(&mut index, Corpus::Files, "garden", "b.txt", &(passage("a line of some other words") + &two));
    let found = find(&index, Corpus::Files, &["garden"], None, "valve");
    assert_eq!(paths(&found), ["a.txt", "b.txt", "a.txt"], "{found:?}");
}
