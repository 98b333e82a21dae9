//! What a user may say about the files in addition to their names.

/// The options by which a user describes the files.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The first report of an iostat is not the mean since the machine started (`iostat -y`).
    pub keep_first_report: bool,
    /// Use the row of this time of day in asloglatency's tables, instead of the average.
    pub slice: Option<String>,
    /// The format that `blkparse -f` was given.
    pub blkparse_format: Option<super::BlkparseFormat>,
}
