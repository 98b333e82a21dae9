//! What a run is judged by.

/// What a run is judged by. A certification is judged by its workload alone.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct Judged {
    /// Judge by this criterion instead of those of the workload, such as "reads p99 at most 5ms". Repeat it for several
    #[arg(long = "criterion", value_name = "TEXT")]
    pub criteria: Vec<String>,
}
