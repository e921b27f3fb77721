//! Fleets: rollouts over simulated devices.

mod rollout;
