use super::*;

#[test]
fn a_statement_that_names_the_settings_has_them_to_itself() {
    assert_eq!(Tracking::Due.named(Naming::Sets), Tracking::Own(Naming::Sets));
    assert_eq!(Tracking::On.named(Naming::Shows), Tracking::Returns(Naming::Shows));
    assert_eq!(Tracking::Own(Naming::Sets).named(Naming::Shows), Tracking::Own(Naming::Sets));
    assert_eq!(Tracking::Lost.named(Naming::Sets), Tracking::Lost);
}
