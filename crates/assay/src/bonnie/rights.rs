//! `-u`: the rights that the tests have. A process that gives up rights cannot take them back, and so this program starts
//! itself again as the other user.

use assay_formats::bonnie::WantedUser;
use assay_run::failure::{Failure, escaped_path, one_line};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Where the users and groups of this host are listed (passwd(5), group(5)).
const USERS: &str = "/etc/passwd";
const GROUPS: &str = "/etc/group";
/// The group of a user who is a number, and whom the list does not have: `nogroup`.
const NO_GROUP: u32 = 65_534;

/// A user and a group, by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rights {
    pub(super) user: u32,
    pub(super) group: u32,
}

impl Rights {
    /// Those of this process.
    fn own() -> Rights {
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        Rights { user: user.as_raw(), group: group.as_raw() }
    }

    /// Those that a command line names.
    fn wanted(wanted: &WantedUser, users: &str, groups: &str) -> Result<Rights, Failure> {
        let WantedUser { user, group } = wanted;
        let mut lines = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let found = lines.find(|fields| fields.len() > 3 && (fields[0] == user || fields[2] == user));
        // A number as the list writes it: with a sign or zeros before it would be root under another name.
        let is_number = user.parse::<u32>().is_ok_and(|number| number.to_string() == *user);
        let (number, own_group) = match (found, user.parse::<u32>()) {
            (Some(fields), _) => (fields[2].parse().ok(), fields[3].parse().ok()),
            (None, Ok(number)) if is_number => (Some(number), Some(NO_GROUP)),
            _ => (None, None),
        };
        let number = number.ok_or_else(|| unknown("user", user, USERS))?;
        let group = match group {
            Some(name) => number_of_group(name, groups).ok_or_else(|| unknown("group", name, GROUPS))?,
            None => own_group.unwrap_or(NO_GROUP),
        };
        Ok(Rights { user: number, group })
    }
}

fn number_of_group(name: &str, groups: &str) -> Option<u32> {
    for line in groups.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        if fields.len() > 2 && fields[0] == name {
            return fields[2].parse().ok();
        }
    }
    name.parse().ok()
}

fn unknown(kind: &str, name: &str, list: &str) -> Failure {
    Failure::bad_usage(format!("there is no {kind} {} in {list}; write one that is there, or a number", one_line(name)))
}

fn read_list(path: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|why| Failure::host_unable(format!("{path} cannot be read: {why}")))
}

/// Goes on with the rights that the command line names. Where this process has others, it starts the program again with
/// them in its place, and does not return.
pub(super) fn take_wanted_rights(user: Option<&WantedUser>, args: &[String]) -> Result<Rights, Failure> {
    let own = Rights::own();
    let Some(wanted) = user else {
        return match own.user {
            0 => Err(Failure::bad_usage(
                "root can do too much for a test: add -u USER, which gives up all rights but those of the user, or -u root",
            )),
            _ => Ok(own),
        };
    };
    let rights = Rights::wanted(wanted, &read_list(USERS)?, &read_list(GROUPS)?)?;
    if rights == own {
        return Ok(own);
    }
    let name = one_line(&wanted.user);
    if own.user != 0 {
        return Err(Failure::bad_usage(format!(
            "only root can become the user {name} (uid {}, gid {}): leave -u away, or run as root",
            rights.user, rights.group
        )));
    }
    Err(start_again_as(rights, &name, args))
}

/// Replaces this process by the program with fewer rights. Returns only why that failed.
fn start_again_as(rights: Rights, name: &str, args: &[String]) -> Failure {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(why) => return Failure::host_unable(format!("the path of this program cannot be found: {why}")),
    };
    // With a user, the standard library also removes all further groups.
    let mut command = Command::new(&program);
    command.args(["as", "bonnie++"]).args(args).gid(rights.group).uid(rights.user);
    let why = command.exec();
    Failure::host_unable(format!(
        "this program cannot be started as the user {name}: {why}; put {} where {name} may run it",
        escaped_path(&program)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\njoe:x:1001:50:Joe:/home/joe:/bin/sh\nbroken\n";
    const GROUP: &str = "root:x:0:\nstaff:x:50:joe\nbroken\n";

    #[test]
    fn users_and_groups_are_found_by_name_and_by_number() {
        let find = |user: &str, group: Option<&str>| {
            let wanted = WantedUser { user: user.to_owned(), group: group.map(str::to_owned) };
            Rights::wanted(&wanted, PASSWD, GROUP).map(|rights| (rights.user, rights.group)).map_err(|why| why.code)
        };
        assert_eq!(find("root", None), Ok((0, 0)));
        assert_eq!(find("joe", None), Ok((1001, 50)));
        assert_eq!(find("1001", None), Ok((1001, 50)));
        assert_eq!(find("4242", None), Ok((4242, NO_GROUP)));
        assert_eq!(find("joe", Some("root")), Ok((1001, 0)));
        assert_eq!(find("joe", Some("7")), Ok((1001, 7)));
        assert_eq!((find("nobody-here", None), find("joe", Some("no-group"))), (Err(2), Err(2)));
    }
}
