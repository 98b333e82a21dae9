//! Load on a file system: clients that carry out sequences of operations on a tree of files. What is asked for is here;
//! which operation a client does next is decided where the state of the tree is known.

mod directory_group;
mod directory_number;
mod durable;
mod file_size;
mod gamma;
mod misfit;
mod name_length;
mod operation;
mod part_of_clients;
mod planned;
mod sequence;
pub mod service;
mod source_tree;
mod steps;
mod sync_at_end;
mod tree;
mod workload;

pub use directory_group::{DEEPEST_DIRECTORY, DirectoryGroup, GroupFault, check_groups};
pub use directory_number::DirectoryNumber;
pub use durable::Durable;
pub use file_size::{FileSize, LARGEST_FILE, SizeDrawing};
pub use gamma::Gamma;
pub use misfit::Misfit;
pub use name_length::{LONGEST_NAME, LengthWeight, NameLengths};
pub use operation::Operation;
pub use part_of_clients::PartOfClients;
pub use planned::{PlannedFiles, StreamPlaces};
pub use sequence::{Pick, Place, Sequence, SequenceFiles};
pub use source_tree::{ListedEntry, ListedTree, NamedEntry, SourceFound, SourceTree};
pub use steps::{Subject, keeps_file_open};
pub use sync_at_end::{DURABLE_PHASE, MAKE_DURABLE};
pub use tree::{Layout, MOST_DIRECTORIES, MOST_FILES, Shared, Tree, TreeShape, TreeTotals};
pub use workload::{CachePolicy, FilesPace, FilesPhase, FilesWorkload, MOST_CLIENTS, Spacing, Until};
