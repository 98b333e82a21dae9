//! What a person says about the files beside their names.

/// What the reader is told beside the files.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The first report of an iostat is not the mean since the machine started (`iostat -y`).
    pub keep_first_report: bool,
    /// Of asloglatency's tables the row of this time of day instead of the average.
    pub slice: Option<String>,
}
