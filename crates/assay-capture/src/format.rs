//! Where the fields of an event lie: the kernel's description of it, the file `format` of each event.

use assay_base::Direction;
use assay_model::observed::Asked;

/// A field of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Field {
    offset: usize,
    size: usize,
}

impl Field {
    /// Its value as a number, in the order of bytes of this machine.
    fn number_in(self, data: &[u8]) -> Option<u64> {
        let bytes = data.get(self.offset..self.offset.checked_add(self.size)?)?;
        match *bytes {
            [a] => Some(a.into()),
            [a, b] => Some(u16::from_ne_bytes([a, b]).into()),
            [a, b, c, d] => Some(u32::from_ne_bytes([a, b, c, d]).into()),
            [a, b, c, d, e, f, g, h] => Some(u64::from_ne_bytes([a, b, c, d, e, f, g, h])),
            _ => None,
        }
    }

    /// Its value as text, up to a byte of zero.
    fn text_in(self, data: &[u8]) -> Option<&[u8]> {
        let bytes = data.get(self.offset..self.offset.checked_add(self.size)?)?;
        bytes.split(|byte| *byte == 0).next()
    }
}

/// An event of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventFormat {
    /// The number by which the kernel names the event in its pages.
    pub id: u16,
    sector: Field,
    sectors: Field,
    bytes: Option<Field>,
    letters: Field,
}

/// A request as an event has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestEvent {
    /// What it asks for; `None` for what moves nothing, such as the reset of a zone.
    pub asked: Option<Asked>,
    /// Its first sector, of 512 bytes.
    pub sector: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// Whether it is complete only when it is on stable media.
    pub durable: bool,
}

impl EventFormat {
    /// Reads the description. `None`: it has not the fields that a request has.
    pub fn parse(text: &str) -> Option<EventFormat> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok())?;
        let field =
            |name: &str| text.lines().filter_map(parse_field).find(|(known, _)| *known == name).map(|(_, it)| it);
        Some(EventFormat {
            id,
            sector: field("sector")?,
            sectors: field("nr_sector")?,
            bytes: field("bytes"),
            letters: field("rwbs")?,
        })
    }

    /// The request of an event. `None`: the event is shorter than its description.
    pub fn read_request(&self, data: &[u8]) -> Option<RequestEvent> {
        let letters = self.letters.text_in(data)?;
        let sectors = self.sectors.number_in(data)?;
        let counted = self.bytes.and_then(|field| field.number_in(data)).filter(|bytes| *bytes > 0);
        let bytes = counted.unwrap_or(sectors.saturating_mul(512));
        Some(RequestEvent { sector: self.sector.number_in(data)?, bytes, ..from_letters(letters, bytes) })
    }
}

/// `field:sector_t sector; offset:16; size:8; signed:0;`, with tabs between them.
fn parse_field(line: &str) -> Option<(&str, Field)> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';');
    let name = parts.next()?.rsplit([' ', '\t']).next()?;
    let name = name.split('[').next()?;
    let mut number = |key: &str| parts.next()?.trim().strip_prefix(key)?.parse().ok();
    let (offset, size) = (number("offset:")?, number("size:")?);
    Some((name, Field { offset, size }))
}

/// What the letters of a request say (`blk_fill_rwbs` of the kernel): an F before the operation's letter is a flush before
/// it, one after it means that it is on stable media when it completes.
fn from_letters(letters: &[u8], bytes: u64) -> RequestEvent {
    let (flushes_before, rest) = match letters {
        [b'F', rest @ ..] => (true, rest),
        all => (false, all),
    };
    let asked = match rest.first() {
        Some(b'R') if bytes > 0 => Some(Asked::Data(Direction::Read)),
        Some(b'W') if bytes > 0 => Some(Asked::Data(Direction::Write)),
        Some(b'D') => Some(Asked::Discard),
        Some(b'F' | b'W') => Some(Asked::Flush),
        _ if flushes_before => Some(Asked::Flush),
        _ => None,
    };
    let durable = rest.get(1..).is_some_and(|behind| behind.contains(&b'F'));
    RequestEvent { asked, sector: 0, bytes, durable }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.18 describes it, without the fields that nobody needs.
    const ISSUED: &str = "\
name: block_rq_issue
ID: 2104
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:dev_t dev;	offset:8;	size:4;	signed:0;
	field:sector_t sector;	offset:16;	size:8;	signed:0;
	field:unsigned int nr_sector;	offset:24;	size:4;	signed:0;
	field:unsigned int bytes;	offset:28;	size:4;	signed:0;
	field:char rwbs[10];	offset:34;	size:10;	signed:0;

print fmt: \"%d\", REC->dev
";

    fn event(sector: u64, sectors: u32, bytes: u32, letters: &str) -> Vec<u8> {
        let mut data = vec![0; 60];
        data[16..24].copy_from_slice(&sector.to_ne_bytes());
        data[24..28].copy_from_slice(&sectors.to_ne_bytes());
        data[28..32].copy_from_slice(&bytes.to_ne_bytes());
        data[34..34 + letters.len()].copy_from_slice(letters.as_bytes());
        data
    }

    #[test]
    fn requests_are_read_by_their_description() {
        let format = EventFormat::parse(ISSUED).unwrap();
        assert_eq!(format.id, 2104);
        let (read, write) = (Some(Asked::Data(Direction::Read)), Some(Asked::Data(Direction::Write)));
        for (letters, sectors, asked, durable) in [
            ("R", 8, read, false),
            ("RA", 8, read, false),
            ("WS", 8, write, false),
            ("WFS", 8, write, true),
            ("FWFS", 8, write, true),
            ("FF", 0, Some(Asked::Flush), false),
            ("FWS", 0, Some(Asked::Flush), false),
            ("DS", 8, Some(Asked::Discard), false),
            ("N", 0, None, false),
            ("", 8, None, false),
        ] {
            let found = format.read_request(&event(77, sectors, sectors * 512, letters)).unwrap();
            assert_eq!((found.asked, found.durable), (asked, durable), "{letters}");
            assert_eq!((found.sector, found.bytes), (77, u64::from(sectors) * 512));
        }
        let whole = event(1, 8, 0, "R");
        assert_eq!(format.read_request(&whole).unwrap().bytes, 4096);
        assert_eq!(format.read_request(&whole[..40]), None);
    }

    #[test]
    fn what_is_no_description_is_none() {
        for text in ["", "ID: 3\n", &ISSUED.replace("ID: 2104", "ID: x"), &ISSUED.replace("sector", "where")] {
            assert_eq!(EventFormat::parse(text), None, "{text}");
        }
        let far = ISSUED.replace("offset:16", "offset:18446744073709551615");
        assert_eq!(EventFormat::parse(&far).unwrap().read_request(&[0; 64]), None);
    }
}
