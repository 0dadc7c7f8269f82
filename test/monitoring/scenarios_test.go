package monitoring

// scenario is an alert with series for which it fires, and series close to those for which it does not. Series have a sample each
// minute, in promtool's notation. Labels of the target are added.
type scenario struct {
	alert  string
	at     string // when it is looked at
	fires  series
	silent series
	// alone says that nothing else is scraped; otherwise there is the target with workload_operator_build_info.
	alone bool
}

type series map[string]string

// buckets is a histogram of which n in a hundred observations, one each second, take longer than the bound le.
func buckets(metric, labels string, slow bool) series {
	within := "0+60x2000"
	if slow {
		within = "0+57x2000" // one in twenty is slower
	}
	return series{
		metric + `_bucket{` + labels + `le="1"}`:    within,
		metric + `_bucket{` + labels + `le="5"}`:    "0+60x2000",
		metric + `_bucket{` + labels + `le="+Inf"}`: "0+60x2000",
	}
}

const (
	never  = "0x2000"
	always = "1x2000"
)

var scenarios = []scenario{
	{alert: "WorkloadOperatorDown", at: "10m", fires: series{`up{x="y"}`: always}, alone: true,
		silent: series{`workload_operator_build_info{}`: always}},
	{alert: "WorkloadOperatorNoLeader", at: "10m",
		fires:  series{`leader_election_master_status{name="l"}`: never},
		silent: series{`leader_election_master_status{name="l"}`: "0x3 1x2000"}},
	{alert: "WorkloadOperatorPanics", at: "30m",
		fires:  series{`workload_operator_admission_panics_total{webhook="w"}`: "0x10 1x2000", `workload_operator_conversion_panics_total{}`: never},
		silent: series{`workload_operator_admission_panics_total{webhook="w"}`: always, `workload_operator_conversion_panics_total{}`: never}},

	{alert: "WorkloadOperatorReconcileSlow", at: "30m",
		fires:  buckets("controller_runtime_reconcile_time_seconds", `controller="webapp",`, true),
		silent: buckets("controller_runtime_reconcile_time_seconds", `controller="webapp",`, false)},
	{alert: "WorkloadOperatorReconcileErrors", at: "30m",
		fires:  series{`controller_runtime_reconcile_errors_total{controller="c"}`: "0+20x2000", `controller_runtime_reconcile_total{controller="c",result="error"}`: "0+100x2000"},
		silent: series{`controller_runtime_reconcile_errors_total{controller="c"}`: "0+5x2000", `controller_runtime_reconcile_total{controller="c",result="error"}`: "0+100x2000"}},
	{alert: "WorkloadOperatorQueueDeep", at: "30m",
		fires:  series{`workqueue_depth{name="c",priority="0"}`: "60x2000", `workqueue_depth{name="c",priority="-100"}`: "60x2000"},
		silent: series{`workqueue_depth{name="c",priority="0"}`: "60x2000", `workqueue_depth{name="d",priority="0"}`: "60x2000"}},
	{alert: "WorkloadOperatorAPIRequestsHigh", at: "60m",
		fires:  series{`rest_client_requests_total{code="200"}`: "0+2400x2000", `rest_client_requests_total{code="201"}`: "0+2400x2000"},
		silent: series{`rest_client_requests_total{code="200"}`: "0+2400x2000"}},
	{alert: "WorkloadOperatorAPIRequestsFailing", at: "30m",
		fires:  series{`rest_client_requests_total{code="200"}`: "0+60x2000", `rest_client_requests_total{code="<error>"}`: "0+3x2000", `rest_client_requests_total{code="503"}`: "0+3x2000"},
		silent: series{`rest_client_requests_total{code="200"}`: "0+60x2000", `rest_client_requests_total{code="404"}`: "0+6x2000"}},
	{alert: "WorkloadOperatorMemoryHigh", at: "30m",
		fires:  series{`process_resident_memory_bytes{}`: "450000000x2000"},
		silent: series{`process_resident_memory_bytes{}`: "400000000x2000"}},

	// The clock of a scenario begins at 0.
	{alert: "WorkloadOperatorCertificateExpiring", at: "2h",
		fires:  series{`workload_operator_certificate_expiry_timestamp_seconds{role="serving"}`: "1200000x2000"},
		silent: series{`workload_operator_certificate_expiry_timestamp_seconds{role="serving"}`: "1300000x2000"}},
	{alert: "WorkloadOperatorCertificateExpiringSoon", at: "2h",
		fires:  series{`workload_operator_certificate_expiry_timestamp_seconds{role="authority"}`: "170000x2000"},
		silent: series{`workload_operator_certificate_expiry_timestamp_seconds{role="authority"}`: "190000x2000"}},
	{alert: "WorkloadOperatorCertificateUnusable", at: "30m",
		fires:  series{`workload_operator_certificate_secret_unusable{}`: always},
		silent: series{`workload_operator_certificate_secret_unusable{}`: "1x5 0x2000"}},
	{alert: "WorkloadOperatorBundleContested", at: "60m",
		fires:  series{`workload_operator_certificate_injections_total{kind="k",name="n"}`: "0+6x2000"},
		silent: series{`workload_operator_certificate_injections_total{kind="k",name="n"}`: "0+2x2000"}},

	{alert: "WorkloadOperatorConversionFailing", at: "30m",
		fires:  series{`workload_operator_conversion_refused_requests_total{code="503"}`: "0+1x2000"},
		silent: series{`workload_operator_conversion_refused_requests_total{code="503"}`: "5x2000", `workload_operator_conversion_duration_seconds_count{result="success"}`: "0+9x2000"}},
	{alert: "WorkloadOperatorConversionSlow", at: "30m",
		fires:  buckets("workload_operator_conversion_duration_seconds", `kind="WebApp",`, true),
		silent: buckets("workload_operator_conversion_duration_seconds", `kind="WebApp",`, false)},
	{alert: "WorkloadOperatorConversionQuarantine", at: "30m",
		fires:  series{`workload_operator_objects_conversion_degraded{kind="WebApp"}`: always},
		silent: series{`workload_operator_objects_conversion_degraded{kind="WebApp"}`: never}},
	{alert: "WorkloadOperatorConversionLossy", at: "30m",
		fires:  series{`workload_operator_conversion_lossy_objects_total{kind="WebApp"}`: "0x10 1x2000"},
		silent: series{`workload_operator_conversion_lossy_objects_total{kind="WebApp"}`: always}},

	{alert: "WorkloadOperatorAdmissionFailing", at: "30m",
		fires:  series{`workload_operator_admission_duration_seconds_count{webhook="w",verdict="failed"}`: "0+1x2000"},
		silent: series{`workload_operator_admission_duration_seconds_count{webhook="w",verdict="denied"}`: "0+1x2000"}},
	{alert: "WorkloadOperatorAdmissionSlow", at: "30m",
		fires:  buckets("workload_operator_admission_duration_seconds", `webhook="w",`, true),
		silent: buckets("workload_operator_admission_duration_seconds", `webhook="w",`, false)},
	{alert: "WorkloadOperatorAdmissionRefusals", at: "60m",
		fires: series{`workload_operator_admission_duration_seconds_count{webhook="validate-webapp",verdict="denied"}`: "0+40x2000",
			`workload_operator_admission_duration_seconds_count{webhook="validate-webapp",verdict="allowed"}`: "0+20x2000",
			`workload_operator_admission_duration_seconds_count{webhook="mutate-webapp",verdict="allowed"}`:   "0+99x2000"},
		silent: series{`workload_operator_admission_duration_seconds_count{webhook="validate-webapp",verdict="denied"}`: "0+1x2000",
			`workload_operator_admission_duration_seconds_count{webhook="mutate-webapp",verdict="allowed"}`: "0+20x2000"}},

	{alert: "WorkloadOperatorMigrationPending", at: "25h",
		fires:  series{`workload_operator_migration_pending{crd="c"}`: always},
		silent: series{`workload_operator_migration_pending{crd="c"}`: "1x100 0x2000"}},
	{alert: "WorkloadOperatorMigrationStalled", at: "2h",
		fires:  series{`workload_operator_migration_runs_total{crd="c",result="error"}`: "0+1x2000"},
		silent: series{`workload_operator_migration_waiting{crd="c"}`: "1x100 0x2000", `workload_operator_migration_runs_total{crd="c",result="complete"}`: "0+1x2000"}},
	{alert: "WorkloadOperatorMigrationObjectsRefused", at: "30m",
		fires:  series{`workload_operator_migration_objects_refused{crd="c"}`: "2x2000"},
		silent: series{`workload_operator_migration_objects_refused{crd="c"}`: never}},

	{alert: "WorkloadOperatorDriftRepairedContinually", at: "2h",
		fires:  series{`workload_operator_drift_repaired_total{owner="WebApp",child="Deployment"}`: "0+2x2000"},
		silent: series{`workload_operator_drift_repaired_total{owner="WebApp",child="Deployment"}`: "0x30 500x2000"}},
	{alert: "WorkloadOperatorPodSetsBackingOff", at: "30m",
		fires:  series{`workload_operator_podsets_backing_off{}`: always},
		silent: series{`workload_operator_podsets_backing_off{}`: never}},
	{alert: "WorkloadOperatorObjectsRefused", at: "2h",
		fires:  series{`workload_operator_objects{kind="WebApp",ready="false",reason="NotOwned"}`: always},
		silent: series{`workload_operator_objects{kind="WebApp",ready="false",reason="Progressing"}`: always}},
}
