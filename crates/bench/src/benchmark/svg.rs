//! Plots of lines over a few places, as SVG.

use std::fmt::Write;

use super::numbers::{short, whole};

/// The plot's size, and what of it is around the lines, in pixels.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 56.0;
/// The most horizontal lines.
const STEPS_MAX: f64 = 6.0;
/// Colours that colour-blind people can tell apart (Okabe and Ito).
const COLOURS: [&str; 7] = ["#555555", "#E69F00", "#0072B2", "#999999", "#009E73", "#CC79A7", "#D55E00"];

/// A plot.
#[derive(Debug, Clone)]
pub struct Plot {
    /// The title above the plot.
    pub title: String,
    /// The label below the plot.
    pub across: String,
    /// The quantity that the plot shows.
    pub up: String,
    /// The places, from left to right.
    pub places: Vec<String>,
    /// The lines.
    pub lines: Vec<Line>,
}

/// One line.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// The number of its colour.
    pub colour: usize,
    /// Its points, one for each place that has one.
    pub points: Vec<Option<Point>>,
}

/// One point, with the least and the greatest value behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Where the point is.
    pub middle: f64,
    /// Where its whisker begins.
    pub least: f64,
    /// Where its whisker ends.
    pub most: f64,
}

impl Plot {
    /// Returns the file's text.
    pub fn svg(&self) -> String {
        let mut out = String::new();
        let _ = self.draw(&mut out);
        out
    }

    fn draw(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\">"
        )?;
        writeln!(out, "<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>")?;
        text(out, (WIDTH - RIGHT + LEFT) / 2.0, 18.0, "middle", &self.title)?;
        text(out, (WIDTH - RIGHT + LEFT) / 2.0, HEIGHT - 14.0, "middle", &self.across)?;
        text(out, 8.0, TOP - 12.0, "start", &self.up)?;
        self.grid(out)?;
        for (number, line) in self.lines.iter().enumerate() {
            self.line(out, number, line)?;
        }
        writeln!(out, "</svg>")
    }

    /// Draws the horizontal lines with their numbers, and the names of the places.
    fn grid(&self, out: &mut String) -> std::fmt::Result {
        let step = step(self.most());
        for number in 0..=(self.top() / step).round() as u32 {
            let value = f64::from(number) * step;
            let y = self.y(value);
            let right = WIDTH - RIGHT;
            writeln!(out, "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#dddddd\"/>")?;
            let number = if step < 1.0 && value > 0.0 { short(value) } else { whole(value) };
            text(out, LEFT - 8.0, y + 4.0, "end", &number)?;
        }
        for (at, place) in self.places.iter().enumerate() {
            text(out, self.x(at), HEIGHT - BOTTOM + 20.0, "middle", place)?;
        }
        Ok(())
    }

    fn line(&self, out: &mut String, number: usize, line: &Line) -> std::fmt::Result {
        let colour = COLOURS.get(line.colour % COLOURS.len()).copied().unwrap_or_default();
        let points: Vec<(f64, Point)> =
            line.points.iter().enumerate().filter_map(|(at, point)| Some((self.x(at), (*point)?))).collect();
        let corners: Vec<String> =
            points.iter().map(|(x, point)| format!("{x:.1},{:.1}", self.y(point.middle))).collect();
        let corners = corners.join(" ");
        writeln!(
            out,
            "<polyline points=\"{corners}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        )?;
        for (x, point) in points {
            let (low, middle, high) = (self.y(point.least), self.y(point.middle), self.y(point.most));
            writeln!(out, "<path d=\"M{x:.1} {low:.1}V{high:.1}\" stroke=\"{colour}\"/>")?;
            writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{middle:.1}\" r=\"3.5\" fill=\"{colour}\"/>")?;
        }
        let y = TOP + 10.0 + 20.0 * number as f64;
        let x = WIDTH - RIGHT + 16.0;
        writeln!(out, "<path d=\"M{x} {y}h18\" stroke=\"{colour}\" stroke-width=\"2\"/>")?;
        text(out, x + 24.0, y + 4.0, "start", &line.name)
    }

    /// Returns the greatest value of all points.
    fn most(&self) -> f64 {
        let points = self.lines.iter().flat_map(|line| &line.points).flatten();
        points.map(|point| point.most.max(point.middle)).fold(0.0, f64::max)
    }

    /// Returns the number at the top.
    fn top(&self) -> f64 {
        let step = step(self.most());
        (self.most() / step).ceil().max(1.0) * step
    }

    fn x(&self, at: usize) -> f64 {
        let width = (WIDTH - LEFT - RIGHT) / self.places.len().max(1) as f64;
        LEFT + width * (at as f64 + 0.5)
    }

    fn y(&self, value: f64) -> f64 {
        let height = HEIGHT - TOP - BOTTOM;
        HEIGHT - BOTTOM - height * (value / self.top()).clamp(0.0, 1.0)
    }
}

/// Returns a round number that goes a few times into `most`: 1, 2 or 5 with zeros.
fn step(most: f64) -> f64 {
    if most <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf((most / STEPS_MAX).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
    steps.into_iter().find(|step| most / step <= STEPS_MAX).unwrap_or(most)
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, what: &str) -> std::fmt::Result {
    writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escaped(what))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests;
