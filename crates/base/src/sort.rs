//! Sorting and sorted collections, for lists of at most some thousands.
//!
//! The standard library compiles its sorting algorithm for every type: 4 kB of the program each. Here it is compiled once,
//! for indices; a type adds a comparison and a swap. It allocates one index for each element.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

/// A list that is being sorted.
trait List {
    fn compare(&self, a: usize, b: usize) -> Ordering;
    fn swap(&mut self, a: usize, b: usize);
}

struct Slice<'a, T, F>(&'a mut [T], F);

impl<T, F: Fn(&T, &T) -> Ordering> List for Slice<'_, T, F> {
    fn compare(&self, a: usize, b: usize) -> Ordering {
        (self.1)(&self.0[a], &self.0[b])
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.0.swap(a, b);
    }
}

/// Sorts; equal elements keep their order.
pub fn sort<T: Ord>(list: &mut [T]) {
    sort_by(list, Ord::cmp);
}

/// Sorts by a key; elements with equal keys keep their order.
pub fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(list, |a, b| key(a).cmp(&key(b)));
}

/// Sorts by a comparison; equal elements keep their order.
pub fn sort_by<T>(list: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let length = list.len();
    arrange(&mut Slice(list, compare), length);
}

fn arrange(list: &mut dyn List, length: usize) {
    let mut order: Vec<usize> = (0..length).collect();
    order.sort_by(|a, b| list.compare(*a, *b));
    // `order[place]` says which element belongs there. Each cycle of the permutation is swapped along.
    for start in 0..length {
        let mut place = start;
        loop {
            let from = std::mem::replace(&mut order[place], place);
            if from == start || from == place {
                break;
            }
            list.swap(place, from);
            place = from;
        }
    }
}

/// A map of the entries; of equal keys the last one counts. `collect` would sort them first.
pub fn map<K: Ord, V>(entries: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    for (key, value) in entries {
        map.insert(key, value);
    }
    map
}

/// A set of the elements.
pub fn set<T: Ord>(elements: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    for element in elements {
        set.insert(element);
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_as_the_standard_library_does() {
        // Every list of up to seven elements of four values, each with its place, so that the order of equals shows.
        for length in 0..=7_u32 {
            for number in 0..4_usize.pow(length) {
                let list: Vec<(usize, u32)> = (0..length).map(|n| (number / 4_usize.pow(n) % 4, n)).collect();
                let (mut ours, mut theirs) = (list.clone(), list);
                sort_by_key(&mut ours, |(value, _)| *value);
                theirs.sort_by_key(|(value, _)| *value);
                assert_eq!(ours, theirs);
            }
        }
    }

    #[test]
    fn sorts_long_lists_and_those_that_cannot_be_copied() {
        let mut list: Vec<String> =
            (0..5000_u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40).to_string()).collect();
        sort(&mut list);
        assert!(list.is_sorted() && list.len() == 5000);
    }

    #[test]
    fn the_last_of_equal_keys_counts() {
        assert_eq!(map([(1, 'a'), (0, 'b'), (1, 'c')]), BTreeMap::from([(0, 'b'), (1, 'c')]));
        assert_eq!(set([3, 1, 3]), BTreeSet::from([1, 3]));
    }
}
