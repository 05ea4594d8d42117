use super::*;

#[test]
fn the_same_seed_draws_the_same_statements() {
    let texts = |seed| {
        let mut dice = Dice::new(seed);
        let questions: Vec<String> = Question::draw(&mut dice, 200).into_iter().map(|q| q.text).collect();
        let writes: Vec<String> = (0..100).map(|_| write(&mut dice)).collect();
        (questions, writes)
    };
    assert_eq!(texts(3), texts(3));
    assert_ne!(texts(3), texts(4));
}

#[test]
fn every_shape_is_drawn_and_no_question_twice() {
    let questions = Question::draw(&mut Dice::new(5), 2_000);
    let mut shapes: Vec<&str> = questions.iter().map(|question| question.shape).collect();
    shapes.sort_unstable();
    shapes.dedup();
    assert!(shapes.len() >= 30, "{shapes:?}");
    assert!(questions.windows(2).all(|pair| pair[0].text != pair[1].text));
    assert!(
        questions.iter().all(|question| question.is_ordered == question.text.contains("ORDER BY")
            || question.shape == "o window")
    );
}
