//! The scenarios on the embedded cloud.

use magnum_tests::TestCloud;

magnum_tests::scenarios!(TestCloud::embedded);
