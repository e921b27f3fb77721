//! What holds of cameras, photos and captures on every board.

use super::assertions;

assertions! { camera: }
