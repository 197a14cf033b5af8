//! The attribute `#[unseen::test(of = ...)]`. In: a function that is a test. Out: the function, and `unseen::attach!` behind it.

use proc_macro::{TokenStream, TokenTree};

/// Attaches this function, a test, to the function `of`, its unit: see [`attach!`](../unseen/macro.attach.html). With `after` it runs when
/// the unit returns.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    match attach(arguments, &item) {
        Ok(attached) => item.into_iter().chain(attached).collect(),
        Err(what) => format!("::core::compile_error!({what:?});")
            .parse::<TokenStream>()
            .into_iter()
            .flatten()
            .chain(item)
            .collect(),
    }
}

fn attach(arguments: TokenStream, item: &TokenStream) -> Result<TokenStream, &'static str> {
    const USE: &str = "write #[unseen::test(of = path::of::the::function)], or #[unseen::test(of = ..., after)]";
    let mut arguments = arguments.into_iter();
    let starts = |token: Option<TokenTree>, text: &str| token.is_some_and(|t| t.to_string() == text);
    if !starts(arguments.next(), "of") || !starts(arguments.next(), "=") {
        return Err(USE);
    }
    let mut rest: Vec<TokenTree> = arguments.collect();
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ',');
    let mut is_after = false;
    // A path may have commas between its own angle brackets; what is behind the last is a word of ours or not.
    if let [.., comma, TokenTree::Ident(word)] = &rest[..]
        && is_comma(comma)
        && word.to_string() == "after"
    {
        is_after = true;
        rest.truncate(rest.len() - 2);
    }
    if rest.last().is_some_and(is_comma) {
        rest.pop();
    }
    if rest.is_empty() {
        return Err(USE);
    }
    let mut tokens = item.clone().into_iter();
    let is_fn = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn");
    let name = match (tokens.find(is_fn), tokens.next()) {
        (Some(_), Some(TokenTree::Ident(name))) => name,
        _ => return Err("#[unseen::test] belongs on a function"),
    };
    let unit: TokenStream = rest.into_iter().collect();
    let after = if is_after { ", after" } else { "" };
    format!("::unseen::attach!({unit}, {name}{after});").parse().map_err(|_| USE)
}
