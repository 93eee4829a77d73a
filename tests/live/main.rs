//! The scenarios on a real OpenStack: `tests/run --cloud`.

use magnum_tests::TestCloud;

magnum_tests::scenarios!(TestCloud::real);
