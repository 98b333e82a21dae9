//! Where messages go, and what they say of the time of day.

/// Where messages are sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Name or address of the host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The path of the address.
    pub path: String,
}

/// What a message says of the time of day.
#[derive(Clone, Copy, Debug)]
pub struct WallTime {
    /// The time now, in nanoseconds since 1970.
    pub now_ns: fn() -> u64,
    /// The time in a text of a log's header; 0 where it is none.
    pub ns_in_text: fn(&str) -> u64,
}
