"""File systems of our own for the servers of the benchmarks: on a file, or on a disk in memory that delays. Imported, not run."""

import contextlib
import os
import shutil
import subprocess
import tempfile


class Missing(Exception):
    """What this machine lacks."""


def succeeds(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode:
        raise Missing(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def needs(program, package):
    if shutil.which(program) is None:
        raise Missing(f"{program} is not installed (package {package})")


@contextlib.contextmanager
def mounted_ext4(work, image):
    """A mounted ext4 over a loop device with direct I/O on this file."""
    if os.geteuid():
        raise Missing("only root may mount a file system")
    device = succeeds("losetup", "-f", "--show", "--direct-io=on", image)
    try:
        succeeds("mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
        point = tempfile.mkdtemp(prefix="ext4.", dir=work)
        os.chmod(work, 0o755)
        os.chmod(point, 0o755)
        succeeds("mount", device, point)
        try:
            yield point
        finally:
            subprocess.run(["umount", "-l", point])
    finally:
        subprocess.run(["losetup", "-d", device])


@contextlib.contextmanager
def plain_disk(work, mebibytes):
    """An ext4 on a file."""
    image = os.path.join(work, "disk.image")
    with open(image, "wb") as file:
        file.truncate(mebibytes << 20)
    try:
        with mounted_ext4(work, image) as point:
            yield point
    finally:
        os.unlink(image)


class DelayingDisk:
    """A disk in memory whose delays are set while it runs."""

    def __init__(self, mount):
        self.mount = mount

    def set(self, **faults):
        with open(os.path.join(self.mount, "ctl"), "w") as control:
            control.write("".join(f"{key}={value}\n" for key, value in faults.items()))


def delaying_program(assay):
    """The program of assay-faultfs: beside ours, where FAULTFS names it, or built now."""
    beside = os.path.join(os.path.dirname(assay), "faultfs")
    program = os.environ.get("FAULTFS", beside)
    if not os.path.exists(program):
        if os.environ.get("SCALE") == "smoke":
            raise Missing(f"{program} is not built (cargo build -p assay-faultfs)")
        succeeds("cargo", "build", "--quiet", "--release", "-p", "assay-faultfs", "--bin", "faultfs")
        program = "target/release/faultfs"
    return os.path.abspath(program)


@contextlib.contextmanager
def delaying_disk(work, mebibytes, assay):
    """An ext4 on a disk that delays, and that disk."""
    mount = tempfile.mkdtemp(prefix="delaying.", dir=work)
    program = [delaying_program(assay), mount, "--size", f"{mebibytes}MiB"]
    process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        disk = process.stdout.readline().strip()
        if not disk:
            raise Missing(process.stderr.read().strip())
        with mounted_ext4(work, disk) as point:
            yield point, DelayingDisk(mount)
    finally:
        process.terminate()
        process.wait()
