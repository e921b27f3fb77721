//! "Did you mean": finds the known word with the fewest edits.

/// Maximum number of letters that are compared.
const LONGEST: usize = 128;

/// The candidate nearest to `word`, if it is similar enough: at most a third of the letters differ, and at most eight.
/// Among equals the first is returned.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = word.chars().take(LONGEST).count();
    nearest_within((letters / 3).clamp(1, 8), word, candidates)
}

/// The candidate nearest to `word` in at most this many edits.
pub fn nearest_within<'a>(
    allowed: usize,
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word: String = word.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, candidate), candidate))
        .filter(|(edits, _)| *edits <= allowed)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// How many edits lead from one word to the other. Optimal string alignment: insertions, deletions, replacements and swaps of
/// neighbours each cost one.
pub fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut older = vec![0; right.len() + 1];
    let mut previous: Vec<usize> = (0..=right.len()).collect();
    for i in 1..=left.len() {
        let mut current = vec![i; right.len() + 1];
        for j in 1..=right.len() {
            let replace = previous[j - 1] + usize::from(left[i - 1] != right[j - 1]);
            current[j] = replace.min(previous[j] + 1).min(current[j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                current[j] = current[j].min(older[j - 2] + 1);
            }
        }
        older = std::mem::replace(&mut previous, current);
    }
    previous[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted_and_far_words_are_not_offered() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("board", "baord"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(nearest("Reads_per_minut", ["writes_per_minute", "reads_per_minute"]), Some("reads_per_minute"));
        assert_eq!(nearest("zebra", ["limits.max_depth", "board"]), None);
        assert_eq!(nearest("", ["board"]), None);
    }
}
