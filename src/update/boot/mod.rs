//! How a board chooses what it boots: tryboot, U-Boot, or configured commands behind one trait.
