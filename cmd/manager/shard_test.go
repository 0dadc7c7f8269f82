package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/example/workload-operator/cmd/manager/internal/claims"
)

func TestShardFlags(t *testing.T) {
	type result struct {
		Claim           claims.Claim
		UserAgent, Name string
	}
	nameless := result{UserAgent: "workload-operator/" + version(), Name: "workload-operator.example.com"}
	tests := map[string]struct {
		reason string
		args   []string
		want   func(*result)
	}{
		"None":   {"everything", nil, func(r *result) { r.Claim = claims.Claim{Webhooks: true} }},
		"Except": {"all but what shards do", []string{"--except-namespaces=b,a,b"}, func(r *result) { r.Claim = claims.Claim{Except: []string{"a", "b"}, Webhooks: true} }},
		"Shard": {"webhooks are served by another one", []string{"--shard=x", "--namespaces=a, b"}, func(r *result) {
			*r = result{claims.Claim{Namespaces: []string{"a", "b"}}, r.UserAgent + " shard/x", r.Name + "/x"}
		}},
		"ShardWithWebhooks": {"unless told otherwise", []string{"--shard=x", "--namespaces=a", "--webhooks"}, func(r *result) {
			*r = result{claims.Claim{Namespaces: []string{"a"}, Webhooks: true}, r.UserAgent + " shard/x", r.Name + "/x"}
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			want := nameless
			tc.want(&want)
			nothing := func(string) ([]byte, error) { return nil, errors.New("no such file") }
			o, err := parse(append(tc.args, "--namespace=ops", "--leader-elect"), func(string) string { return "" }, nothing)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, result{o.claim, o.userAgent(), o.leaderName()}); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCacheOptions(t *testing.T) {
	selectors := func(o cache.Options) map[string]string {
		m := map[string]string{}
		for namespace, config := range o.DefaultNamespaces {
			m[namespace] = ""
			if config.FieldSelector != nil {
				m[namespace] = config.FieldSelector.String()
			}
		}
		return m
	}
	tests := map[string]struct {
		claim claims.Claim
		want  map[string]string
	}{
		"All":    {claims.Claim{}, map[string]string{}},
		"Some":   {claims.Claim{Namespaces: []string{"a", "b"}}, map[string]string{"a": "", "b": ""}},
		"Except": {claims.Claim{Except: []string{"a", "b"}}, map[string]string{"": "metadata.namespace!=a,metadata.namespace!=b"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := cacheOptions(tc.claim)
			if diff := cmp.Diff(tc.want, selectors(got)); diff != "" {
				t.Errorf("namespaces (-want, +got):\n%s", diff)
			}
			if len(got.ByObject) == 0 {
				t.Error("the bounds of the reconcilers are lost")
			}
		})
	}
}
