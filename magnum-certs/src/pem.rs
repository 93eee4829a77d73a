//! Strict PEM text: one block, nothing around it, one newline at its end.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::Error;

/// Labels in use.
pub(crate) mod label {
    pub(crate) const CERTIFICATE: &str = "CERTIFICATE";
    pub(crate) const REQUEST: &str = "CERTIFICATE REQUEST";
    pub(crate) const NEW_REQUEST: &str = "NEW CERTIFICATE REQUEST";
    pub(crate) const PRIVATE_KEY: &str = "PRIVATE KEY";
    pub(crate) const RSA_PRIVATE_KEY: &str = "RSA PRIVATE KEY";
    pub(crate) const EC_PRIVATE_KEY: &str = "EC PRIVATE KEY";
    pub(crate) const PUBLIC_KEY: &str = "PUBLIC KEY";
    pub(crate) const CRL: &str = "X509 CRL";
}

/// Writes one block: 64 columns, LF, exactly one newline after the END line.
pub(crate) fn encode(label: &str, der: &[u8]) -> String {
    let body = Zeroizing::new(STANDARD.encode(der));
    // Exactly as long as it gets: growing or shrinking would leave a copy of a key behind in freed memory.
    let frame = "-----BEGIN -----\n-----END -----\n".len() + 2 * label.len();
    let mut out = String::with_capacity(frame + body.len() + body.len().div_ceil(64));
    out.push_str("-----BEGIN ");
    out.push_str(label);
    out.push_str("-----\n");
    let mut rest = body.as_str();
    while !rest.is_empty() {
        let (line, tail) = rest.split_at(rest.len().min(64));
        out.push_str(line);
        out.push('\n');
        rest = tail;
    }
    out.push_str("-----END ");
    out.push_str(label);
    out.push_str("-----\n");
    out
}

/// Reads exactly one block with one of `labels`; blank lines around it and CRLF are fine, any other text is not.
///
/// # Errors
/// [`Error::BadPem`] with the reason; `labels` must not be empty.
pub(crate) fn decode_one(
    labels: &'static [&'static str],
    text: &str,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut blocks = decode_all(labels, text)?;
    let expected = labels.first().copied().unwrap_or_default();
    match (blocks.pop(), blocks.is_empty()) {
        (Some(block), true) => Ok(block),
        (Some(_), false) => Err(Error::BadPem {
            expected,
            reason: "there are several blocks",
        }),
        (None, _) => Err(Error::BadPem {
            expected,
            reason: "there is no block",
        }),
    }
}

/// Reads every block; all must have one of `labels`.
///
/// # Errors
/// [`Error::BadPem`] with the reason.
pub(crate) fn decode_all(
    labels: &'static [&'static str],
    text: &str,
) -> Result<Vec<Zeroizing<Vec<u8>>>, Error> {
    decode(labels, text, Around::Refuse)
}

/// Reads the blocks that have one of `labels`, and skips everything else, as TLS libraries do with bundles.
///
/// # Errors
/// [`Error::BadPem`] when a block with such a label is broken.
pub(crate) fn decode_among(
    labels: &'static [&'static str],
    text: &str,
) -> Result<Vec<Zeroizing<Vec<u8>>>, Error> {
    decode(labels, text, Around::Skip)
}

/// What to do with text and blocks that were not asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Refuse,
    Skip,
}

fn decode(
    labels: &'static [&'static str],
    text: &str,
    around: Around,
) -> Result<Vec<Zeroizing<Vec<u8>>>, Error> {
    let expected = labels.first().copied().unwrap_or_default();
    let bad = |reason| Error::BadPem { expected, reason };
    let mut blocks = Vec::new();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    while let Some(line) = lines.next() {
        let label = line
            .strip_prefix("-----BEGIN ")
            .and_then(|rest| rest.strip_suffix("-----"));
        let label = match label {
            Some(label) if labels.contains(&label) => label,
            _ if around == Around::Skip => continue,
            Some("ENCRYPTED PRIVATE KEY") => return Err(bad("encrypted keys are not supported")),
            Some(_) => return Err(bad("the block has another label")),
            None => return Err(bad("there is text outside of the block")),
        };
        let mut body = Zeroizing::new(String::new());
        loop {
            let line = lines
                .next()
                .ok_or_else(|| bad("the block has no END line"))?;
            if let Some(end) = line.strip_prefix("-----END ") {
                if end.strip_suffix("-----") != Some(label) {
                    return Err(bad("BEGIN and END lines differ"));
                }
                break;
            }
            body.push_str(line);
        }
        let der = STANDARD
            .decode(body.as_bytes())
            .map_err(|_| bad("the block is not base64"))?;
        blocks.push(Zeroizing::new(der));
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABELS: &[&str] = &[label::CERTIFICATE];

    #[test]
    fn ck_03_output_has_no_blanks_before_and_one_newline_after() {
        let text = encode(label::CERTIFICATE, &[7; 100]);
        assert_eq!(
            text.len(),
            text.capacity(),
            "nothing is left behind when it becomes a secret"
        );
        assert!(text.starts_with("-----BEGIN CERTIFICATE-----\n"));
        assert!(text.ends_with("\n-----END CERTIFICATE-----\n"));
        assert!(
            text.lines()
                .all(|line| line.len() <= 64 && !line.is_empty())
        );
        assert_eq!(decode_one(LABELS, &text).unwrap().as_slice(), &[7; 100]);
    }

    #[test]
    fn ck_03_blank_lines_and_crlf_are_accepted() {
        let text = format!(
            "\r\n \n{}\n\n",
            encode(label::CERTIFICATE, &[7; 100]).replace('\n', "\r\n")
        );
        assert_eq!(decode_one(LABELS, &text).unwrap().as_slice(), &[7; 100]);
    }

    #[test]
    fn other_text_is_refused() {
        let good = encode(label::CERTIFICATE, &[7; 100]);
        for bad in [
            String::new(),
            format!("{good}{good}"),
            format!("{good}x"),
            format!("x\n{good}"),
            good.replace("END CERT", "END KERT"),
            good.replace("-----END CERTIFICATE-----", ""),
            good.replace("CERTIFICATE", "PUBLIC KEY"),
            good.replace("Bwc", "B*c"),
        ] {
            assert!(
                matches!(decode_one(LABELS, &bad), Err(Error::BadPem { .. })),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn a_bundle_may_have_comments_and_other_blocks() {
        let good = encode(label::CERTIFICATE, &[7; 100]);
        let key = encode(label::PRIVATE_KEY, &[8; 100]);
        let blocks = decode_among(
            LABELS,
            &format!("# Issuer: x\n{good}{key}\nsubject=y\n{good}"),
        )
        .unwrap();
        assert_eq!(blocks.len(), 2);
        let cut = good.replace("-----END CERTIFICATE-----", "");
        assert!(decode_among(LABELS, &cut).is_err());
    }
}
