// Cargo wants a crate to have something in it.
