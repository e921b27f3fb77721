//! One answer from two corpora. A score of BM25 grows with the corpus, since a word that few of many passages have counts more than
//! one that few of a hundred have; beside a large root of files no page of the manual would be found any more.

use crate::Found;

/// Places at the beginning of which each corpus that found something has one.
const SEATS: usize = 3;

/// Joins what two corpora found, best first: each score is divided by what the question could reach there at most
/// ([`crate::SearchIndex::reach`]). If only one of them found something, its scores stay.
pub fn joined(manual: (Vec<Found>, f64), files: (Vec<Found>, f64), top_k: usize) -> Vec<Found> {
    if manual.0.is_empty() || files.0.is_empty() {
        let mut only = if manual.0.is_empty() { files.0 } else { manual.0 };
        only.truncate(top_k);
        return only;
    }
    let mut all: Vec<(usize, Found)> = Vec::with_capacity(manual.0.len() + files.0.len());
    for (corpus, (found, reach)) in [manual, files].into_iter().enumerate() {
        all.extend(found.into_iter().map(|one| {
            let score = if reach > 0.0 { (one.weight / reach).clamp(0.0, 1.0) } else { 0.0 };
            (corpus, Found { score, ..one })
        }));
    }
    base::sort::sort_by(&mut all, |(_, one), (_, other)| other.score.total_cmp(&one.score));
    let first = all[0].0;
    if let Some(other) = all.iter().position(|(corpus, _)| *corpus != first)
        && other >= SEATS
    {
        // Scores descend: it gets that of the match whose place it takes.
        let mut seated = all.remove(other);
        seated.1.score = all[SEATS - 1].1.score;
        all.insert(SEATS - 1, seated);
    }
    all.truncate(top_k);
    all.into_iter().map(|(_, found)| found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Snippet;

    fn found(path: &str, weight: f64) -> Found {
        let snippet = Snippet::default();
        let (namespace, etag) = (String::new(), String::new());
        Found { namespace, path: path.into(), etag, lang: None, weight, score: weight / (weight + 10.0), snippet }
    }

    fn order(manual: (&[f64], f64), files: (&[f64], f64), top_k: usize) -> Vec<String> {
        let list = |name: &str, weights: &[f64]| {
            weights.iter().enumerate().map(|(at, weight)| found(&format!("{name}{at}"), *weight)).collect()
        };
        let joined = joined((list("m", manual.0), manual.1), (list("f", files.0), files.1), top_k);
        assert!(joined.windows(2).all(|pair| pair[0].score >= pair[1].score), "{joined:?}");
        joined.into_iter().map(|one| one.path).collect()
    }

    #[test]
    fn a_score_counts_by_what_could_be_reached() {
        // Two thirds of a small corpus are more than half of a large one.
        assert_eq!(order((&[8.0, 2.0], 12.0), (&[15.0, 14.0], 30.0), 4), ["m0", "f0", "f1", "m1"]);
    }

    #[test]
    fn each_has_one_of_the_first_three_places() {
        assert_eq!(order((&[1.0], 12.0), (&[20.0, 19.0, 18.0, 17.0], 30.0), 4), ["f0", "f1", "m0", "f2"]);
        assert_eq!(order((&[9.0, 8.0, 7.0, 6.0], 10.0), (&[1.0], 30.0), 3), ["m0", "m1", "f0"]);
        assert_eq!(order((&[1.0], 12.0), (&[20.0, 19.0], 30.0), 2), ["f0", "f1"], "two places have no third");
    }

    #[test]
    fn one_corpus_alone_keeps_its_scores() {
        let alone = joined((vec![found("m", 10.0)], 12.0), (Vec::new(), 30.0), 5);
        assert_eq!(alone[0].score.to_bits(), 0.5_f64.to_bits());
        assert_eq!(order((&[], 1.0), (&[3.0, 2.0], 0.0), 1), ["f0"]);
    }
}
