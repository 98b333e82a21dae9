//! What is read of the plan in a header after the run. The plan itself is the model's, and a log keeps all of it.
//!
//! A log may come from an older or a newer version, or from elsewhere: a member of an unexpected shape is as good as
//! absent, and never keeps the others from being read.

use assay_base::Span;
use serde::Deserialize;
use serde_json::Value;

/// The members of a plan that are read after the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanHead {
    /// The name of its workload.
    pub name: String,
    /// The streams, in the order of `Header::streams`.
    pub streams: Vec<PlannedStream>,
    /// The closed loops that several streams share.
    pub loops: Vec<PlannedLoop>,
    /// Streams whose figures are also shown together; none where one of the groups has an unexpected shape.
    pub groups: Vec<PlannedGroup>,
    /// The names of the workloads of tiles, such as `tile3/orders`, in the order of the plan; none in a run without tiles.
    pub tile_members: Vec<String>,
    /// What waits at the end of a window is on its way, if the schedule takes no longer than this for it.
    pub backlog: Span,
    /// Whether a window of a criterion that the end of the measurement cuts to less than half of its length says nothing.
    pub half_windows: bool,
    /// How long the disturbed part of a run goes on, for its criteria, after the mark that ends it.
    pub recovery_at_most: Span,
    /// Indices of the targets that the run uses through the page cache of the kernel.
    pub page_cached: Vec<u64>,
    /// Whether the run compares what it reads with what was written.
    pub verify: bool,
    /// Whether the run leaves what it seals for a later run to compare.
    pub sealed_only: bool,
}

impl PlanHead {
    /// Reads the plan of a header.
    pub fn parse(plan: &Value) -> PlanHead {
        PlanHead {
            name: member_or_default(plan, "name"),
            streams: list_elements(plan, "streams").iter().map(PlannedStream::parse).collect(),
            loops: list_elements(plan, "loops").iter().map(PlannedLoop::parse).collect(),
            groups: member_or_default(plan, "groups"),
            tile_members: names_of_members(&member_or_default(plan, "tiles")),
            backlog: member_or_default(plan, "backlog"),
            half_windows: member_or_default(plan, "half_windows"),
            recovery_at_most: member_or_default(plan, "recovery_at_most"),
            page_cached: list_elements(plan, "page_cache")
                .iter()
                .filter_map(|cached| member_or_default(cached, "target"))
                .collect(),
            verify: member_or_default(plan, "verify"),
            sealed_only: member_or_default(plan, "sealed_only"),
        }
    }

    /// The stream at this place of the header; `None` where the plan has none there.
    pub fn stream_at(&self, place: usize) -> Option<&PlannedStream> {
        self.streams.get(place)
    }

    /// When the stream at this place begins and ends: its loop decides for all of its streams.
    pub fn life_at(&self, place: usize) -> PlannedLife {
        let Some(stream) = self.streams.get(place) else { return PlannedLife::default() };
        let lasting = self.loop_of(stream).map_or(&stream.lasting, |shared| &shared.lasting);
        PlannedLife {
            start_ns: lasting.start.map_or(0, Span::as_ns),
            lasts_ns: lasting.lasts.map(Span::as_ns),
            after: lasting.awaited_names(),
            by_number: lasting.ends_by_number(),
            by_bytes: lasting.has_bytes,
            recorded: stream.is_recorded,
        }
    }

    /// Whether the stream at this place, or the loop that it belongs to, ends after a number of operations or bytes.
    pub fn ends_by_number(&self, place: usize) -> bool {
        self.streams.get(place).is_some_and(|stream| {
            stream.lasting.ends_by_number()
                || self.loop_of(stream).is_some_and(|shared| shared.lasting.ends_by_number())
        })
    }

    /// The loop that a stream belongs to.
    fn loop_of(&self, stream: &PlannedStream) -> Option<&PlannedLoop> {
        self.loops.iter().find(|shared| stream.looped.is_some() && shared.name == stream.looped)
    }
}

/// The life that the plan gives to a stream, or to the loop that the stream belongs to.
#[derive(Clone, Debug, Default)]
pub struct PlannedLife {
    /// When it begins in measured time, or how long after the end of the stream that it waits for.
    pub start_ns: u64,
    /// The time after its beginning at which it ends.
    pub lasts_ns: Option<u64>,
    /// The names of the streams and loops that it waits for.
    pub after: Option<String>,
    /// Whether it ends after a number of operations or bytes.
    pub by_number: bool,
    /// Whether it ends after a number of bytes.
    pub by_bytes: bool,
    /// Whether it plays a recording, whose reads and writes are streams of their own and last equally long.
    pub recorded: bool,
}

impl PlannedLife {
    /// Whether the stream begins or ends within the run.
    pub fn is_special(&self) -> bool {
        self.start_ns > 0 || self.lasts_ns.is_some() || self.after.is_some() || self.by_number
    }
}

/// A stream of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlannedStream {
    /// Its name.
    pub name: Option<String>,
    /// Where its operations go.
    pub address: PlannedAddress,
    /// Whether its writes are durable.
    pub durable: bool,
    /// All its members, as the plan has them.
    pub members: Value,
    /// The name of the closed loop that it belongs to.
    looped: Option<String>,
    /// Whether it plays a recording.
    is_recorded: bool,
    lasting: PlannedLasting,
}

impl PlannedStream {
    fn parse(stream: &Value) -> PlannedStream {
        let arrival = &stream["arrival"];
        PlannedStream {
            name: member_or_default(stream, "name"),
            address: PlannedAddress::parse(&stream["address"]),
            durable: member_or_default(stream, "durable"),
            looped: member_or_default(&arrival["looped"], "looped"),
            is_recorded: !arrival["recorded"].is_null(),
            lasting: PlannedLasting::parse(stream),
            members: stream.clone(),
        }
    }
}

/// What is read of the addresses of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlannedAddress {
    /// Operations lie behind each other, so that the kernel may merge neighbouring requests.
    Sequential,
    /// What the run has written is read back after the measured time.
    Written,
    /// Anything else.
    #[default]
    Other,
}

impl PlannedAddress {
    fn parse(address: &Value) -> PlannedAddress {
        match address.as_str() {
            Some("sequential" | "appended") => PlannedAddress::Sequential,
            Some("written") => PlannedAddress::Written,
            None if has_runs(address) => PlannedAddress::Sequential,
            _ => PlannedAddress::Other,
        }
    }
}

/// Whether one operation of an address that is described by several members lies behind another.
fn has_runs(address: &Value) -> bool {
    let is_in_bands = address.pointer("/bands/inside").is_some_and(|inside| inside == "sequential");
    is_in_bands
        || ["/runs", "/behind", "/asu/place/run", "/heat/run_lengths"]
            .iter()
            .any(|path| address.pointer(path).is_some())
}

/// Streams whose figures are also shown together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct PlannedGroup {
    /// Its name.
    pub name: String,
    /// The names of its streams.
    pub streams: Vec<String>,
}

/// A closed loop that several streams share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlannedLoop {
    name: Option<String>,
    lasting: PlannedLasting,
}

impl PlannedLoop {
    fn parse(shared: &Value) -> PlannedLoop {
        PlannedLoop { name: member_or_default(shared, "name"), lasting: PlannedLasting::parse(shared) }
    }
}

/// What decides when a stream or a loop begins and ends.
#[derive(Clone, Debug, Default, PartialEq)]
struct PlannedLasting {
    start: Option<Span>,
    lasts: Option<Span>,
    after: Option<String>,
    and_after: Vec<String>,
    operations: Option<u64>,
    /// Whether it ends after a number of bytes.
    has_bytes: bool,
}

impl PlannedLasting {
    fn parse(stream: &Value) -> PlannedLasting {
        PlannedLasting {
            start: member_or_default(stream, "start"),
            lasts: member_or_default(stream, "for"),
            after: member_or_default(stream, "after"),
            and_after: list_elements(stream, "and_after").iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            operations: member_or_default(stream, "operations"),
            has_bytes: !stream["bytes"].is_null(),
        }
    }

    fn ends_by_number(&self) -> bool {
        self.operations.is_some() || self.has_bytes
    }

    /// The names of all that it waits for.
    fn awaited_names(&self) -> Option<String> {
        let first = self.after.as_deref()?;
        let others = self.and_after.iter().map(String::as_str);
        Some(std::iter::once(first).chain(others).collect::<Vec<_>>().join(", "))
    }
}

/// A member of a part of a plan; its default where it is absent or has another shape.
fn member_or_default<'a, T: Deserialize<'a> + Default>(part: &'a Value, name: &str) -> T {
    T::deserialize(&part[name]).unwrap_or_default()
}

/// The names of the workloads of tiles.
fn names_of_members(tiles: &Value) -> Vec<String> {
    list_elements(tiles, "members").iter().filter_map(|member| member_or_default(member, "name")).collect()
}

/// The elements of a list in a part of a plan; none where it is absent or no list.
fn list_elements<'a>(part: &'a Value, name: &str) -> &'a [Value] {
    part[name].as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn addresses_that_lie_behind_each_other_are_sequential() {
        for (address, sequential) in [
            (json!("sequential"), true),
            (json!("appended"), true),
            (json!("uniform"), false),
            (json!({"runs": 4}), true),
            (json!({"behind": "writes"}), true),
            (json!({"asu": {"place": {"run": 8}}}), true),
            (json!({"asu": {"place": "uniform"}}), false),
            (json!({"bands": {"length": 65_536, "gap": 4096, "moved": 65_536, "inside": "sequential"}}), true),
            (
                json!({"bands": {"length": 65_536, "gap": 4096, "moved": 65_536, "inside": {"uniform": {"align": 0}}}}),
                false,
            ),
        ] {
            assert_eq!(PlannedAddress::parse(&address) == PlannedAddress::Sequential, sequential, "{address}");
        }
    }

    #[test]
    fn a_member_of_an_unexpected_shape_is_absent_and_the_others_are_read() {
        let plan = json!({
            "streams": [7, ["reads"], {"name": 5, "durable": "yes", "for": "soon", "after": "a", "and_after": [1, "b"]}],
            "loops": {"name": "mix"},
            "groups": [{"name": "all", "streams": ["reads"]}, {"name": 3}],
            "backlog": [],
            "half_windows": 1,
            "page_cache": [3, {"target": "a"}, {"target": 1}],
            "tiles": {"members": [1, {"name": 2}, {"name": "tile1/orders"}]},
            "verify": true,
        });
        let head = PlanHead::parse(&plan);
        assert_eq!((head.streams.len(), &head.streams[0].members), (3, &json!(7)));
        assert_eq!((&head.streams[1].name, &head.streams[2].name, head.streams[2].durable), (&None, &None, false));
        assert_eq!((head.life_at(2).lasts_ns, head.life_at(2).after.as_deref()), (None, Some("a, b")));
        assert_eq!(head.tile_members, ["tile1/orders"]);
        assert_eq!((head.groups.len(), head.backlog, head.half_windows), (0, Span::ZERO, false));
        assert!(head.verify && !head.sealed_only && head.loops.is_empty());
        assert_eq!(head.page_cached, [1]);
        for plan in [json!(null), json!([1]), json!("streams")] {
            assert_eq!(PlanHead::parse(&plan), PlanHead::default(), "{plan}");
        }
    }
}
