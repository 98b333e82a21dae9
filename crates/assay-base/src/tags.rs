//! How many requests a disk takes at a time, in the sentence that everybody uses who says it: before a run and after it.

/// Says that a load asks for more operations in flight on `disk` than the `tags` requests that it takes at a time; `None`
/// where it does not.
pub fn more_than_tags(disk: &str, tags: u64, asked: u64) -> Option<String> {
    (asked > tags).then(|| {
        format!(
            "{disk} takes {tags} requests at a time (nr_requests), and {asked} in flight are asked for: the others wait in the \
             kernel, which is a part of their response"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_more_is_said() {
        assert_eq!(more_than_tags("sda", 64, 64), None);
        assert!(more_than_tags("sda", 64, 65).is_some_and(|said| said.starts_with("sda takes 64 requests at a time")));
    }
}
