//! XML elements, with names and texts that XML can hold.

use std::io::{self, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

/// A document under construction.
pub type Xml<'a> = Writer<&'a mut dyn Write>;

/// A new document, indented.
pub fn begin(out: &mut dyn Write) -> io::Result<Xml<'_>> {
    let mut xml = Xml::new_with_indent(out, b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    Ok(xml)
}

/// An element with content.
pub fn element(
    xml: &mut Xml<'_>,
    name: &str,
    attributes: &[(&str, String)],
    content: impl FnOnce(&mut Xml<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let clean: Vec<(&str, String)> = attributes.iter().map(|(n, v)| (*n, clean(v))).collect();
    let element = xml.create_element(name).with_attributes(clean.iter().map(|(n, v)| (*n, v.as_str())));
    element.write_inner_content(content)?;
    Ok(())
}

/// An element without content.
pub fn empty(xml: &mut Xml<'_>, name: &str, attributes: &[(&str, String)]) -> io::Result<()> {
    let clean: Vec<(&str, String)> = attributes.iter().map(|(n, v)| (*n, clean(v))).collect();
    xml.create_element(name).with_attributes(clean.iter().map(|(n, v)| (*n, v.as_str()))).write_empty()?;
    Ok(())
}

/// An element with text; its lines stay lines.
pub fn text(xml: &mut Xml<'_>, name: &str, attributes: &[(&str, String)], text: &str) -> io::Result<()> {
    let cleaned: Vec<(&str, String)> = attributes.iter().map(|(n, v)| (*n, clean(v))).collect();
    let element = xml.create_element(name).with_attributes(cleaned.iter().map(|(n, v)| (*n, v.as_str())));
    let lines: Vec<String> =
        text.split('\n').map(|l| l.split('\t').map(clean).collect::<Vec<_>>().join("\t")).collect();
    element.write_text_content(BytesText::new(&lines.join("\n")))?;
    Ok(())
}

/// XML 1.0 has no way to write most control characters, not even escaped.
fn clean(text: &str) -> String {
    let allowed = |c: char| !c.is_control() && c != '\u{fffe}' && c != '\u{ffff}';
    text.chars().map(|c| if allowed(c) { c } else { '\u{fffd}' }).collect()
}
