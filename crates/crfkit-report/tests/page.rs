//! The page as text: whole, without addresses, and safe whatever the data says.

mod sample;

use sample::{HOSTILE, page};

fn html() -> String {
    let mut html = Vec::new();
    page().write_html(&mut html).unwrap();
    String::from_utf8(html).unwrap()
}

#[test]
fn text_from_data_cannot_leave_its_element() {
    let html = html();
    assert_eq!(html.matches("<script").count(), 2, "the data's and the program's");
    assert_eq!(html.matches("</script").count(), 2);
    assert!(!html.contains("<img") && !html.contains("<!--"));
    // And it comes back as it was.
    let data = html.split_once("type=\"application/json\">").unwrap().1.split_once("</script>").unwrap().0;
    assert!(!data.contains('<'));
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    for text in [
        &data["runs"][1]["name"],
        &data["model"]["labels"][0],
        &data["evaluations"][0]["samples"][0]["tokens"][0]["text"],
    ] {
        assert_eq!(text, HOSTILE);
    }
}

#[test]
fn the_page_has_all_it_needs() {
    let html = html();
    // The only address is a name: that of SVG.
    assert_eq!(html.matches("http").count(), 1 + html.matches("http-equiv").count());
    for forbidden in ["src=\"", "@import", "url(", "{{", "innerHTML", "eval("] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
    assert!(html.contains("default-src 'none'") && html.contains("connect-src 'none'"));
}

#[test]
fn marks_of_the_template_in_data_are_data() {
    let mut page = page();
    page.runs[0].name = "{{script}}{{data}}".into();
    let mut html = Vec::new();
    page.write_html(&mut html).unwrap();
    assert!(String::from_utf8(html).unwrap().contains("\"name\":\"{{script}}{{data}}\""));
}

#[test]
fn numbers_that_are_none_are_null() {
    let mut page = page();
    page.runs[0].progress[0].objective = Some(f64::NAN);
    let mut json = Vec::new();
    page.write_data(&mut json).unwrap();
    let data: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert!(data["runs"][0]["progress"][0]["objective"].is_null());
}
