//! What holds of buses, scans and transfers on every board.

use super::assertions;

assertions! { i2c: }
