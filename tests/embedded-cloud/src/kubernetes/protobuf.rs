//! The little protobuf that kubectl sends where it has no JSON: `create namespace`, `certificate
//! approve` and `deny`. Everything else in protobuf is refused.

use serde_json::{Map, Value, json};

/// Fields of one message: number and bytes (length-delimited ones only).
fn fields(mut bytes: &[u8]) -> Option<Vec<(u64, &[u8])>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        match tag & 7 {
            0 => {
                varint(&mut bytes)?;
            }
            1 => bytes = bytes.get(8..)?,
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                found.push((tag >> 3, bytes.get(..length)?));
                bytes = &bytes[length..];
            }
            5 => bytes = bytes.get(4..)?,
            _ => return None,
        }
    }
    Some(found)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn text(bytes: &[u8]) -> Value {
    String::from_utf8_lossy(bytes).into_owned().into()
}

fn strings(bytes: &[u8], names: &[(u64, &str)]) -> Option<Map<String, Value>> {
    let mut map = Map::new();
    for (number, bytes) in fields(bytes)? {
        let known = names.iter().find(|(n, _)| *n == number);
        if let Some((_, name)) = known.filter(|_| !bytes.is_empty()) {
            map.insert((*name).to_owned(), text(bytes));
        }
    }
    Some(map)
}

fn metadata(bytes: &[u8]) -> Option<Value> {
    let names = [
        (1, "name"),
        (2, "generateName"),
        (3, "namespace"),
        (5, "uid"),
        (6, "resourceVersion"),
    ];
    let mut map = strings(bytes, &names)?;
    for (number, entry) in fields(bytes)? {
        let field = match number {
            11 => "labels",
            12 => "annotations",
            _ => continue,
        };
        let pair = strings(entry, &[(1, "k"), (2, "v")])?;
        let key = pair.get("k")?.as_str()?.to_owned();
        let value = pair.get("v").cloned().unwrap_or_else(|| "".into());
        if let Some(into) = map
            .entry(field)
            .or_insert_with(|| json!({}))
            .as_object_mut()
        {
            into.insert(key, value);
        }
    }
    Some(map.into())
}

/// Decodes a body of `application/vnd.kubernetes.protobuf`, if it is one of the kinds above.
pub(crate) fn decode(body: &[u8]) -> Option<Value> {
    let unknown = fields(body.strip_prefix(b"k8s\0")?)?;
    let part = |number: u64| unknown.iter().find(|(n, _)| *n == number).map(|(_, b)| *b);
    let mut object = Value::from(strings(part(1)?, &[(1, "apiVersion"), (2, "kind")])?);
    let raw = fields(part(2)?)?;
    let head = raw
        .iter()
        .find(|(n, _)| *n == 1)
        .map_or(Some(json!({})), |(_, b)| metadata(b))?;
    object["metadata"] = head;
    match object["kind"].as_str()? {
        "Namespace" => {}
        "CertificateSigningRequest" => {
            let mut conditions = Vec::new();
            for (_, status) in raw.iter().filter(|(n, _)| *n == 3) {
                for (_, condition) in fields(status)?.into_iter().filter(|(n, _)| *n == 1) {
                    let names = [(1, "type"), (2, "reason"), (3, "message"), (6, "status")];
                    conditions.push(Value::from(strings(condition, &names)?));
                }
            }
            object["status"] = json!({"conditions": conditions});
        }
        _ => return None,
    }
    Some(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [
            &[number << 3 | 2, u8::try_from(bytes.len()).unwrap()],
            bytes,
        ]
        .concat()
    }

    #[test]
    fn a_namespace_is_read() {
        let label = field(11, &[field(1, b"a"), field(2, b"b")].concat());
        let meta = field(1, &[field(1, b"web"), label].concat());
        let kind = field(1, &[field(1, b"v1"), field(2, b"Namespace")].concat());
        let body = [b"k8s\0".to_vec(), kind, field(2, &meta)].concat();
        let object = decode(&body).unwrap();
        assert_eq!(
            object,
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web", "labels": {"a": "b"}}})
        );
        assert_eq!(decode(&body[4..]), None);
    }
}
