//! What the check needs of a parsed file: attributes, paths in code, paths in macros.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta};

/// A path and the line it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenPath {
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
}

/// Whether code with these attributes is part of unit tests only.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<Meta>()
                    .is_ok_and(|condition| requires_test(&condition)))
    })
}

fn requires_test(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => {
            let Ok(parts) = list.parse_args_with(
                syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated,
            ) else {
                return false;
            };
            if list.path.is_ident("all") {
                parts.iter().any(requires_test)
            } else {
                list.path.is_ident("any") && parts.iter().all(requires_test)
            }
        }
        Meta::NameValue(_) => false,
    }
}

/// The values of `#[path = ".."]`, also of those for some systems only.
pub(crate) fn path_attributes(attributes: &[Attribute]) -> Vec<String> {
    let mut values = Vec::new();
    for attribute in attributes {
        match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("path") => {
                if let syn::Expr::Lit(literal) = &pair.value
                    && let syn::Lit::Str(text) = &literal.lit
                {
                    values.push(text.value());
                }
            }
            Meta::List(list) if list.path.is_ident("cfg_attr") => {
                let paths = path_values(list.tokens.clone());
                values.extend(paths.into_iter().map(|(value, _)| value));
            }
            _ => {}
        }
    }
    values
}

/// Each `path = ".."` among the tokens of an attribute, with its line.
fn path_values(tokens: TokenStream) -> Vec<(String, usize)> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut values = Vec::new();
    for three in tokens.windows(3) {
        if let [
            TokenTree::Ident(name),
            TokenTree::Punct(equals),
            TokenTree::Literal(value),
        ] = three
            && name == "path"
            && equals.as_char() == '='
        {
            let value = value.to_string().trim_matches('"').to_owned();
            values.push((value, name.span().start().line));
        }
    }
    for token in tokens {
        if let TokenTree::Group(group) = token {
            values.extend(path_values(group.stream()));
        }
    }
    values
}

/// Attributes of an item.
pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Segments of a path without generic arguments.
pub(crate) fn written(path: &syn::Path) -> WrittenPath {
    WrittenPath {
        segments: path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect(),
        line: path
            .segments
            .first()
            .map_or(0, |segment| segment.ident.span().start().line),
    }
}

/// What an item's code refers to, without unit tests and without inner modules.
#[derive(Default)]
pub(crate) struct Code {
    pub(crate) paths: Vec<WrittenPath>,
    /// Names of macros that are called with one word.
    pub(crate) macros: Vec<WrittenPath>,
    /// `use` inside functions.
    pub(crate) uses: Vec<syn::ItemUse>,
}

impl<'ast> Visit<'ast> for Code {
    fn visit_attribute(&mut self, _attribute: &'ast Attribute) {}

    fn visit_item(&mut self, item: &'ast Item) {
        if is_test(attributes(item)) {
            return;
        }
        match item {
            Item::Use(item) => self.uses.push(item.clone()),
            Item::Macro(item) if item.mac.path.is_ident("macro_rules") => {
                self.read_tokens(item.mac.tokens.clone(), true);
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        let attributes: &[Attribute] = match item {
            syn::ImplItem::Const(item) => &item.attrs,
            syn::ImplItem::Fn(item) => &item.attrs,
            syn::ImplItem::Type(item) => &item.attrs,
            _ => &[],
        };
        if !is_test(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast syn::TraitItem) {
        let test = matches!(item, syn::TraitItem::Fn(item) if is_test(&item.attrs));
        if !test {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !is_test(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_field_value(&mut self, field: &'ast syn::FieldValue) {
        if !is_test(&field.attrs) {
            visit::visit_field_value(self, field);
        }
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        if !is_test(&variant.attrs) {
            visit::visit_variant(self, variant);
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if !is_test(&arm.attrs) {
            visit::visit_arm(self, arm);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !is_test(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.paths.push(written(path));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let path = written(&call.path);
        if path.segments.len() == 1 {
            self.macros.push(path);
        } else {
            self.paths.push(path);
        }
        self.read_tokens(call.tokens.clone(), false);
    }
}

impl Code {
    /// Reads paths out of tokens that no grammar is known of. In the definition of a macro, lone
    /// words mean nothing.
    fn read_tokens(&mut self, tokens: TokenStream, definition: bool) {
        let mut path: Option<WrittenPath> = None;
        // What a word means depends on the token before it.
        let mut fresh = true;
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(word) => {
                    match &mut path {
                        Some(path) if colons == 2 => path.segments.push(word.to_string()),
                        _ => {
                            self.keep(path.take(), definition);
                            if fresh && colons != 2 {
                                path = Some(WrittenPath {
                                    segments: vec![word.to_string()],
                                    line: word.span().start().line,
                                });
                            }
                        }
                    }
                    (fresh, colons) = (true, 0);
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Punct(mark) => {
                    self.keep(path.take(), definition);
                    // Fields, methods and lifetimes name no item; what follows `..` may.
                    fresh = match mark.as_char() {
                        '.' => !fresh,
                        mark => mark != '\'',
                    };
                    colons = 0;
                }
                TokenTree::Group(group) => {
                    self.keep(path.take(), definition);
                    self.read_tokens(group.stream(), definition);
                    (fresh, colons) = (true, 0);
                }
                TokenTree::Literal(_) => {
                    self.keep(path.take(), definition);
                    (fresh, colons) = (true, 0);
                }
            }
        }
        self.keep(path, definition);
    }

    fn keep(&mut self, path: Option<WrittenPath>, definition: bool) {
        if let Some(path) = path
            && (!definition || path.segments.len() > 1)
        {
            self.paths.push(path);
        }
    }
}

/// A use of `#[path = ".."]` or of a visibility that depends on the place of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Oddity {
    PathAttribute { value: String, line: usize },
    RelativeVisibility { line: usize },
}

/// Looks through all tokens of a file, unit tests too.
pub(crate) fn oddities(tokens: TokenStream) -> Vec<Oddity> {
    let mut found = Vec::new();
    collect_oddities(tokens, &mut found);
    found
}

fn collect_oddities(tokens: TokenStream, found: &mut Vec<Oddity>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (place, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else {
            continue;
        };
        let before = place.checked_sub(1).map(|place| tokens[place].to_string());
        let first = group
            .stream()
            .into_iter()
            .next()
            .map(|token| token.to_string());
        match (before.as_deref(), first.as_deref()) {
            (Some("pub"), Some("super" | "in")) => found.push(Oddity::RelativeVisibility {
                line: group.span().start().line,
            }),
            (Some("#"), Some("path" | "cfg_attr")) => {
                let paths = path_values(group.stream()).into_iter();
                found.extend(paths.map(|(value, line)| Oddity::PathAttribute { value, line }));
            }
            _ => collect_oddities(group.stream(), found),
        }
    }
}
