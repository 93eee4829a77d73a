//! The list of scenarios, once for every kind of cloud.

/// Makes one test of each scenario on the given kind of cloud: `scenarios!(TestCloud::embedded);`.
#[macro_export]
macro_rules! scenarios {
    ($cloud:path) => {
        $crate::scenarios! { $cloud:
            create_resize_replace_delete_leaves_nothing => three_and_five;
            bm_06_bare_metal_group_in_a_vm_cluster => bare_metal_group_in_a_vm_cluster;
            bm_01_a_cluster_of_machines => cluster_of_machines;
            a_quota_that_is_too_small_is_said_before_anything_is_made => quota_is_said_before;
            op_01_a_quota_failure_is_one_clear_sentence => quota_is_said_in_one_sentence;
            au_01_one_login_for_fifty_calls => one_login_for_fifty_calls;
            hc_06_a_thousand_calls_through_a_flaky_proxy => thousand_calls_through_a_flaky_proxy;
            wrong_input_is_refused_with_all_problems => everything_wrong_is_said_at_once;
            p_05_secrets_in_barbican_are_rotated_twice_and_gone => barbican_rotates_and_leaves_nothing;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn a_killed_engine_goes_on() -> Result<(), $crate::Failure> {
            let program = std::path::Path::new(env!("CARGO_BIN_EXE_engine-worker"));
            $crate::scenario::killed_engine_resumes($cloud().await?, program).await
        }
    };
    ($cloud:path: $($test:ident => $scenario:ident;)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $test() -> Result<(), $crate::Failure> {
                let bench = $crate::Bench::start($cloud().await?, stringify!($scenario)).await?;
                $crate::scenario::$scenario(bench).await
            }
        )*
    };
}
