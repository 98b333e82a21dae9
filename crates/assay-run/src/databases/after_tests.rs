use super::*;
use assay_record::CommitsWriter;
use assay_sql::Orders;

fn head() -> CommitsHead {
    CommitsHead {
        run: "r".into(),
        load: "l".into(),
        database: "sqlite:shop.db".into(),
        sessions: 2,
        before: [100, 10, 1_000],
    }
}

/// Two sessions: 0 has made two orders and a payment, 1 a payment and a delivery.
fn ledger_with(sent: Option<&[u64]>) -> Vec<u8> {
    let (mut writer, mut bytes) = CommitsWriter::begin_ledger(&head());
    let order = |order| Committed::Order { warehouse: 1, district: 2, order };
    for (session, seq, what) in [
        (0, 1, order(31)),
        (1, 1, Committed::Payment { amount: 500 }),
        (0, 2, Committed::Payment { amount: 70 }),
        (1, 3, Committed::Delivery),
        (0, 4, order(32)),
    ] {
        bytes.extend(writer.encode_commit(&Commit { session, seq, what }));
    }
    bytes.extend(sent.map(|sent| writer.encode_end(sent)).unwrap_or_default());
    bytes
}

fn kept(of_0: u64, of_1: u64, last: i32) -> KeptCommits {
    let orders = vec![Orders { warehouse: 1, district: 2, first: 31, last }];
    KeptCommits { sessions: [(0, of_0), (1, of_1)].into(), orders }
}

const ALL: Totals = Totals { next_orders: 102, payments: 12, ytd: 1_570 };

fn outcome(bytes: &[u8], kept: &KeptCommits, now: &Totals) -> After {
    let open = || CommitsReader::from_input(bytes).unwrap();
    compare_with_ledger(open(), numbers_after_reconnects(open()).unwrap(), kept, now).unwrap()
}

#[test]
fn what_was_acknowledged_is_there_and_what_is_not_known_may_be() {
    for (kept, now) in [
        (kept(4, 3, 32), ALL),
        // Transactions whose outcome is not known were committed, and somebody has gone on since.
        (kept(5, 3, 33), Totals { next_orders: 103, ..ALL }),
        (kept(4, 3, 40), Totals { next_orders: 110, payments: 20, ytd: 9_999 }),
    ] {
        let after = outcome(&ledger_with(Some(&[5, 3])), &kept, &now);
        assert!(after.has_no_losses() && after.ended, "{after:?}");
        assert_eq!((after.acknowledged, after.lost, after.sessions), (5, 0, 2));
    }
    let killed = outcome(&ledger_with(None), &kept(99, 99, 32), &ALL);
    assert!(killed.has_no_losses() && !killed.ended, "what a killed run had sent is not known");
}

#[test]
fn each_loss_is_named() {
    let losses = |kept: &KeptCommits, now: &Totals| outcome(&ledger_with(Some(&[5, 3])), kept, now).loss_sentences();
    assert_eq!(
        losses(&kept(1, 3, 31), &Totals { next_orders: 101, payments: 11, ytd: 1_500 }),
        [
            "session 0: 2 acknowledged commits are lost, with the numbers 2 to 4; its row stood at 1",
            "order 32 of district 2 in warehouse 1 was acknowledged and is not there",
            "the sum of D_NEXT_O_ID has risen by 1, and what was acknowledged is 2",
            "the sum of C_PAYMENT_CNT has risen by 1, and what was acknowledged is 2",
            "the sum of W_YTD, in cents, has risen by 500, and what was acknowledged is 570",
        ]
    );
    assert_eq!(
        losses(&kept(4, 2, 32), &ALL),
        ["session 1: 1 acknowledged commit is lost, with the numbers 3 to 3; its row stood at 2"]
    );
    let gone = KeptCommits { sessions: [(1, 3)].into(), ..kept(0, 0, 32) };
    assert_eq!(
        losses(&gone, &ALL),
        ["session 0: 3 acknowledged commits are lost, with the numbers 1 to 4; its row was gone"]
    );
    assert_eq!(
        losses(&kept(0, 3, 32), &ALL),
        ["session 0: 3 acknowledged commits are lost, with the numbers 1 to 4; its row stood at 0"]
    );
    assert_eq!(losses(&kept(6, 3, 32), &ALL), ["session 0: the database has it at 6, and it has sent 5 at most"]);
}

#[test]
fn more_lost_orders_than_are_listed_are_counted() {
    let (mut writer, mut bytes) = CommitsWriter::begin_ledger(&head());
    for order in 1..=1_500 {
        let what = Committed::Order { warehouse: 1, district: 1, order };
        bytes.extend(writer.encode_commit(&Commit { session: 0, seq: order as u64, what }));
    }
    let after = outcome(&bytes, &kept(2_000, 0, 31), &Totals { next_orders: 2_000, ..ALL });
    assert_eq!((after.orders_lost, after.orders.len(), after.lost), (1_500, LISTED, 0));
    assert_eq!(after.loss_sentences().last().unwrap(), "another 500 orders were acknowledged and are not there");
}

#[test]
fn a_session_that_went_on_after_a_crash_hides_no_loss() {
    let (mut writer, mut bytes) = CommitsWriter::begin_ledger(&head());
    let payment = |session, seq| Commit { session, seq, what: Committed::Payment { amount: 1 } };
    for seq in 1..=6 {
        bytes.extend(writer.encode_commit(&payment(0, seq)));
    }
    bytes.extend(writer.encode_found_number(0, 4));
    bytes.extend(writer.encode_commit(&payment(0, 8)));
    bytes.extend(writer.encode_found_number(0, 9));
    bytes.extend(writer.encode_commit(&payment(0, 10)));
    bytes.extend(writer.encode_commit(&payment(0, 11)));
    bytes.extend(writer.encode_end(&[12, 0]));
    let after = outcome(&bytes, &kept(10, 0, 31), &Totals { payments: 100, ytd: 9_999, ..ALL });
    assert_eq!((after.acknowledged, after.lost), (9, 3));
    assert_eq!(
        after.loss_sentences(),
        [
            "session 0: 2 acknowledged commits are lost, with the numbers 5 to 6; its row stood at 4",
            "session 0: 1 acknowledged commit is lost, with the numbers 11 to 11; its row stood at 10",
        ]
    );
}

#[test]
fn a_session_whose_first_commit_is_lost_still_has_its_row() {
    let (mut writer, mut bytes) = CommitsWriter::begin_ledger(&head());
    let payment = |seq| Commit { session: 0, seq, what: Committed::Payment { amount: 1 } };
    bytes.extend(writer.encode_commit(&payment(1)));
    bytes.extend(writer.encode_found_number(0, 0));
    bytes.extend(writer.encode_commit(&payment(2)));
    bytes.extend(writer.encode_end(&[2, 0]));
    let now = Totals { payments: 100, ytd: 9_999, ..ALL };
    let lost = "session 0: 1 acknowledged commit is lost, with the numbers 1 to 1; its row";
    assert_eq!(outcome(&bytes, &kept(2, 0, 31), &now).loss_sentences(), [format!("{lost} stood at 0")]);
    let gone = KeptCommits { sessions: [(1, 0)].into(), ..kept(0, 0, 31) };
    assert_eq!(outcome(&bytes, &gone, &now).loss_sentences()[0], format!("{lost} was gone"));
}
