use super::*;

fn plot() -> Plot {
    let point = |middle: f64| Some(Point { middle, least: middle * 0.9, most: middle * 1.1 });
    Plot {
        title: "A < B & C".to_owned(),
        across: "clients".to_owned(),
        up: "statements a second".to_owned(),
        places: ["1", "8", "64"].map(str::to_owned).to_vec(),
        lines: vec![
            Line { name: "direct".to_owned(), colour: 0, points: vec![point(10.0), None, point(40_000.0)] },
            Line { name: "Freshet".to_owned(), colour: 2, points: vec![point(20.0), point(90_000.0), None] },
        ],
    }
}

/// Whether each element is closed, in order, and no character stands bare that must not. Gives the names of the elements.
fn elements(svg: &str) -> Vec<String> {
    let (mut open, mut names) = (Vec::new(), Vec::new());
    let mut rest = svg;
    while let Some(at) = rest.find('<') {
        assert!(!rest[..at].contains('>'), "a bare > in {}", &rest[..at]);
        let end = at + rest[at..].find('>').unwrap();
        let tag = &rest[at + 1..end];
        assert!(!tag.contains('<') && tag.matches('"').count().is_multiple_of(2), "{tag}");
        let name = |tag: &str| tag.trim_matches('/').split_whitespace().next().unwrap().to_owned();
        match (tag.strip_prefix('/'), tag.ends_with('/')) {
            (Some(closed), _) => assert_eq!(open.pop().as_deref(), Some(closed)),
            (None, closed) => {
                names.push(name(tag));
                if !closed {
                    open.push(name(tag));
                }
            }
        }
        rest = &rest[end + 1..];
    }
    assert_eq!(open, Vec::<String>::new());
    for (at, _) in svg.match_indices('&') {
        assert!(["&amp;", "&lt;", "&gt;"].iter().any(|entity| svg[at..].starts_with(entity)));
    }
    names
}

#[test]
fn a_plot_is_well_formed() {
    let svg = plot().svg();
    let names = elements(&svg);
    let count = |name: &str| names.iter().filter(|there| *there == name).count();
    assert_eq!((names[0].as_str(), count("svg"), count("polyline"), count("circle")), ("svg", 1, 2, 4));
    assert!(svg.contains("A &lt; B &amp; C") && svg.contains(">100,000<") && !svg.contains("NaN"));
}

#[test]
fn nothing_is_a_plot_too() {
    let svg = Plot { places: Vec::new(), lines: Vec::new(), ..plot() }.svg();
    elements(&svg);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn points_are_within_the_frame_and_the_more_the_higher() {
    let plot = plot();
    assert_eq!((plot.top(), step(99_000.0), step(6.0), step(0.0)), (100_000.0, 20_000.0, 1.0, 1.0));
    assert_eq!((plot.y(0.0), plot.y(100_000.0)), (HEIGHT - BOTTOM, TOP));
    assert!(plot.x(0) > LEFT && plot.x(2) < WIDTH - RIGHT);
}
