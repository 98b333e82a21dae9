//! The site's MPI library, loaded at run time: one program serves all families ([`Family`]), and none is needed to build it.

use super::family::{Constants, Family, Handle};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

/// A handle, as a register holds it. MPICH's are 32 bits wide, of which the callee reads these; the others' are pointers.
pub(super) type Raw = usize;
/// Room for a request of any family.
pub(super) type Request = usize;

/// How a library was looked for, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotLoaded {
    /// Each name that was tried, with what the loader said of it.
    pub tried: Vec<(String, String)>,
}

/// The functions that are called, as C declares them but for handles.
pub(super) struct Functions {
    pub init_thread: unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int,
    pub comm_rank: unsafe extern "C" fn(Raw, *mut c_int) -> c_int,
    pub comm_size: unsafe extern "C" fn(Raw, *mut c_int) -> c_int,
    pub library_version: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int,
    pub set_errhandler: unsafe extern "C" fn(Raw, Raw) -> c_int,
    pub isend: unsafe extern "C" fn(*const c_void, c_int, Raw, c_int, c_int, Raw, *mut Request) -> c_int,
    pub irecv: unsafe extern "C" fn(*mut c_void, c_int, Raw, c_int, c_int, Raw, *mut Request) -> c_int,
    pub iprobe: unsafe extern "C" fn(c_int, c_int, Raw, *mut c_int, Raw) -> c_int,
    pub test: unsafe extern "C" fn(*mut Request, *mut c_int, Raw) -> c_int,
    pub ibarrier: unsafe extern "C" fn(Raw, *mut Request) -> c_int,
    pub ibcast: unsafe extern "C" fn(*mut c_void, c_int, Raw, c_int, Raw, *mut Request) -> c_int,
    pub igather:
        unsafe extern "C" fn(*const c_void, c_int, Raw, *mut c_void, c_int, Raw, c_int, Raw, *mut Request) -> c_int,
    pub ireduce: unsafe extern "C" fn(*const c_void, *mut c_void, c_int, Raw, Raw, c_int, Raw, *mut Request) -> c_int,
    pub iallreduce: unsafe extern "C" fn(*const c_void, *mut c_void, c_int, Raw, Raw, Raw, *mut Request) -> c_int,
    pub abort: unsafe extern "C" fn(Raw, c_int) -> c_int,
    pub finalize: unsafe extern "C" fn() -> c_int,
}

/// The constants of the family, with the addresses that this library has for them.
pub(super) struct Handles {
    pub comm_world: Raw,
    pub byte: Raw,
    pub uint64: Raw,
    pub sum: Raw,
    pub max: Raw,
    pub errors_return: Raw,
    pub status_ignore: Raw,
    pub thread_funneled: c_int,
    pub any_source: c_int,
}

/// A library that is loaded, and stays so until the process ends.
pub struct Library {
    /// Its family.
    pub family: Family,
    /// Where it was found: a path, or the name that the loader knows it by.
    pub path: PathBuf,
    pub(super) functions: Functions,
    pub(super) handles: Handles,
}

impl Library {
    /// Loads the first of these that can be loaded and has all functions.
    pub fn load_first(candidates: &[PathBuf]) -> Result<Library, NotLoaded> {
        let mut tried = Vec::new();
        for path in candidates {
            match Library::load(path) {
                Ok(library) => return Ok(library),
                Err(why) => tried.push((path.display().to_string(), why)),
            }
        }
        Err(NotLoaded { tried })
    }

    fn load(path: &Path) -> Result<Library, String> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let own_family = Family::of_file_name(name);
        let opened = Opened::open_file(path)?;
        // A link such as libmpi.so says nothing of its family; the objects of Open MPI do.
        let family = own_family.unwrap_or_else(|| opened.likely_family());
        Ok(Library {
            family,
            path: path.to_owned(),
            functions: opened.functions()?,
            handles: opened.handles(&family.constants())?,
        })
    }
}

/// A handle of the loader. It is never closed: what was loaded may have threads.
struct Opened(*mut c_void);

impl Opened {
    fn open_file(path: &Path) -> Result<Opened, String> {
        let name =
            CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| "a name with a NUL byte".to_owned())?;
        // SAFETY: the name is a C string. Loading runs the library's constructors, which is what a program that is linked with
        // it does. Open MPI loads parts of itself, which look for its symbols among those of all: hence RTLD_GLOBAL.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if handle.is_null() { Err(loader_error()) } else { Ok(Opened(handle)) }
    }

    fn likely_family(&self) -> Family {
        if self.find_symbol(c"ompi_mpi_comm_world").is_ok() { Family::OpenMpi } else { Family::Mpich }
    }

    fn find_symbol(&self, name: &CStr) -> Result<*mut c_void, String> {
        // SAFETY: the handle is open, and the name is a C string.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if address.is_null() { Err(format!("it has no {}", name.to_string_lossy())) } else { Ok(address) }
    }

    fn raw_handle(&self, handle: Handle) -> Result<Raw, String> {
        match handle {
            Handle::Value(value) => Ok(value),
            Handle::AddressOf(name) => Ok(self.find_symbol(name)? as Raw),
        }
    }

    fn handles(&self, constants: &Constants) -> Result<Handles, String> {
        Ok(Handles {
            comm_world: self.raw_handle(constants.comm_world)?,
            byte: self.raw_handle(constants.byte)?,
            uint64: self.raw_handle(constants.uint64)?,
            sum: self.raw_handle(constants.sum)?,
            max: self.raw_handle(constants.max)?,
            errors_return: self.raw_handle(constants.errors_return)?,
            status_ignore: constants.status_ignore,
            thread_funneled: constants.thread_funneled,
            any_source: constants.any_source,
        })
    }

    #[expect(clippy::missing_transmute_annotations, reason = "the types stand once, at the fields of Functions")]
    fn functions(&self) -> Result<Functions, String> {
        /// The function of this name, with the type of the field that it is for.
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: an address of a function becomes a pointer to a function of the type that MPI's standard gives it, in
                // which a handle is one register, whichever of its bits the library reads.
                unsafe { std::mem::transmute::<*mut c_void, _>(self.find_symbol($name)?) }
            };
        }
        Ok(Functions {
            init_thread: function!(c"MPI_Init_thread"),
            comm_rank: function!(c"MPI_Comm_rank"),
            comm_size: function!(c"MPI_Comm_size"),
            library_version: function!(c"MPI_Get_library_version"),
            set_errhandler: function!(c"MPI_Comm_set_errhandler"),
            isend: function!(c"MPI_Isend"),
            irecv: function!(c"MPI_Irecv"),
            iprobe: function!(c"MPI_Iprobe"),
            test: function!(c"MPI_Test"),
            ibarrier: function!(c"MPI_Ibarrier"),
            ibcast: function!(c"MPI_Ibcast"),
            igather: function!(c"MPI_Igather"),
            ireduce: function!(c"MPI_Ireduce"),
            iallreduce: function!(c"MPI_Iallreduce"),
            abort: function!(c"MPI_Abort"),
            finalize: function!(c"MPI_Finalize"),
        })
    }
}

/// What the loader says of its last failure.
fn loader_error() -> String {
    // SAFETY: dlerror returns a C string that is valid until the thread's next call of the loader, or null.
    let text = unsafe {
        let text = libc::dlerror();
        if text.is_null() { None } else { Some(CStr::from_ptr(text).to_string_lossy().into_owned()) }
    };
    text.unwrap_or_else(|| "the loader does not say why".to_owned())
}
