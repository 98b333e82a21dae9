//! How a transaction is sent to a server.

/// The side that has the logic of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Functions or procedures of the server: one call for each transaction.
    Procedures,
    /// This program: statements in two or three flights, each of which waits once for the server.
    Client,
}
