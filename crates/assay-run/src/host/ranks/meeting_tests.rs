use super::*;
use assay_hosts::exchange::{Exchange, ExchangeLink};
use assay_hosts::{LinkError, Message};
use std::sync::{Arc, Mutex};

/// A link that keeps what it is to tell the user.
struct Noting {
    link: ExchangeLink,
    told: Arc<Mutex<Vec<String>>>,
}

impl Link for Noting {
    fn own_rank(&self) -> usize {
        self.link.own_rank()
    }
    fn world_size(&self) -> usize {
        self.link.world_size()
    }
    fn send_message(&mut self, to: usize, bytes: Vec<u8>) -> Result<(), LinkError> {
        self.link.send_message(to, bytes)
    }
    fn next_message(&mut self) -> Result<Option<Message>, LinkError> {
        self.link.next_message()
    }
    fn begin_collective(&mut self, operation: Collective) -> Result<(), LinkError> {
        self.link.begin_collective(operation)
    }
    fn collective_result(&mut self) -> Result<Option<Collective>, LinkError> {
        self.link.collective_result()
    }
    fn all_has_left(&mut self) -> Result<bool, LinkError> {
        self.link.all_has_left()
    }
    fn tell_user(&self, text: &str) {
        self.told.lock().unwrap().push(text.to_owned());
    }
}

/// Three ranks that meet twice; one comes to the second round later than is usual.
#[test]
fn those_for_whom_all_wait_are_named() {
    let told = Arc::new(Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for link in Exchange::within_process(3).links() {
            let mut link = Noting { link, told: Arc::clone(&told) };
            scope.spawn(move || {
                let own = link.own_rank() as u64;
                for round in 0..2_u64 {
                    if (own, round) == (1, 1) {
                        std::thread::sleep(Duration::from_millis(5_500));
                    }
                    let met = meet_all(&mut link, Collective::MaximumForAll(vec![own + round])).unwrap();
                    assert_eq!(met, Collective::MaximumForAll(vec![2 + round]));
                }
                // Rank 0 has read all letters; signs of it that come later are signs to who joins the logs too.
                let mut rest = std::iter::from_fn(|| link.next_message().unwrap());
                assert!(rest.all(|message| own > 0 && message.bytes == sign_of_life().unwrap()));
            });
        }
    });
    let told = told.lock().unwrap();
    assert!(told.len() == 1 && told[0].ends_with(" for rank 1"), "{told:?}");
}
