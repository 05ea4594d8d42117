use super::*;

/// What has been noted of a transaction.
fn after(noted: &[fn(&mut Course)]) -> Course {
    let mut course = Course::default();
    noted.iter().for_each(|note| note(&mut course));
    course
}

#[test]
fn a_transaction_is_new_until_something_is_read() {
    assert!(after(&[]).is_new());
    assert!(after(&[Course::note_unread_view]).is_new(), "nothing was read by the read view");
    assert!(!after(&[Course::note_read]).is_new());
    assert!(!after(&[Course::note_served]).is_new());
    assert!(!after(&[Course::note_ride]).is_new());
}

#[test]
fn a_read_view_is_unread_until_a_statement_reads() {
    assert!(!after(&[]).is_view_unread());
    assert!(after(&[Course::note_unread_view, Course::note_served]).is_view_unread());
    assert!(!after(&[Course::note_unread_view, Course::note_read]).is_view_unread());
}

#[test]
fn what_was_carried_once_has_been_carried() {
    let carried = after(&[Course::note_ride, Course::note_served]);
    assert!(carried.rides() && carried.has_served());
    let served = after(&[Course::note_served]);
    assert!(served.has_served() && !served.rides());
}

#[test]
fn a_transaction_has_needed_what_it_read_and_not_what_was_opened_in_time() {
    let needs = |noted: &[fn(&mut Course)]| after(noted).needs();
    let view: fn(&mut Course) = |course| course.note_needs(Needs::View);
    let writes: fn(&mut Course) = |course| course.note_needs(Needs::Writes);
    let (in_time, read) = (Course::note_opened_in_time, Course::note_read);
    let (served, carried) = (Course::note_served, Course::note_ride);
    assert_eq!(needs(&[]), None);
    assert_eq!(needs(&[view, in_time]), None, "it has read nothing");
    assert_eq!(needs(&[served]), Some(Needs::Nothing));
    assert_eq!(needs(&[served, view]), Some(Needs::View));
    assert_eq!(needs(&[writes, served, view]), Some(Needs::Writes));
    assert_eq!(needs(&[read]), Some(Needs::Writes), "it is unknown what the server did");
    assert_eq!(needs(&[read, view]), Some(Needs::View));
    assert_eq!(needs(&[served, view, in_time]), Some(Needs::View));
    assert_eq!(needs(&[carried, view, in_time]), Some(Needs::Nothing));
    assert_eq!(needs(&[carried, view, in_time, read]), Some(Needs::Nothing));
    assert_eq!(needs(&[carried, writes, in_time]), Some(Needs::Writes));
    assert_eq!(needs(&[carried, in_time, read]), Some(Needs::Writes));
}

#[test]
fn a_look_that_is_repeated_counts_once() {
    let looked = after(&[Course::note_look, Course::note_repeated_look, Course::note_look]);
    assert_eq!(looked.looks(), 1);
    assert_eq!(after(&[Course::note_repeated_look]).looks(), 0);
}
