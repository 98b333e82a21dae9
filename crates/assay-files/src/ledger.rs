//! What exists: which names there are, what each of them is, how large it is and how many links it has.
//!
//! A name is a number, and a number belongs to one client: number n to client n modulo the number of clients. What a
//! name stands for is a node, because links and renames give one file several names or other ones. A name takes 8 bytes
//! and a node 16; only files that were overwritten in part, cut or punched take more.

use crate::extents::{Extents, Piece, Version};
use assay_base::Prng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// What a name can be; directories of the tree have no number.
pub use crate::own_dir::EntryKind as Kind;

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node {
    /// Bytes of a file; for a symbolic link, the number of the name that it leads to.
    pub size: u64,
    /// How often the contents were changed so that their places had other bytes before.
    pub generation: u32,
    /// Number of names.
    pub links: u16,
    /// What it is.
    pub kind: Kind,
    flags: u8,
}

/// A call on it failed, so that nobody knows what it contains, or whether it is there.
const UNSURE: u8 = 1;
/// It has the extended attribute.
const ATTRIBUTE: u8 = 2;

impl Node {
    /// Whether a failed call leaves open what it is.
    pub fn is_unsure(&self) -> bool {
        self.flags & UNSURE != 0
    }

    /// Whether it has the extended attribute.
    pub fn has_attribute(&self) -> bool {
        self.flags & ATTRIBUTE != 0
    }
}

/// How much exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// Names of files, directories and links.
    pub files: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Name {
    node: u32,
    /// Its place in the list of its client, or [`IN_NO_LIST`].
    place: u32,
}

const NOTHING: u32 = u32::MAX;
const IN_NO_LIST: u32 = u32::MAX;
const ABSENT: Name = Name { node: NOTHING, place: IN_NO_LIST };

/// The names of one client.
#[derive(Clone, Debug, Default)]
struct Names {
    /// Those that can be picked, by kind.
    listed: [Vec<u32>; 3],
    /// Numbers that were given back, the oldest first. Some of them may be in use again.
    free: VecDeque<u32>,
    /// The first number of this client that was never given out, divided by the number of clients.
    fresh: u32,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Ledger {
    clients: u32,
    names: Vec<Name>,
    nodes: Vec<Node>,
    free_nodes: Vec<u32>,
    of_clients: Vec<Names>,
    /// The pieces of files that have more than one version, or zeros.
    pieces: BTreeMap<u32, Extents>,
    /// Numbers whose name may be there, because the call that should make it failed.
    doubtful: BTreeSet<u32>,
}

impl Ledger {
    /// Nothing exists. Numbers below `reserved` are not given out to names that need a new one.
    pub fn new(clients: u32, reserved: u32) -> Ledger {
        let clients = clients.max(1);
        let mut of_clients = Vec::new();
        for client in 0..clients {
            of_clients.push(Names { fresh: reserved.saturating_sub(client).div_ceil(clients), ..Names::default() });
        }
        let (names, nodes, free_nodes) = (Vec::new(), Vec::new(), Vec::new());
        Ledger { clients, names, nodes, free_nodes, of_clients, pieces: BTreeMap::new(), doubtful: BTreeSet::new() }
    }

    /// The client that a number belongs to.
    pub fn owner(&self, number: u32) -> u32 {
        number % self.clients
    }

    /// The node of a name; `None` where nothing has that name.
    pub fn node_number(&self, number: u32) -> Option<u32> {
        self.names.get(number as usize).map(|name| name.node).filter(|node| *node != NOTHING)
    }

    /// What a name stands for.
    pub fn node_of(&self, number: u32) -> Option<&Node> {
        self.node_number(number).map(|node| &self.nodes[node as usize])
    }

    /// A node by its own number.
    pub fn node(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    /// Whether something of this kind has the name, and is what the ledger says.
    pub fn has(&self, number: u32, kind: Kind) -> bool {
        self.node_of(number).is_some_and(|node| node.kind == kind && !node.is_unsure())
    }

    /// Every name that exists, and its node, in the order of the numbers.
    pub fn all_names(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let present = self.names.iter().enumerate().filter(|(_, name)| name.node != NOTHING);
        present.map(|(number, name)| (number as u32, name.node))
    }

    /// What exists: names, and bytes of files.
    pub fn used(&self) -> Used {
        let mut used = Used { files: 0, bytes: 0 };
        for node in self.nodes.iter().filter(|node| node.links > 0) {
            used.files += u64::from(node.links);
            used.bytes += if node.kind == Kind::File { node.size } else { 0 };
        }
        used
    }

    /// The number behind the largest that was ever used.
    pub fn end_of_numbers(&self) -> u32 {
        self.names.len() as u32
    }

    /// How many names of a kind a client has that can be picked.
    pub fn number_of(&self, client: u32, kind: Kind) -> u64 {
        self.of_clients[client as usize].listed[kind as usize].len() as u64
    }

    /// A node without a name.
    pub fn make_node(&mut self, kind: Kind, size: u64) -> u32 {
        if let Some(node) = self.free_nodes.pop() {
            // Whatever an older file of this number contained is another version.
            let generation = self.nodes[node as usize].generation + 1;
            self.nodes[node as usize] = Node { size, generation, links: 0, kind, flags: 0 };
            return node;
        }
        self.nodes.push(Node { size, generation: 1, links: 0, kind, flags: 0 });
        (self.nodes.len() - 1) as u32
    }

    /// Makes something that nothing has the name of.
    pub fn make(&mut self, number: u32, kind: Kind, size: u64) -> u32 {
        let node = self.make_node(kind, size);
        self.add_name(number, node);
        node
    }

    /// Gives a node a name, which nothing has.
    pub fn add_name(&mut self, number: u32, node: u32) {
        if self.names.len() <= number as usize {
            self.names.resize(number as usize + 1, ABSENT);
        }
        assert_eq!(self.names[number as usize].node, NOTHING, "a name is given once");
        self.doubtful.remove(&number);
        self.names[number as usize].node = node;
        self.nodes[node as usize].links += 1;
        self.list(number);
    }

    /// Takes a name away. The node goes with its last name.
    pub fn remove_name(&mut self, number: u32) {
        let node = self.node_number(number).expect("a name that is removed exists");
        self.unlist(number);
        self.names[number as usize] = ABSENT;
        self.give_back(number);
        self.nodes[node as usize].links -= 1;
        if self.nodes[node as usize].links == 0 {
            self.pieces.remove(&node);
            self.free_nodes.push(node);
        }
    }

    /// Gives what has the name `from` the name `to`, whatever had that before.
    pub fn rename(&mut self, from: u32, to: u32) {
        let node = self.node_number(from).expect("what is renamed exists");
        if self.node_number(to) == Some(node) {
            // Two names of one file: rename does nothing (rename(2)).
            return;
        }
        if self.node_number(to).is_some() {
            self.remove_name(to);
        }
        self.add_name(to, node);
        self.remove_name(from);
    }

    fn list(&mut self, number: u32) {
        let kind = self.nodes[self.names[number as usize].node as usize].kind;
        let listed = &mut self.of_clients[(number % self.clients) as usize].listed[kind as usize];
        self.names[number as usize].place = listed.len() as u32;
        listed.push(number);
    }

    fn unlist(&mut self, number: u32) {
        let Name { node, place } = self.names[number as usize];
        if place == IN_NO_LIST {
            return;
        }
        let kind = self.nodes[node as usize].kind;
        let listed = &mut self.of_clients[(number % self.clients) as usize].listed[kind as usize];
        listed.swap_remove(place as usize);
        if let Some(moved) = listed.get(place as usize) {
            self.names[*moved as usize].place = place;
        }
        self.names[number as usize].place = IN_NO_LIST;
    }

    /// Takes a name out of those that can be picked, as long as a client keeps it open.
    pub fn hold(&mut self, number: u32) {
        self.unlist(number);
    }

    /// Lets a name be picked again.
    pub fn release(&mut self, number: u32) {
        if self.node_of(number).is_some_and(|node| !node.is_unsure()) && self.names[number as usize].place == IN_NO_LIST
        {
            self.list(number);
        }
    }

    /// A number of a client that nothing has, for a new name. It is given back if nothing gets it.
    pub fn take_number(&mut self, client: u32) -> u32 {
        while let Some(number) = self.of_clients[client as usize].free.pop_front() {
            if self.node_number(number).is_none() {
                return number;
            }
        }
        self.take_fresh_number(client, 0)
    }

    /// A number of a client that was never given out, and is not below `least`.
    pub fn take_fresh_number(&mut self, client: u32, least: u32) -> u32 {
        let of_client = &mut self.of_clients[client as usize];
        of_client.fresh = of_client.fresh.max(least.saturating_sub(client).div_ceil(self.clients));
        let number = u64::from(of_client.fresh) * u64::from(self.clients) + u64::from(client);
        of_client.fresh += 1;
        u32::try_from(number)
            .ok()
            .filter(|number| *number != NOTHING)
            .expect("a run has fewer names at a time than numbers")
    }

    /// Gives back a number that nothing has.
    pub fn give_back(&mut self, number: u32) {
        self.of_clients[(number % self.clients) as usize].free.push_back(number);
    }

    /// The call that should give something this name has failed: nobody knows whether it did.
    pub fn mark_doubtful(&mut self, number: u32) {
        self.doubtful.insert(number);
    }

    /// Whether something may have this name, although the ledger has nothing under it.
    pub fn is_doubtful(&self, number: u32) -> bool {
        self.doubtful.contains(&number)
    }

    /// One of the names of a kind that these clients have, all of which are equally likely.
    pub fn pick(&self, clients: Range<u32>, kind: Kind, prng: &mut Prng) -> Option<u32> {
        let total: u64 = clients.clone().map(|client| self.number_of(client, kind)).sum();
        if total == 0 {
            return None;
        }
        let mut drawn = prng.uniform_below(total);
        for client in clients {
            let listed = &self.of_clients[client as usize].listed[kind as usize];
            match listed.get(drawn as usize) {
                Some(number) => return Some(*number),
                None => drawn -= listed.len() as u64,
            }
        }
        unreachable!("the number drawn is below the sum of all lists")
    }

    /// From now on nobody knows what has this name. It is neither picked nor compared.
    pub fn mark_unsure(&mut self, number: u32) {
        let Some(node) = self.node_number(number) else { return };
        self.unlist(number);
        self.mark_node_unsure(node);
    }

    /// The same of a node.
    pub fn mark_node_unsure(&mut self, node: u32) {
        self.nodes[node as usize].flags |= UNSURE;
    }

    /// The node has the extended attribute.
    pub fn set_attribute(&mut self, node: u32) {
        self.nodes[node as usize].flags |= ATTRIBUTE;
    }

    /// A file that was not changed yet has the bytes of this version.
    pub fn set_version(&mut self, node: u32, version: Version) {
        let size = self.nodes[node as usize].size;
        if size > 0 {
            self.pieces.insert(node, Extents::whole(size, version));
        }
    }

    /// The pieces of a file's range.
    pub fn pieces(&self, node: u32, bytes: Range<u64>) -> Vec<Piece> {
        let Node { size, generation, .. } = self.nodes[node as usize];
        let bytes = bytes.start.min(size)..bytes.end.min(size);
        match self.pieces.get(&node) {
            Some(extents) => extents.pieces_of(bytes),
            None if bytes.is_empty() => Vec::new(),
            None => vec![Piece { bytes, version: Some(Version { file: node, generation }) }],
        }
    }

    /// The pieces of a file that is going to have more than one version.
    fn pieces_mut(&mut self, node: u32) -> &mut Extents {
        let Node { size, generation, .. } = self.nodes[node as usize];
        self.pieces.entry(node).or_insert_with(|| Extents::whole(size, Version { file: node, generation }))
    }

    /// The version that a write of these bytes has: a new one where there are bytes already.
    pub fn begin_write(&mut self, node: u32, bytes: &Range<u64>) -> Version {
        let overwrites = match self.pieces.get(&node) {
            Some(extents) => extents.has_some_of(bytes),
            None => !bytes.is_empty() && bytes.start < self.nodes[node as usize].size,
        };
        if overwrites {
            self.pieces_mut(node);
            self.nodes[node as usize].generation += 1;
        }
        Version { file: node, generation: self.nodes[node as usize].generation }
    }

    /// A write has succeeded.
    pub fn end_write(&mut self, node: u32, bytes: Range<u64>, version: Version) {
        let Node { size, generation, .. } = self.nodes[node as usize];
        let size_now = size.max(bytes.end);
        let is_plain = !self.pieces.contains_key(&node) && bytes.start == size && version.generation == generation;
        if !is_plain && !bytes.is_empty() {
            let extents = self.pieces_mut(node);
            extents.write(bytes, version);
            if extents.only_version(size_now) == Some(Version { file: node, generation }) {
                self.pieces.remove(&node);
            }
        }
        self.nodes[node as usize].size = size_now;
    }

    /// A file was cut, or grew by zeros.
    pub fn resize(&mut self, node: u32, size_now: u64) {
        let size = self.nodes[node as usize].size;
        if size_now == size {
            return;
        }
        self.pieces_mut(node).clear(size_now..size.max(size_now));
        if size_now < size {
            // What is written behind the cut is another version than what was there.
            self.nodes[node as usize].generation += 1;
        }
        self.nodes[node as usize].size = size_now;
        if size_now == 0 {
            self.pieces.remove(&node);
        }
    }

    /// Bytes of a file were given back, and read as zeros.
    pub fn punch(&mut self, node: u32, bytes: Range<u64>) {
        self.pieces_mut(node).clear(bytes);
        self.nodes[node as usize].generation += 1;
    }

    /// The bytes of another file were copied to the same place.
    pub fn copy(&mut self, from: u32, to: u32, bytes: Range<u64>) {
        let pieces = self.pieces(from, bytes);
        for Piece { bytes, version } in pieces {
            let end = bytes.end;
            match version {
                Some(version) => self.pieces_mut(to).write(bytes, version),
                None => self.pieces_mut(to).clear(bytes),
            }
            let size = self.nodes[to as usize].size;
            self.nodes[to as usize].size = size.max(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(ledger: &Ledger, node: u32) -> Vec<(Range<u64>, Option<u32>)> {
        let pieces = ledger.pieces(node, 0..u64::MAX);
        pieces.into_iter().map(|piece| (piece.bytes, piece.version.map(|version| version.generation))).collect()
    }

    fn write(ledger: &mut Ledger, node: u32, bytes: Range<u64>) {
        let version = ledger.begin_write(node, &bytes);
        ledger.end_write(node, bytes, version);
    }

    #[test]
    fn a_name_and_a_node_are_as_small_as_said() {
        assert_eq!((size_of::<Name>(), size_of::<Node>()), (8, 16));
    }

    #[test]
    fn links_and_renames_keep_the_node_and_its_last_name_takes_it_away() {
        let mut ledger = Ledger::new(4, 100);
        let node = ledger.make(5, Kind::File, 0);
        write(&mut ledger, node, 0..1000);
        let second = ledger.take_number(1);
        assert_eq!((second, ledger.owner(second)), (101, 1));
        ledger.add_name(second, node);
        assert_eq!((ledger.node(node).links, ledger.number_of(1, Kind::File)), (2, 2));
        ledger.rename(5, second);
        assert_eq!(ledger.node(node).links, 2, "two names of one file: nothing happens");
        ledger.remove_name(5);
        ledger.make(9, Kind::File, 0);
        ledger.rename(second, 9);
        assert_eq!(
            (ledger.node_number(9), ledger.node_number(second), ledger.node(node).size),
            (Some(node), None, 1000)
        );
        assert_eq!(ledger.all_names().collect::<Vec<_>>(), [(9, node)]);
        ledger.remove_name(9);
        let again = ledger.make(13, Kind::File, 0);
        assert!(ledger.node(again).generation > 1, "a node that is used again has other contents");
        // Numbers that were given back come again in their order, but not while they are in use.
        assert_eq!((ledger.take_number(1), ledger.take_number(1)), (5, 9));
        assert_eq!((ledger.take_fresh_number(2, 0), ledger.take_fresh_number(2, 111)), (102, 114));
    }

    #[test]
    fn writes_over_bytes_are_new_versions_and_appends_are_not() {
        let mut ledger = Ledger::new(1, 0);
        let node = ledger.make(0, Kind::File, 0);
        write(&mut ledger, node, 0..1000);
        write(&mut ledger, node, 1000..2000);
        assert_eq!(versions(&ledger, node), [(0..2000, Some(1))]);
        write(&mut ledger, node, 500..600);
        assert_eq!(versions(&ledger, node), [(0..500, Some(1)), (500..600, Some(2)), (600..2000, Some(1))]);
        write(&mut ledger, node, 2000..2100);
        assert_eq!(versions(&ledger, node).last(), Some(&(2000..2100, Some(2))));
        write(&mut ledger, node, 0..2100);
        assert_eq!((versions(&ledger, node), ledger.pieces.len()), (vec![(0..2100, Some(3))], 0));
        ledger.resize(node, 50);
        write(&mut ledger, node, 50..60);
        assert_eq!(versions(&ledger, node), [(0..50, Some(3)), (50..60, Some(4))]);
        ledger.resize(node, 0);
        write(&mut ledger, node, 0..10);
        assert_eq!((versions(&ledger, node), ledger.pieces.len()), (vec![(0..10, Some(5))], 0));
        ledger.resize(node, 20);
        assert_eq!(versions(&ledger, node), [(0..10, Some(5)), (10..20, None)]);
        write(&mut ledger, node, 30..40);
        assert_eq!(versions(&ledger, node)[1..], [(10..30, None), (30..40, Some(5))]);
        ledger.punch(node, 0..5);
        write(&mut ledger, node, 0..5);
        assert_eq!(versions(&ledger, node)[0], (0..5, Some(6)));
    }

    #[test]
    fn a_copy_has_the_versions_of_its_source() {
        let mut ledger = Ledger::new(1, 0);
        let (from, to) = (ledger.make(0, Kind::File, 0), ledger.make(1, Kind::File, 0));
        write(&mut ledger, from, 0..100);
        write(&mut ledger, from, 20..30);
        let size = ledger.node(from).size;
        ledger.copy(from, to, 0..size);
        assert_eq!(ledger.pieces(from, 0..100), ledger.pieces(to, 0..100));
        assert_eq!(ledger.node(to).size, 100);
    }

    #[test]
    fn what_is_held_or_unsure_is_not_picked() {
        let mut ledger = Ledger::new(2, 0);
        for number in 0..10 {
            ledger.make(number, Kind::File, 0);
        }
        ledger.hold(3);
        ledger.mark_unsure(4);
        ledger.release(4);
        let mut prng = Prng::from_seed(1);
        let mut picked: Vec<u32> = (0..1000).map(|_| ledger.pick(0..2, Kind::File, &mut prng).unwrap()).collect();
        picked.sort_unstable();
        picked.dedup();
        assert_eq!(picked, [0, 1, 2, 5, 6, 7, 8, 9]);
        ledger.release(3);
        assert_eq!((ledger.number_of(1, Kind::File), ledger.number_of(0, Kind::File)), (5, 4));
        assert!(ledger.pick(0..2, Kind::Directory, &mut prng).is_none());
        assert!(!ledger.has(4, Kind::File) && ledger.has(3, Kind::File));
    }
}
