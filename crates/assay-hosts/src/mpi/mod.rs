//! Ranks on many hosts, joined by the site's MPI library. No other file calls it.
//!
//! No status is read, because its layout differs between libraries: lengths travel in messages. A message is a head of
//! two numbers, the sender and the length, with as much of the bytes as [`HEAD_ROOM`] holds; the rest follows as a second one.

mod family;
mod launcher;
mod library;

pub use family::Family;
pub use launcher::{LaunchedAs, Launcher, library_candidates};
pub use library::{Library, NotLoaded};

use crate::link::{Collective, Link, LinkError, Message};
use library::{Raw, Request};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;

/// Bytes of a message that travel with its head.
const HEAD_ROOM: usize = 1_008;
/// Bytes of the two numbers in front.
const HEAD: usize = 16;
const HEAD_TAG: c_int = 1;
const BODY_TAG: c_int = 2;
/// The largest text that `MPI_Get_library_version` may write (MPICH and MPI 5.0; Open MPI needs 256).
const VERSION_ROOM: usize = 8_192;

/// Exit code of a bug in this program.
const PANICKED: c_int = 70;

/// A buffer that the library reads or writes until the request ends.
struct Pending {
    request: Request,
    /// What it reads.
    given: Vec<u8>,
    /// What it writes.
    taken: Vec<u8>,
}

/// What is being received.
enum Receiving {
    Nothing,
    Head(Pending),
    Body { pending: Pending, from: usize, begin: Vec<u8> },
}

/// The open operation of all ranks.
struct OpenCollective {
    pending: Pending,
    operation: Collective,
}

/// This process among those that a launcher started.
pub struct MpiLink {
    library: Library,
    own_rank: usize,
    world_size: usize,
    sent: Vec<Pending>,
    receiving: Receiving,
    collective: Option<OpenCollective>,
    /// Tells the user of this process something.
    tell: fn(&str),
    /// One thread calls the library: the one that initialised it.
    one_thread: PhantomData<*mut ()>,
}

impl MpiLink {
    /// Joins the other processes. It waits until the launcher has brought all of them here. What is to be said of them later is given
    /// to `tell`.
    pub fn join_world(library: Library, tell: fn(&str)) -> Result<MpiLink, LinkError> {
        let (functions, handles) = (&library.functions, &library.handles);
        let mut provided = 0;
        // SAFETY: since MPI 2 a program may pass no arguments; the library has not been initialised, as this process has one link.
        let code = unsafe {
            (functions.init_thread)(
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                handles.thread_funneled,
                &raw mut provided,
            )
        };
        check_code("MPI_Init_thread", code)?;
        let (mut own_rank, mut world_size) = (0, 0);
        // SAFETY: the library is initialised, and writes one integer each.
        let codes = unsafe {
            [
                ("MPI_Comm_set_errhandler", (functions.set_errhandler)(handles.comm_world, handles.errors_return)),
                ("MPI_Comm_rank", (functions.comm_rank)(handles.comm_world, &raw mut own_rank)),
                ("MPI_Comm_size", (functions.comm_size)(handles.comm_world, &raw mut world_size)),
            ]
        };
        for (name, code) in codes {
            check_code(name, code)?;
        }
        let (own_rank, world_size) = (own_rank as usize, world_size as usize);
        Ok(MpiLink {
            library,
            own_rank,
            world_size,
            sent: Vec::new(),
            receiving: Receiving::Nothing,
            collective: None,
            tell,
            one_thread: PhantomData,
        })
    }

    /// The library that is used.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// What the library says of itself, in one line.
    pub fn library_version(&self) -> String {
        let mut text = vec![0_u8; VERSION_ROOM];
        let mut length = 0;
        // SAFETY: no library writes more than VERSION_ROOM bytes.
        let code = unsafe { (self.library.functions.library_version)(text.as_mut_ptr().cast(), &raw mut length) };
        if code != 0 {
            return "unknown".to_owned();
        }
        text.truncate(usize::try_from(length).unwrap_or(0));
        let text = String::from_utf8_lossy(&text);
        let first = text.trim_end_matches('\0').lines().next().unwrap_or_default();
        first.split_whitespace().collect::<Vec<&str>>().join(" ")
    }

    /// Ends the processes of all ranks, for the case that this one cannot go on. May not return.
    pub fn abort_world(&self, exit_code: u8) {
        // SAFETY: the library is initialised. It may be called while operations are open.
        let _ = unsafe { (self.library.functions.abort)(self.library.handles.comm_world, c_int::from(exit_code)) };
    }

    /// Lets a panic of this process end those of all ranks, which would wait for it for ever.
    pub fn abort_on_panic(&self) {
        let (abort, world) = (self.library.functions.abort, self.library.handles.comm_world);
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            report(panic);
            // SAFETY: the library is initialised. It may be another thread than the one that calls it otherwise; what that could
            // break ends here.
            let _ = unsafe { abort(world, PANICKED) };
        }));
    }

    /// Leaves. Waits until all other ranks do, as most libraries have it: nothing may be open, and nobody lost.
    pub fn leave_world(self) -> Result<(), LinkError> {
        // SAFETY: the library is initialised; taking the link has made sure that nothing is called behind this.
        check_code("MPI_Finalize", unsafe { (self.library.functions.finalize)() })
    }

    fn world(&self) -> Raw {
        self.library.handles.comm_world
    }

    /// Whether a request has ended.
    fn has_ended(&self, request: &mut Request) -> Result<bool, LinkError> {
        let mut ended = 0;
        // SAFETY: the request is one that the library made and that has not ended, or its value for none, which counts as ended.
        let code =
            unsafe { (self.library.functions.test)(request, &raw mut ended, self.library.handles.status_ignore) };
        check_code("MPI_Test", code)?;
        Ok(ended != 0)
    }

    fn start_sending(&mut self, to: usize, tag: c_int, bytes: Vec<u8>) -> Result<(), LinkError> {
        let mut pending = Pending { request: 0, given: bytes, taken: Vec::new() };
        let (count, receiver) = (count_of(pending.given.len())?, count_of(to)?);
        let (functions, handles) = (&self.library.functions, &self.library.handles);
        // SAFETY: the bytes stay where they are, in `sent`, until the request has ended.
        let code = unsafe {
            (functions.isend)(
                pending.given.as_ptr().cast::<c_void>(),
                count,
                handles.byte,
                receiver,
                tag,
                handles.comm_world,
                &raw mut pending.request,
            )
        };
        check_code("MPI_Isend", code)?;
        self.sent.push(pending);
        Ok(())
    }

    fn start_receiving(&self, from: c_int, tag: c_int, room: usize) -> Result<Pending, LinkError> {
        let mut pending = Pending { request: 0, given: Vec::new(), taken: vec![0; room] };
        let (functions, handles) = (&self.library.functions, &self.library.handles);
        // SAFETY: the room stays where it is, in `receiving`, until the request has ended.
        let code = unsafe {
            (functions.irecv)(
                pending.taken.as_mut_ptr().cast::<c_void>(),
                count_of(room)?,
                handles.byte,
                from,
                tag,
                handles.comm_world,
                &raw mut pending.request,
            )
        };
        check_code("MPI_Irecv", code)?;
        Ok(pending)
    }

    /// Whether the head of a message is here.
    fn head_is_here(&self) -> Result<bool, LinkError> {
        let (functions, handles) = (&self.library.functions, &self.library.handles);
        let mut is_here = 0;
        // SAFETY: it writes one integer, and no status.
        let code = unsafe {
            (functions.iprobe)(
                handles.any_source,
                HEAD_TAG,
                handles.comm_world,
                &raw mut is_here,
                handles.status_ignore,
            )
        };
        check_code("MPI_Iprobe", code)?;
        Ok(is_here != 0)
    }

    /// Goes on with a head that has arrived: the message, where it is whole.
    fn read_head(&mut self, head: Vec<u8>) -> Result<Option<Message>, LinkError> {
        let (from, length) = (number_at(&head, 0), number_at(&head, 8));
        let (Ok(from), Ok(length)) = (usize::try_from(from), usize::try_from(length)) else {
            return Err(LinkError { what: "a message with a wrong head has arrived".to_owned() });
        };
        let begin = head[HEAD..HEAD + length.min(HEAD_ROOM)].to_vec();
        if length <= HEAD_ROOM {
            return Ok(Some(Message { from, bytes: begin }));
        }
        let pending = self.start_receiving(count_of(from)?, BODY_TAG, length - HEAD_ROOM)?;
        self.receiving = Receiving::Body { pending, from, begin };
        Ok(None)
    }

    /// Gives an operation of all ranks to the library.
    fn start_collective(&self, operation: &Collective, pending: &mut Pending) -> Result<(), LinkError> {
        let (functions, handles, world) = (&self.library.functions, &self.library.handles, self.world());
        let (given, taken) = (pending.given.as_ptr().cast::<c_void>(), pending.taken.as_mut_ptr().cast::<c_void>());
        let request = &raw mut pending.request;
        let bytes = count_of(pending.given.len())?;
        let numbers = bytes / 8;
        // SAFETY: what the library reads and writes stays where it is, in `collective`, until the request has ended; `taken` has
        // the size that `room_for` says, which is what the operation gives to this rank.
        let (name, code) = unsafe {
            match operation {
                Collective::Barrier => ("MPI_Ibarrier", (functions.ibarrier)(world, request)),
                Collective::Broadcast(_) => {
                    ("MPI_Ibcast", (functions.ibcast)(taken, bytes, handles.byte, 0, world, request))
                }
                Collective::Gather(_) => (
                    "MPI_Igather",
                    (functions.igather)(given, bytes, handles.byte, taken, bytes, handles.byte, 0, world, request),
                ),
                Collective::Sum(_) => (
                    "MPI_Ireduce",
                    (functions.ireduce)(given, taken, numbers, handles.uint64, handles.sum, 0, world, request),
                ),
                Collective::Maximum(_) => (
                    "MPI_Ireduce",
                    (functions.ireduce)(given, taken, numbers, handles.uint64, handles.max, 0, world, request),
                ),
                Collective::MaximumForAll(_) => (
                    "MPI_Iallreduce",
                    (functions.iallreduce)(given, taken, numbers, handles.uint64, handles.max, world, request),
                ),
            }
        };
        check_code(name, code)
    }

    /// How many bytes an operation gives to this rank.
    fn room_for(&self, operation: &Collective, given: usize) -> usize {
        match operation {
            Collective::Barrier => 0,
            Collective::Gather(_) if self.own_rank == 0 => given * self.world_size,
            Collective::Gather(_) => 0,
            Collective::Broadcast(_) | Collective::Sum(_) | Collective::Maximum(_) | Collective::MaximumForAll(_) => {
                given
            }
        }
    }
}

impl Link for MpiLink {
    fn own_rank(&self) -> usize {
        self.own_rank
    }

    fn world_size(&self) -> usize {
        self.world_size
    }

    fn send_message(&mut self, to: usize, mut bytes: Vec<u8>) -> Result<(), LinkError> {
        let length = bytes.len();
        let mut head = Vec::with_capacity(HEAD + length.min(HEAD_ROOM));
        head.extend((self.own_rank as u64).to_le_bytes());
        head.extend((length as u64).to_le_bytes());
        head.extend(&bytes[..length.min(HEAD_ROOM)]);
        self.start_sending(to, HEAD_TAG, head)?;
        if length > HEAD_ROOM {
            self.start_sending(to, BODY_TAG, bytes.split_off(HEAD_ROOM))?;
        }
        Ok(())
    }

    fn next_message(&mut self) -> Result<Option<Message>, LinkError> {
        if matches!(self.receiving, Receiving::Nothing) && self.head_is_here()? {
            let head = self.start_receiving(self.library.handles.any_source, HEAD_TAG, HEAD + HEAD_ROOM)?;
            self.receiving = Receiving::Head(head);
        }
        match std::mem::replace(&mut self.receiving, Receiving::Nothing) {
            Receiving::Nothing => Ok(None),
            Receiving::Head(mut pending) => {
                if self.has_ended(&mut pending.request)? {
                    return self.read_head(pending.taken);
                }
                self.receiving = Receiving::Head(pending);
                Ok(None)
            }
            Receiving::Body { mut pending, from, mut begin } => {
                if self.has_ended(&mut pending.request)? {
                    begin.append(&mut pending.taken);
                    return Ok(Some(Message { from, bytes: begin }));
                }
                self.receiving = Receiving::Body { pending, from, begin };
                Ok(None)
            }
        }
    }

    fn begin_collective(&mut self, operation: Collective) -> Result<(), LinkError> {
        if self.collective.is_some() {
            return Err(LinkError { what: "an operation of all ranks was begun within another".to_owned() });
        }
        operation.check_numbers()?;
        let given = as_bytes(&operation);
        let mut taken = vec![0; self.room_for(&operation, given.len())];
        if matches!(operation, Collective::Broadcast(_)) {
            taken.copy_from_slice(&given);
        }
        let mut pending = Pending { request: 0, given, taken };
        self.start_collective(&operation, &mut pending)?;
        self.collective = Some(OpenCollective { pending, operation });
        Ok(())
    }

    fn collective_result(&mut self) -> Result<Option<Collective>, LinkError> {
        let Some(mut open) = self.collective.take() else { return Ok(None) };
        if !self.has_ended(&mut open.pending.request)? {
            self.collective = Some(open);
            return Ok(None);
        }
        let is_root = self.own_rank == 0;
        let taken = open.pending.taken;
        Ok(Some(match open.operation {
            Collective::Broadcast(_) => Collective::Broadcast(taken),
            Collective::Gather(_) if is_root => Collective::Gather(taken),
            Collective::Sum(_) if is_root => Collective::Sum(as_numbers(&taken)),
            Collective::Maximum(_) if is_root => Collective::Maximum(as_numbers(&taken)),
            Collective::MaximumForAll(_) => Collective::MaximumForAll(as_numbers(&taken)),
            own => own,
        }))
    }

    fn all_has_left(&mut self) -> Result<bool, LinkError> {
        let mut under_way = Vec::new();
        for mut pending in std::mem::take(&mut self.sent) {
            if !self.has_ended(&mut pending.request)? {
                under_way.push(pending);
            }
        }
        self.sent = under_way;
        Ok(self.sent.is_empty())
    }

    fn tell_user(&self, text: &str) {
        (self.tell)(text);
    }
}

impl Drop for MpiLink {
    /// What the library may still read or write is left to it.
    fn drop(&mut self) {
        std::mem::forget(std::mem::take(&mut self.sent));
        std::mem::forget(std::mem::replace(&mut self.receiving, Receiving::Nothing));
        std::mem::forget(self.collective.take());
    }
}

fn check_code(function: &str, code: c_int) -> Result<(), LinkError> {
    match code {
        0 => Ok(()),
        code => Err(LinkError { what: format!("{function} failed with code {code}") }),
    }
}

/// A length or a rank as MPI wants it.
fn count_of(number: usize) -> Result<c_int, LinkError> {
    c_int::try_from(number).map_err(|_| LinkError { what: format!("{number} is too large for a message") })
}

/// The number at a place of a head.
fn number_at(head: &[u8], place: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| head[place + byte]))
}

/// What a rank gives to an operation, as its processor holds it: all ranks must have the same order of bytes.
fn as_bytes(operation: &Collective) -> Vec<u8> {
    match operation {
        Collective::Barrier => Vec::new(),
        Collective::Broadcast(bytes) | Collective::Gather(bytes) => bytes.clone(),
        Collective::Sum(numbers) | Collective::Maximum(numbers) | Collective::MaximumForAll(numbers) => {
            numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
        }
    }
}

fn as_numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|eight| u64::from_ne_bytes(std::array::from_fn(|byte| eight[byte]))).collect()
}
