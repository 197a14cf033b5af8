use proc_macro::{TokenStream, TokenTree};

#[proc_macro_derive(Describe)]
pub fn describe(item: TokenStream) -> TokenStream {
    assert_eq!(squares_sys::square(2), 4);
    let mut words = item.into_iter().filter_map(|t| match t {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    });
    let name = words.by_ref().skip_while(|w| w != "struct").nth(1).expect("a struct");
    format!(
        "impl Describe for {name} {{ fn describe(&self) -> String {{ \
         format!(\"{{}} of area {{}}\", {name:?}, self.area()) }} }}"
    )
    .parse()
    .unwrap()
}
