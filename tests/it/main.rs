//! One test binary; mirrors `src/`.
