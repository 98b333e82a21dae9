//! Links in memory keep what [`Link`] promises.

use super::*;
use assay_base::Span;

fn bytes_of_message(link: &mut ExchangeLink) -> Option<(usize, Vec<u8>)> {
    link.next_message().unwrap().map(|message| (message.from, message.bytes))
}

#[test]
fn messages_of_a_rank_arrive_in_their_order_when_their_time_has_come() {
    let mut late_first = true;
    // The first message takes longer than the second one.
    let delivery = move |_: usize, _: usize, now: Instant| {
        let takes = if std::mem::take(&mut late_first) { 10 } else { 2 };
        Some(now + Span::from_ms(takes))
    };
    let exchange = Exchange::with_delivery(2, Box::new(delivery));
    let mut links = exchange.links();
    links[1].send_message(0, vec![1]).unwrap();
    links[1].send_message(0, vec![2]).unwrap();
    assert_eq!(bytes_of_message(&mut links[0]), None);
    exchange.set_time(Instant::ZERO + Span::from_ms(5));
    assert_eq!(bytes_of_message(&mut links[0]), None);
    exchange.set_time(Instant::ZERO + Span::from_ms(10));
    assert_eq!(bytes_of_message(&mut links[0]), Some((1, vec![1])));
    assert_eq!(bytes_of_message(&mut links[0]), Some((1, vec![2])));
    assert_eq!(bytes_of_message(&mut links[1]), None);
}

/// What each rank gets of an operation that rank k begins with the k-th of these.
fn results_of(given: &[Collective]) -> Vec<Result<Option<Collective>, LinkError>> {
    let mut links = Exchange::within_process(given.len()).links();
    for (link, operation) in links.iter_mut().zip(given) {
        // Nobody has a result before all have begun.
        assert_eq!(link.collective_result(), Ok(None));
        link.begin_collective(operation.clone()).unwrap();
    }
    links.iter_mut().map(ExchangeLink::collective_result).collect()
}

#[test]
fn operations_of_all_ranks_give_what_they_say() {
    use Collective::*;
    assert_eq!(
        results_of(&[Sum(vec![1, u64::MAX]), Sum(vec![2, 1]), Sum(vec![3, 1])]),
        [Ok(Some(Sum(vec![6, 1]))), Ok(Some(Sum(vec![2, 1]))), Ok(Some(Sum(vec![3, 1])))]
    );
    assert_eq!(results_of(&[Maximum(vec![1, 9]), Maximum(vec![2, 1])])[0], Ok(Some(Maximum(vec![2, 9]))));
    let largest = Ok(Some(MaximumForAll(vec![2, 9])));
    assert_eq!(results_of(&[MaximumForAll(vec![1, 9]), MaximumForAll(vec![2, 1])]), [largest.clone(), largest]);
    assert_eq!(results_of(&[Gather(vec![7]), Gather(vec![8])])[0], Ok(Some(Gather(vec![7, 8]))));
    let of_root = Ok(Some(Broadcast(vec![7])));
    assert_eq!(results_of(&[Broadcast(vec![7]), Broadcast(vec![0])]), [of_root.clone(), of_root]);
    assert_eq!(results_of(&[Barrier, Barrier]), [Ok(Some(Barrier)), Ok(Some(Barrier))]);
}

#[test]
fn ranks_that_begin_different_operations_are_told() {
    assert!(results_of(&[Collective::Barrier, Collective::Sum(vec![1])]).iter().all(Result::is_err));
    assert!(results_of(&[Collective::Sum(vec![1, 2]), Collective::Sum(vec![1])])[0].is_err());
    let mut link = Exchange::within_process(2).links().remove(0);
    assert!(link.begin_collective(Collective::Maximum(vec![1, Collective::LARGEST + 1])).is_err());
    link.begin_collective(Collective::Barrier).unwrap();
    assert!(link.begin_collective(Collective::Barrier).is_err());
    assert_eq!(link.collective_result(), Ok(None));
}
