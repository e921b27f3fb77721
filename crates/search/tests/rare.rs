//! One document in ten thousand.
#![expect(clippy::unwrap_used, reason = "a test")]

use search::{Corpus, Document, PutOutcome, SearchIndex, SearchQuery, Stamp, chunks};

const OTHERS: usize = 9_999;

fn put(index: &mut SearchIndex, path: &str, text: &str) {
    let chunks = chunks(text, false);
    let document =
        Document { namespace: "garden", path, stamp: Stamp::default(), etag: "e", lang: None, chunks: &chunks };
    assert_eq!(index.put(Corpus::Files, &document).unwrap(), PutOutcome::Indexed);
}

/// The condition is inside the query: the one document below a folder is found although all others rank before it.
#[test]
fn the_one_document_of_ten_thousand_below_a_path_is_found() {
    let mut index = SearchIndex::in_memory().unwrap();
    for number in 0..OTHERS {
        put(&mut index, &format!("log/{number}.txt"), "pump pump valve\n");
    }
    put(&mut index, "rare/one.txt", "words about many other things, and among all of them one valve and a pump\n");
    let names = ["garden".to_owned()];
    for (question, prefix) in [("pump", "rare/"), ("pump valve", "rare/o"), ("vavle", "rare/one.txt")] {
        let reading = index.read(Corpus::Files, question).unwrap();
        let query =
            SearchQuery { corpus: Corpus::Files, namespaces: &names, path_prefix: Some(prefix), lang: None, top_k: 1 };
        let found = index.find(query, &reading).unwrap();
        assert_eq!(found.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["rare/one.txt"], "{question}");
        let all = index.find(SearchQuery { path_prefix: None, top_k: 50, ..query }, &reading).unwrap();
        assert!(
            all.len() == 50 && all.iter().all(|one| one.path != "rare/one.txt"),
            "{question}: it is not among the best"
        );
    }
}
