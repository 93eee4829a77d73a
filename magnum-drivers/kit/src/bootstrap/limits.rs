//! How much user-data a server may have.

/// Nova's limit for `user_data` as it arrives in the request, base64 included.
pub const NOVA_USER_DATA_BASE64_MAX: usize = 65_535;

/// What is left of [`NOVA_USER_DATA_BASE64_MAX`] before base64: four characters carry three bytes.
pub const NOVA_USER_DATA_MAX: usize = NOVA_USER_DATA_BASE64_MAX / 4 * 3;

/// Room kept for the signal map, which only Heat knows: its addresses, ids and password stay well below this.
pub const SIGNAL_ALLOWANCE: usize = 2_048;

/// Length of `bytes` bytes after base64 with padding.
#[cfg(test)]
const fn base64_len(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_raw_limit_is_the_last_that_fits() {
        assert_eq!(NOVA_USER_DATA_MAX, 49_149);
        assert!(base64_len(NOVA_USER_DATA_MAX) <= NOVA_USER_DATA_BASE64_MAX);
        assert!(base64_len(NOVA_USER_DATA_MAX + 1) > NOVA_USER_DATA_BASE64_MAX);
    }
}
