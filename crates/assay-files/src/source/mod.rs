//! A real tree that is copied. It is listed once, and its files are read by their names below its uppermost directory:
//! nothing in it is written, no link is followed and no other mount is entered. A file that is not what it was when it was
//! listed is named.

mod file_facts;
mod listing;
mod open_source;

pub use open_source::OpenSource;
