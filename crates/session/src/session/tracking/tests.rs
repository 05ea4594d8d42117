use super::*;

fn at(stage: TrackingStage) -> Tracking {
    Tracking { stage, ..Tracking::default() }
}

fn named(stage: TrackingStage, naming: Naming) -> TrackingStage {
    let mut tracking = at(stage);
    tracking.note_named(naming);
    tracking.stage
}

#[test]
fn a_statement_that_names_the_settings_has_them_to_itself() {
    assert_eq!(named(TrackingStage::Due, Naming::Sets), TrackingStage::Own(Naming::Sets));
    assert_eq!(named(TrackingStage::On, Naming::Shows), TrackingStage::Returns(Naming::Shows));
    assert_eq!(named(TrackingStage::Own(Naming::Sets), Naming::Shows), TrackingStage::Own(Naming::Sets));
    assert_eq!(named(TrackingStage::Lost, Naming::Sets), TrackingStage::Lost);
}

#[test]
fn the_server_is_asked_with_the_next_command() {
    let mut tracking = Tracking::default();
    assert!(tracking.is_unmet() && tracking.due().is_none());
    tracking.note_met();
    assert_eq!(tracking.due(), Some(ReportRequest::Ours));
    tracking.note_requested();
    assert!(tracking.is_requested() && tracking.due().is_none());
    tracking.note_reply(true);
    assert!(tracking.is_on());
    tracking.note_next_statement();
    assert!(tracking.due().is_none(), "no end of a transaction went unreported");
    tracking.note_end_unreported();
    tracking.note_next_statement();
    assert_eq!(tracking.due(), Some(ReportRequest::OursAgain));
    tracking.note_requested();
    tracking.note_reply(false);
    assert!(tracking.is_unmet());
}

#[test]
fn the_clients_own_settings_are_put_back_and_read_again() {
    for (keeps_gtids, shown, due) in
        [(false, Shown::All, ReportRequest::Ours), (true, Shown::AllButGtids, ReportRequest::OursAgain)]
    {
        let mut tracking = at(TrackingStage::On);
        tracking.note_named(Naming::Sets);
        assert_eq!(tracking.due(), Some(ReportRequest::Clients));
        tracking.note_put_back(keeps_gtids);
        assert!(tracking.is_returned() && tracking.is_clients());
        tracking.note_reply(true);
        tracking.note_environment_is_read();
        assert!(tracking.may_be_set(), "the settings have to be read as well");
        assert_eq!(tracking.note_clients_shown(), Some(shown));
        assert_eq!(tracking.due(), Some(due));
    }
    let mut refused = at(TrackingStage::Returned(Naming::Shows));
    refused.note_reply(false);
    assert_eq!(refused.stage, TrackingStage::Lost);
}

#[test]
fn settings_that_were_only_shown_are_as_they_were() {
    let mut tracking = at(TrackingStage::Own(Naming::Shows));
    tracking.note_environment_is_read();
    assert!(tracking.is_due());
}

#[test]
fn a_report_without_room_is_awaited_until_it_comes_or_another_explains_it() {
    let mut tracking = at(TrackingStage::On);
    tracking.note_view_opened();
    tracking.note_schema_unreported(false, false);
    assert!(tracking.note_schema_reported() && !tracking.note_schema_reported());
    tracking.note_schema_unreported(true, false);
    tracking.note_schema_unreported(false, true);
    assert!(!tracking.note_schema_reported());
}

#[test]
fn what_comes_at_another_stage_changes_nothing() {
    let stages = [
        TrackingStage::Unmet,
        TrackingStage::Returns(Naming::Sets),
        TrackingStage::Lost,
        TrackingStage::Blurred,
    ];
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
