//! The API as OpenAPI text, made from the table of its routes.

use serde_json::{Map, Value, json};

use super::route_table::{Answer, Asks, Member, ROUTES, Route};

/// The text of the API (OpenAPI 3.1).
#[must_use]
pub fn openapi() -> String {
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method] = operation(route);
    }
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "tapeline web",
            "version": "1",
            "description": "What the page of `tapeline web` asks of the program. Every request but \
                            GET has the header `X-Tapeline: 1`. /api/login gives the cookie.",
        },
        "security": [{ "cookie": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "cookie": {
                "type": "apiKey", "in": "cookie", "name": "tapeline-PORT",
                "description": "PORT is that of the page.",
            } },
            "responses": { "Refused": {
                "description": "Why not: 401 without the cookie, 403 not allowed, 404 not there, \
                                422 wrong, 429 too much at a time, 500 this host cannot.",
                "content": { "application/json": { "schema": {
                    "type": "object",
                    "required": ["error"],
                    "properties": { "error": { "type": "string" } },
                } } },
            } },
        },
    });
    // A map with keys of text can be written.
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn operation(route: &Route) -> Value {
    let mut parameters: Vec<Value> = variables(route.path).map(variable).collect();
    if let Asks::Query(members) | Asks::File(members) = route.asks {
        parameters.extend(members.iter().map(|(name, kind)| {
            json!({ "name": name, "in": "query", "required": !kind.ends_with('?'),
                "schema": { "type": kind.trim_end_matches('?') } })
        }));
    }
    if route.method == "post" {
        parameters.push(
            json!({ "name": "X-Tapeline", "in": "header", "required": true,
            "schema": { "const": "1" } }),
        );
    }
    let (status, answer) = answer(&route.answer);
    let mut operation = json!({
        "summary": route.summary,
        "parameters": parameters,
        "responses": { "default": { "$ref": "#/components/responses/Refused" } },
    });
    operation["responses"][status] = answer;
    match route.asks {
        Asks::Object(members) => {
            operation["requestBody"] = body("application/json", object(members))
        }
        Asks::File(_) => operation["requestBody"] = body("application/octet-stream", json!({})),
        Asks::Nothing | Asks::Query(_) => {}
    }
    if route.path == "/api/login" {
        operation["security"] = json!([]);
    }
    operation
}

/// The names in braces.
fn variables(path: &str) -> impl Iterator<Item = &str> {
    let parts = path.split('/');
    parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn variable(name: &str) -> Value {
    let schema = match name {
        "form" => json!({ "enum": ["json", "text", "csv", "page"] }),
        "test" => json!({ "type": "integer" }),
        _ => json!({ "type": "string" }),
    };
    json!({ "name": name, "in": "path", "required": true, "schema": schema })
}

fn body(media_type: &str, schema: Value) -> Value {
    json!({ "required": true, "content": { media_type: { "schema": schema } } })
}

fn object(members: &[Member]) -> Value {
    let required: Vec<&str> = members
        .iter()
        .filter(|(_, kind)| !kind.ends_with('?'))
        .map(|(name, _)| *name)
        .collect();
    let properties: Map<String, Value> = members
        .iter()
        .map(|(name, kind)| {
            let kind = match kind.strip_suffix('?') {
                Some(kind) => json!([kind, "null"]),
                None => json!(kind),
            };
            ((*name).to_owned(), json!({ "type": kind }))
        })
        .collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

fn answer(answer: &Answer) -> (&'static str, Value) {
    let of = |what: &str, media_types: &[&str]| {
        let types = media_types.iter();
        let content: Map<String, Value> = types.map(|one| ((*one).to_owned(), json!({}))).collect();
        json!({ "description": what, "content": content })
    };
    match answer {
        Answer::Done => ("204", json!({ "description": "Done" })),
        Answer::Json(what) => ("200", of(what, &["application/json"])),
        Answer::Made(what) => ("201", of(what, &["application/json"])),
        Answer::Page => ("200", of("A page that loads nothing", &["text/html"])),
        Answer::Events => (
            "200",
            of(
                "Events; Last-Event-ID goes on behind one",
                &["text/event-stream"],
            ),
        ),
        Answer::Form => (
            "200",
            of(
                "The result in this form",
                &["application/json", "text/plain", "text/csv", "text/html"],
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Value {
        serde_json::from_str(&openapi()).expect("JSON")
    }

    #[test]
    fn every_route_is_in_the_text() {
        let document = document();
        for route in ROUTES {
            let operation = &document["paths"][route.path][route.method];
            assert_eq!(operation["summary"], route.summary, "{}", route.path);
            let parameters = operation["parameters"].as_array().expect("parameters");
            for name in variables(route.path) {
                let is = |one: &&Value| one["name"] == name && one["in"] == "path";
                assert!(parameters.iter().any(|one| is(&one)), "{}", route.path);
            }
        }
        let told = document["paths"].as_object().expect("paths").values();
        let told: usize = told.filter_map(Value::as_object).map(Map::len).sum();
        assert_eq!(told, ROUTES.len(), "two routes have one method and path");
    }

    #[test]
    fn no_route_of_the_api_is_outside_of_the_table() {
        assert!(!include_str!("router.rs").contains("\"/api"));
    }

    #[test]
    fn the_published_text_is_this_one() {
        let published = include_str!("../../../../docs/schema/tapeline-web-openapi.json");
        assert!(published == openapi(), "run cargo xtask generate");
    }
}
