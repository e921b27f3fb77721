//! Room for connections: so many in all, and one network beyond this machine never has it all.

use crate::access::refusals::Network;
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The places of one listener.
pub struct Places {
    all: Arc<Semaphore>,
    /// Most for one network.
    each: usize,
    taken: Mutex<HashMap<Network, usize>>,
}

/// One taken place; free again when dropped.
pub struct Place {
    _permit: OwnedSemaphorePermit,
    counted: Option<(Arc<Places>, Network)>,
}

impl Places {
    /// `count` in all; a quarter of them, at least one, for a network.
    pub fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { all: Arc::new(Semaphore::new(count)), each: (count / 4).max(1), taken: Mutex::default() })
    }

    /// Waits until there is a place at all.
    pub async fn free(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.all).acquire_owned().await.ok()
    }

    /// Gives it to a peer; `None` when its network has its share. This machine is not counted: it has other ways to
    /// keep itself busy.
    pub fn seat(self: &Arc<Self>, permit: OwnedSemaphorePermit, peer: IpAddr) -> Option<Place> {
        if crate::config::is_loopback(peer) {
            return Some(Place { _permit: permit, counted: None });
        }
        let network = Network::of(peer);
        let mut taken = self.lock();
        let count = taken.entry(network).or_default();
        if *count >= self.each {
            return None;
        }
        *count += 1;
        drop(taken);
        Some(Place { _permit: permit, counted: Some((Arc::clone(self), network)) })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Network, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some((places, network)) = &self.counted else { return };
        let mut taken = places.lock();
        if let Some(count) = taken.get_mut(network) {
            *count -= 1;
            if *count == 0 {
                taken.remove(network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_network_leaves_room_for_others() {
        let places = Places::new(8);
        let at = |last| IpAddr::from([192, 0, 2, last]);
        let mut seats = Vec::new();
        for _ in 0..2 {
            seats.push(places.seat(places.free().await.unwrap(), at(1)).unwrap());
        }
        assert!(places.seat(places.free().await.unwrap(), at(1)).is_none());
        seats.push(places.seat(places.free().await.unwrap(), at(2)).unwrap());
        for _ in 0..5 {
            seats.push(places.seat(places.free().await.unwrap(), IpAddr::from([127, 0, 0, 1])).unwrap());
        }
        assert_eq!(places.all.available_permits(), 0);
        seats.remove(0);
        assert!(places.seat(places.free().await.unwrap(), at(1)).is_some());
        drop(seats);
        assert!(places.lock().is_empty());
    }
}
