use super::*;

fn at(stage: Stage) -> Tracking {
    Tracking { stage, ..Tracking::default() }
}

fn named(stage: Stage, naming: Naming) -> Stage {
    let mut tracking = at(stage);
    tracking.note_named(naming);
    tracking.stage
}

#[test]
fn a_statement_that_names_the_settings_has_them_to_itself() {
    assert_eq!(named(Stage::Due, Naming::Sets), Stage::Own(Naming::Sets));
    assert_eq!(named(Stage::On, Naming::Shows), Stage::Returns(Naming::Shows));
    assert_eq!(named(Stage::Own(Naming::Sets), Naming::Shows), Stage::Own(Naming::Sets));
    assert_eq!(named(Stage::Lost, Naming::Sets), Stage::Lost);
}

#[test]
fn the_server_is_asked_with_the_next_command() {
    let mut tracking = Tracking::default();
    assert!(tracking.is_unmet() && tracking.due().is_none());
    tracking.note_met();
    assert_eq!(tracking.due(), Some(Request::Ours));
    tracking.note_requested();
    assert!(tracking.is_requested() && tracking.due().is_none());
    tracking.note_reply(true);
    assert!(tracking.is_on());
    tracking.note_next_statement();
    assert!(tracking.due().is_none(), "no end of a transaction went unreported");
    tracking.note_end_unreported();
    tracking.note_next_statement();
    assert_eq!(tracking.due(), Some(Request::OursAgain));
    tracking.note_requested();
    tracking.note_reply(false);
    assert!(tracking.is_unmet());
}

#[test]
fn the_clients_own_settings_are_put_back_and_read_again() {
    for (keeps_gtids, shown, due) in
        [(false, Shown::All, Request::Ours), (true, Shown::AllButGtids, Request::OursAgain)]
    {
        let mut tracking = at(Stage::On);
        tracking.note_named(Naming::Sets);
        assert_eq!(tracking.due(), Some(Request::Clients));
        tracking.note_put_back(keeps_gtids);
        assert!(tracking.is_returned() && tracking.is_clients());
        tracking.note_reply(true);
        tracking.note_environment_is_read();
        assert!(tracking.may_be_set(), "the settings have to be read as well");
        assert_eq!(tracking.note_clients_shown(), Some(shown));
        assert_eq!(tracking.due(), Some(due));
    }
    let mut refused = at(Stage::Returned(Naming::Shows));
    refused.note_reply(false);
    assert_eq!(refused.stage, Stage::Lost);
}

#[test]
fn settings_that_were_only_shown_are_as_they_were() {
    let mut tracking = at(Stage::Own(Naming::Shows));
    tracking.note_environment_is_read();
    assert!(tracking.is_due());
}

#[test]
fn a_report_without_room_is_awaited_until_it_comes_or_another_explains_it() {
    let mut tracking = at(Stage::On);
    tracking.note_view_opened();
    tracking.note_schema_unreported(false, false);
    assert!(tracking.note_schema_reported() && !tracking.note_schema_reported());
    tracking.note_schema_unreported(true, false);
    tracking.note_schema_unreported(false, true);
    assert!(!tracking.note_schema_reported());
}

#[test]
fn what_comes_at_another_stage_changes_nothing() {
    let stages = [Stage::Unmet, Stage::Returns(Naming::Sets), Stage::Lost, Stage::Blurred];
    for stage in stages {
        let mut tracking = at(stage);
        tracking.note_reply(true);
        tracking.note_requested();
        tracking.note_ours_changed();
        tracking.note_next_statement();
        tracking.note_environment_is_read();
        assert_eq!((tracking.note_clients_shown(), tracking.stage), (None, stage));
    }
}
