//! The scenarios on a real OpenStack: `tests/run --cloud`.

mod live {
    use magnum_tests::TestCloud;

    magnum_tests::scenarios!(TestCloud::real);
}
