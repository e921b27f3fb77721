//! What holds of pins, edges and leases on every board.

use super::assertions;

assertions! { gpio: }
