//! This module is written next.
