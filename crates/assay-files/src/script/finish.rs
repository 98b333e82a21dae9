//! What follows from the result of a call: what the ledger knows then, and what an error means.

use super::call::{Call, Payload, Slot, Target};
use super::running::Running;
use super::{Kept, LEADS_OUT, Script};
use crate::ledger::Kind;
use assay_base::Code;
use assay_model::files::{Operation, Pick};

impl Script {
    /// Takes the result of a client's call: the bytes that it moved, or its error. The answer is the error as it is to
    /// be counted: of what exists, that it is not there is [`Code::LOST`]; of what does not, that it is there is
    /// [`Code::FOREIGN`]. After an error, the client closes what the sequence has opened and the sequence ends.
    pub fn finish_call(&mut self, client: u32, result: Result<u64, Code>) -> Result<(), Code> {
        let mut running =
            self.clients[client as usize].running.take().expect("a client that made a call has a sequence");
        let call = running.call.take().expect("a result belongs to a call");
        let counted = match self.meaning(client, &running, &call, result) {
            Ok(moved) => {
                self.apply(client, &mut running, &call, moved);
                Ok(())
            }
            Err(code) => {
                self.apply_failure(client, &mut running, &call, code);
                Err(code)
            }
        };
        self.clients[client as usize].running = Some(running);
        counted
    }

    fn meaning(&self, client: u32, running: &Running, call: &Call, result: Result<u64, Code>) -> Result<u64, Code> {
        match result {
            // A symbolic link whose file was taken away is followed to nothing.
            Err(Code::ENOENT) if follows_links(call.operation) && self.leads_nowhere(call.target) => Ok(0),
            Err(Code::ENOENT) => Err(Code::LOST),
            // An earlier call made it that had said that it failed.
            Err(Code::EEXIST) if new_number(call).is_some_and(|new| self.ledger.is_doubtful(new)) => Err(Code::EEXIST),
            Err(Code::EEXIST) => Err(Code::FOREIGN),
            // A file without the attribute answers that it has none.
            Err(Code::ENODATA) if call.operation == Operation::Getxattr && !self.has_attribute(call.target) => Ok(0),
            Err(code) => Err(code),
            Ok(moved) if self.is_short(client, running, call, moved) => Err(Code::LOST),
            Ok(0) if call.operation.writes_bytes() && call.length > 0 => Err(Code::EIO),
            Ok(moved) => Ok(moved),
        }
    }

    /// Whether a read ended before the end that an own file has. The end of others' files may be on the move.
    fn is_short(&self, client: u32, running: &Running, call: &Call, moved: u64) -> bool {
        let is_read = matches!(call.operation, Operation::Read | Operation::MmapRead);
        let Target::Numbered(number) = call.target else { return false };
        let is_on_own = self.sequence_of(running).is_none_or(|sequence| sequence.pick == Pick::Own);
        if !is_read || self.ledger.owner(number) != client || !is_on_own {
            return false;
        }
        moved < call.length.min(self.size_of(call.target).saturating_sub(call.offset))
    }

    /// Whether this is a symbolic link that leads to a name which nothing has, or of which nobody knows.
    fn leads_nowhere(&self, target: Target) -> bool {
        let node = self.node_of(target).map(|node| self.ledger.node(node));
        let Some(link) = node.filter(|node| node.kind == Kind::Symlink) else { return false };
        let led_to = u32::try_from(link.size).ok().and_then(|number| self.ledger.node_of(number));
        led_to.is_none_or(|node| node.is_unsure())
    }

    fn has_attribute(&self, target: Target) -> bool {
        self.node_of(target).is_some_and(|node| self.ledger.node(node).has_attribute())
    }

    /// A call has succeeded.
    fn apply(&mut self, client: u32, running: &mut Running, call: &Call, moved: u64) {
        match call.operation {
            Operation::Open | Operation::Create => self.open_slot(client, running, call),
            Operation::Close => self.close_slot(client, running, call.slot),
            _ => {}
        }
        match call.target {
            Target::Numbered(number) => self.apply_to_name(running, call, number),
            Target::Shared(_) | Target::Directory(_) => {}
        }
        self.apply_to_bytes(call, moved);
        running.progress += match call.operation {
            // The steps of a copy are counted, not their bytes.
            Operation::CopyRange => 1,
            Operation::Open if matches!(call.slot, Slot::Kept(_)) => 0,
            // The file ends here, earlier than the ledger knew: its owner may have cut it meanwhile.
            Operation::Read | Operation::MmapRead if moved == 0 => call.length.max(1),
            operation if operation.moves_bytes() => moved,
            _ => call.length.max(1),
        };
    }

    fn open_slot(&mut self, client: u32, running: &mut Running, call: &Call) {
        let Slot::Kept(slot) = call.slot else { return running.open.push(call.slot) };
        let Some(bound) = running.bound.as_mut() else { return };
        bound.opens_first = false;
        let Some(sequence) = running.sequence else { return };
        let kept = Kept { sequence, list: running.list, target: call.target, slot };
        self.clients[client as usize].kept.push(kept);
    }

    /// A descriptor is closed, whether close says that it failed or not.
    fn close_slot(&mut self, client: u32, running: &mut Running, slot: Slot) {
        running.open.retain(|open| *open != slot);
        let Slot::Kept(slot) = slot else { return };
        let kept = &mut self.clients[client as usize].kept;
        let Some(at) = kept.iter().position(|kept| kept.slot == slot) else { return };
        let target = kept.remove(at).target;
        self.release_own(client, target);
    }

    /// Lets a name be picked again that its owner kept open. What a client keeps open of others was not held for it.
    fn release_own(&mut self, client: u32, target: Target) {
        if let Target::Numbered(number) = target
            && self.ledger.owner(number) == client
        {
            self.ledger.release(number);
        }
    }

    /// What a call does to names.
    fn apply_to_name(&mut self, running: &mut Running, call: &Call, number: u32) {
        match (call.operation, call.other) {
            (Operation::Create | Operation::Mknod, _) => {
                self.ledger.make(number, Kind::File, 0);
            }
            (Operation::Mkdir, _) => {
                self.ledger.make(number, Kind::Directory, 0);
            }
            (Operation::Symlink, other) => {
                self.ledger.make(number, Kind::Symlink, other.map_or(LEADS_OUT, u64::from));
            }
            (Operation::Rename, Some(other)) => {
                self.ledger.rename(number, other);
                if let Some(bound) = running.bound.as_mut() {
                    bound.target = Target::Numbered(other);
                }
            }
            (Operation::Link, Some(other)) => {
                let node = self.ledger.node_number(number).expect("what was linked exists");
                self.ledger.add_name(other, node);
            }
            (Operation::Unlink | Operation::Rmdir, _) => self.ledger.remove_name(number),
            _ => {}
        }
    }

    /// What a call does to the bytes and attributes of a file.
    fn apply_to_bytes(&mut self, call: &Call, moved: u64) {
        let Some(node) = self.node_of(call.target) else { return };
        match (call.operation, call.payload) {
            (_, Payload::Version(version)) => self.ledger.end_write(node, call.offset..call.offset + moved, version),
            (_, Payload::Record(record)) => {
                let of_client = &mut self.appended[record.file as usize][record.client as usize];
                of_client.next += 1;
                if moved < call.length {
                    of_client.unsure.insert(record.number);
                }
                let size = self.ledger.node(node).size;
                self.ledger.resize(node, size + moved);
            }
            (Operation::Truncate, _) => self.ledger.resize(node, call.offset),
            (Operation::Fallocate, _) => self.ledger.resize(node, call.offset + call.length),
            (Operation::Punch, _) => self.ledger.punch(node, call.offset..call.offset + call.length),
            (Operation::CopyRange, _) => {
                if let Some(from) = call.other.and_then(|number| self.ledger.node_number(number)) {
                    self.ledger.copy(from, node, 0..moved);
                }
            }
            (Operation::Setxattr, _) => self.ledger.set_attribute(node),
            _ => {}
        }
    }

    /// A call has failed: what it would have changed is unsure from now on, and the sequence ends.
    fn apply_failure(&mut self, client: u32, running: &mut Running, call: &Call, code: Code) {
        running.is_abandoned = true;
        match (call.operation, call.slot) {
            (Operation::Close, slot) => self.close_slot(client, running, slot),
            // It does not stay open, and can be picked by others again.
            (Operation::Open, Slot::Kept(_)) => self.release_own(client, call.target),
            _ => {}
        }
        if let Some(new) = new_number(call).filter(|new| self.ledger.node_number(*new).is_none()) {
            self.give_back_new(new, code);
        }
        let makes = makes_target(call.operation);
        let closes = call.operation == Operation::Close;
        if !(call.operation.changes_something() || closes || code == Code::LOST) || makes {
            return;
        }
        if let Payload::Record(record) = call.payload {
            let of_client = &mut self.appended[record.file as usize][record.client as usize];
            of_client.next += 1;
            of_client.unsure.insert(record.number);
            return;
        }
        match call.target {
            Target::Numbered(number) => {
                self.ledger.mark_unsure(number);
                if matches!(call.slot, Slot::Kept(_)) && !running.open.contains(&call.slot) {
                    // It is closed with the rest that the sequence has open.
                    running.open.extend(self.is_kept(client, call.slot).then_some(call.slot));
                }
            }
            Target::Shared(file) => self.ledger.mark_node_unsure(self.shared[file as usize]),
            Target::Directory(_) => {}
        }
        if let Some(other) = call.other.filter(|_| call.operation == Operation::Rename) {
            self.ledger.mark_unsure(other);
        }
    }

    /// Gives back the number of a name that a failed call should have given.
    fn give_back_new(&mut self, new: u32, code: Code) {
        match code {
            // A number whose name something else has is not used again.
            Code::FOREIGN | Code::EEXIST => {}
            _ => {
                self.ledger.mark_doubtful(new);
                self.ledger.give_back(new);
            }
        }
    }

    fn is_kept(&self, client: u32, slot: Slot) -> bool {
        self.clients[client as usize].kept.iter().any(|kept| Slot::Kept(kept.slot) == slot)
    }
}

/// Whether an operation makes what its target names.
fn makes_target(operation: Operation) -> bool {
    matches!(operation, Operation::Create | Operation::Mknod | Operation::Mkdir | Operation::Symlink)
}

/// The number that a call gives to something.
fn new_number(call: &Call) -> Option<u32> {
    match (call.operation, call.target) {
        (operation, Target::Numbered(number)) if makes_target(operation) => Some(number),
        (Operation::Link | Operation::Rename, _) => call.other,
        _ => None,
    }
}

/// Whether an operation on a name of a symbolic link is on what the link leads to.
fn follows_links(operation: Operation) -> bool {
    matches!(operation, Operation::Access | Operation::Stat | Operation::Open)
}
